#include "harness/run.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "harness/array_reader.h"
#include "harness/fit.h"
#include "harness/format.h"
#include "harness/log.h"
#include "sim/io/array_file.h"
#include "sim/io/npy.h"
#include "sim/types/error.h"

namespace tilecheck {
namespace {

CompareRule rule_for(const RunOptions& options, const ResultRule& rule, const HostArray& result,
                     const HostArray& expected, bool has_naive, bool wants_equal_bits) {
  if (options.atol || options.rtol) return {.atol = options.atol.value_or(0), .rtol = options.rtol.value_or(0)};
  if (wants_equal_bits || rule.bit_equal) return {.bit_equal = true};
  CompareRule r = default_rule(result.dtype(), expected);
  if (r.bit_equal) return r;
  if (rule.atol >= 0) r.atol = rule.atol;
  if (rule.rtol >= 0) r.rtol = rule.rtol;
  if (has_naive) r.naive_factor = rule.naive_factor;
  return r;
}

void check_shape(const ResultInfo& info, const HostArray& expected, const std::string& source) {
  if (expected.shape() == info.shape) return;
  throw InputError(source, "shape " + to_tuple(expected.shape()) + ", expected " + to_tuple(info.shape) +
                               " for result " + info.name);
}

// The finding of a comparison that did not pass.
Finding mismatch(const ResultOutcome& r, const KernelSpec& spec, size_t result, Severity nothing) {
  const Comparison& c = *r.comparison;
  Kind kind = Kind::result_mismatch;
  if (c.nothing_compared)
    kind = Kind::nothing_compared;
  else if (!std::isfinite(c.worst_value) && std::isfinite(c.worst_expected))
    kind = Kind::non_finite;
  std::string text = to_text(c, r.name);
  if (text.starts_with("FAIL  ")) text.erase(0, 6);
  Finding f = Finding::make(kind, r.name + " against " + r.against + ": " + text,
                            result < spec.out.size() && spec.out[result].at.known() ? spec.out[result].at : spec.at);
  if (kind == Kind::nothing_compared) f.severity = nothing;
  f.device = r.device;
  f.buffer = r.name;
  if (!c.nothing_compared) f.range = index_text(c.worst);
  f.step = r.worst_step;
  if (!r.worst_step.empty())
    f.notes.push_back("the worst element was last written by step " + step_text(r.worst_step) + " through window " +
                      r.name);
  if (r.undefined > 0) f.notes.push_back(plural(r.undefined, "element") + " of " + r.name + " undefined");
  return f;
}

// Judges every result of every device.
class Judge {
 public:
  Judge(const Subject& subject, const RunOptions& options, const Launchable& launched, std::span<const Arrays> operands)
      : subject_(subject), options_(options), launched_(launched), operands_(operands) {}

  void judge(const std::vector<DeviceResults>& devices, Outcome& outcome) {
    if (options_.compare && subject_.reference) reference_ = subject_.reference(operands_);
    if (options_.compare && subject_.naive) naive_ = subject_.naive(operands_, options_.launch.numerics);
    for (size_t d = 0; d < devices.size(); ++d)
      for (size_t i = 0; i < devices[d].out.size(); ++i) judge_one(devices[d], d, i, outcome);
  }

 private:
  void judge_one(const DeviceResults& device, size_t d, size_t i, Outcome& outcome) {
    const HostArray& array = device.out[i];
    ResultOutcome r{.name = subject_.results[i].name,
                    .dtype = array.dtype(),
                    .shape = array.shape(),
                    .device = static_cast<int>(d)};
    if (i < device.undefined.size())
      r.undefined = std::ranges::count_if(device.undefined[i], [](uint8_t u) { return u != 0; });
    Severity nothing = Severity::error;
    bool is_other_numerics = false;
    compare_one(array, d, i, r, nothing, is_other_numerics);
    if (r.failed() || (r.comparison && r.comparison->max_abs_error > 0 && launched_.spec.step_count() <= kQuickSteps)) {
      if (!r.comparison->nothing_compared)
        r.worst_step =
            last_writer(launched_.spec, static_cast<int>(i), r.comparison->worst, launched_.args[d]).value_or(Dims{});
    }
    if (r.failed()) {
      Finding f = mismatch(r, launched_.spec, i, nothing);
      if (is_other_numerics && f.severity == Severity::error) {
        f.severity = Severity::warning;
        f.notes.push_back("the golden was made with exact numerics, which --numerics is not");
      }
      outcome.report.findings.push_back(std::move(f));
    }
    outcome.results.push_back(std::move(r));
  }

  void compare_one(const HostArray& array, size_t d, size_t i, ResultOutcome& r, Severity& nothing,
                   bool& is_other_numerics) {
    const ResultInfo& info = subject_.results[i];
    const ResultRule rule = i < subject_.rules.size() ? subject_.rules[i] : ResultRule{};
    if (const auto file = options_.expect.find({static_cast<int>(i), static_cast<int>(d)});
        file != options_.expect.end()) {
      const HostArray expected = read_array(file->second, info.dtype);
      check_shape(info, expected, file->second);
      r.against = file->second;
      r.comparison = compare(array, expected, rule_for(options_, rule, array, expected, false, options_.bit_equal));
      return;
    }
    if (!options_.compare) return;
    // A capture's goldens hold for its own operands alone.
    if (subject_.expected && options_.in.empty() && !options_.fill) {
      if (const auto e = subject_.expected(static_cast<int>(d), static_cast<int>(i))) {
        check_shape(info, e->array, e->source);
        r.against = e->source;
        CompareRule golden = e->rule;
        if (options_.atol || options_.rtol)
          golden = {.atol = options_.atol.value_or(0),
                    .rtol = options_.rtol.value_or(0),
                    .skip_expected_nan = golden.skip_expected_nan};
        r.comparison = compare(array, e->array, golden, nullptr,
                               e->valid.has_value() && e->valid.size() > 0 ? &e->valid : nullptr);
        nothing = Severity::note;  // goldens of zeros, or undefined throughout, are what they are
        is_other_numerics = options_.launch.numerics != Numerics::exact;
      }
      return;
    }
    if (d >= reference_.size() || i >= reference_[d].size() || !is_set(reference_[d][i])) return;
    check_shape(info, reference_[d][i], "reference of " + subject_.name);
    const bool whole = options_.bit_equal && !subject_.is_inexact_on_integers;
    const HostArray expected =
        whole && is_floating(array.dtype()) ? reference_[d][i].convert(array.dtype()) : reference_[d][i];
    const bool has_naive = d < naive_.size() && i < naive_[d].size() && is_set(naive_[d][i]);
    r.against = "reference";
    r.comparison = compare(array, expected, rule_for(options_, rule, array, expected, has_naive, whole),
                           has_naive ? &naive_[d][i] : nullptr);
  }

  static bool is_set(const HostArray& a) { return a.data() != nullptr || a.size() == 0; }

  static constexpr int64_t kQuickSteps = 1 << 14;
  const Subject& subject_;
  const RunOptions& options_;
  const Launchable& launched_;
  std::span<const Arrays> operands_;
  std::vector<Arrays> reference_, naive_;
};

std::string replay_command(const RunOptions& options, const Report& report) {
  if (options.replay_command.empty()) return "";
  const std::string schedule = report.replay.empty() ? report.schedule : "replay:" + report.replay;
  return options.replay_command + " --schedule " + shell_quoted(schedule) + " --seed " + std::to_string(options.seed);
}

// A core's windows and VMEM scratch, as the machine allocates them. The largest VMEM of any target is 128 MiB.
constexpr double kMaxSimulatedVmemGib = 2;
double simulated_vmem_gib(const KernelSpec& spec) {
  double bytes = 0;
  const auto add = [&](const Shape& shape, DType dtype, int copies) {
    double n = static_cast<double>(storage_bytes(dtype)) * copies;
    for (int64_t d : shape) n *= static_cast<double>(d);
    bytes += n;
  };
  for (const auto* list : {&spec.in, &spec.out})
    for (const Window& w : *list)
      if (w.pipelined()) add(w.block_sizes(), w.dtype, slot_count(spec, w).slots);
  for (const Scratch& s : spec.scratch)
    if (s.space == Space::vmem) add(s.shape, s.dtype, 1);
  return bytes / (1 << 30);
}

// Whether to run it at all: what no chip could hold is judged without, since the fit model names it.
bool is_runnable(const KernelSpec& spec, const RunOptions& options, Outcome& outcome) {
  const double gib = simulated_vmem_gib(spec);
  if (gib <= kMaxSimulatedVmemGib) return true;
  char text[96];
  std::snprintf(text, sizeof text, "not run: its blocks and scratch take %.1f GiB of VMEM", gib);
  if (!options.analyse_fit) throw Incomplete(text);
  outcome.warnings.emplace_back(text);
  return false;
}

void launch_subject(const Subject& subject, const Launchable& launched, const LaunchOptions& options,
                    RunResult& result) {
  const LogPart part(subject.name, "run");
  LaunchResult run = launch(launched.spec, launched.body, launched.args, options);
  result.outcome.report = std::move(run.report);
  result.outcome.steps = std::move(run.steps);
  result.alternatives = std::move(run.alternatives);
  result.missed_orders = std::move(run.missed_orders);
  if (!run.followed_schedule && !options.sync.record_decisions && !options.sync.find_alternatives)
    result.outcome.warnings.push_back(
        "the schedule's decisions were not all possible where they stand: they come from another kernel, other "
        "operands or other options");
  result.devices = std::move(run.devices);
  if (subject.declared_result)
    for (DeviceResults& device : result.devices)
      for (size_t i = 0; i < device.out.size(); ++i)
        device.out[i] = subject.declared_result(static_cast<int>(i), device.out[i]);
  result.outcome.ran = true;
}

}  // namespace

void refuse_unknown_results(const Subject& s, const RunOptions& options) {
  for (const auto& [key, file] : options.expect) {
    const auto [result, device] = key;
    if (result >= 0 && result < static_cast<int>(s.results.size()) && device >= 0 && device < s.devices) continue;
    throw InputError("--expect " + std::to_string(result) + (device > 0 ? ".dev" + std::to_string(device) : ""),
                     "no such result: " + s.name + " has " + plural(static_cast<int64_t>(s.results.size()), "result") +
                         " on " + plural(s.devices, "device") + ", counted from 0");
  }
}

RunResult run_subject(const Subject& subject, const RunOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  RunResult result;
  Outcome& o = result.outcome;
  o.subject = subject.name;
  o.source_folder = subject.source_folder;
  o.headline = subject.headline;
  refuse_unknown_results(subject, options);
  if (options.bit_equal && subject.is_inexact_on_integers)
    o.warnings.push_back(subject.name + " is not exact on integers: judged by its own rule instead of bit by bit");
  log_line(LogLevel::info, "run " + subject.name + ", schedule " + to_string(options.launch.sync.schedule) + ", seed " +
                               std::to_string(options.seed));
  refuse_too_large(subject, options, machine_memory_bytes());
  {
    const LogPart part(subject.name, "operands");
    result.operands = make_operands(subject, options, o.warnings);
  }
  LaunchOptions launch_options = options.launch;
  launch_options.devices = subject.devices;
  launch_options.mesh = subject.mesh;
  launch_options.cores = std::max(launch_options.cores, subject.cores);
  // Without a grid there is nothing to share, and a second core would do the same again.
  if (subject.spec.grid.empty() && !subject.asks_for_core) launch_options.cores = 1;
  launch_options.sync.seed = options.seed;
  if (!launch_options.target) launch_options.target = &target_named("v5e");
  std::optional<Launchable> launched;
  try {
    launched = subject.bind(result.operands);
    if (is_runnable(launched->spec, options, o)) launch_subject(subject, *launched, launch_options, result);
  } catch (const Incomplete& e) {
    o.report.incomplete.emplace_back(e.what());
  }
  if (o.report.kernel.empty()) o.report.kernel = subject.spec.name;
  o.report.target = launch_options.target->name;
  o.report.seed = options.seed;
  for (const Window& w : subject.spec.in) o.window_names.push_back(w.name);
  for (const Window& w : subject.spec.out) o.window_names.push_back(w.name);
  if (o.ran && o.report.incomplete.empty()) {
    const LogPart part(subject.name, "compare");
    Judge(subject, options, *launched, result.operands).judge(result.devices, o);
  }
  if (options.analyse_fit) {
    const LogPart part(subject.name, "fit");
    const FitRequest request{.target = launch_options.target,
                             .vmem_limit_bytes = options.vmem_limit_bytes,
                             .share_hbm = options.share_hbm,
                             .is_payload = subject.is_payload,
                             .target_is_assumed = options.target_is_assumed || !options.launch.target};
    static const Arrays kNone;
    const ArrayReader reader(launched && !launched->args.empty() ? launched->args[0].prefetch : kNone);
    const fit::Body* facts = nullptr;
    try {
      if (subject.facts) facts = subject.facts();
    } catch (const std::runtime_error& e) {  // Incomplete or InputError: what the body does without data
      if (subject.is_payload) throw;
      o.warnings.push_back(std::string("no spills and no time: ") + e.what());
    }
    try {
      analyse_fit(launched ? launched->spec : subject.spec, facts, request, o, launched ? &reader : nullptr);
    } catch (const Incomplete& e) {
      o.report.incomplete.emplace_back(e.what());
    }
  }
  if (o.ran) o.replay = replay_command(options, o.report);
  o.report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

RunResult run(const KernelCase& kernel_case, const RunOptions& options) {
  return run_subject(subject_of(kernel_case, kernel_case.spec.name), options);
}

RunResult run(std::string_view kernel, const std::map<std::string, std::string>& set, const RunOptions& options) {
  return run_subject(subject_of(kernel_named(kernel), set), options);
}

RunResult run(const KernelSpec& spec, const Body& body, const Arrays& operands, RunOptions options) {
  return run(spec, body, std::vector<Arrays>{operands}, std::move(options));
}

RunResult run(const KernelSpec& spec, const Body& body, const std::vector<Arrays>& operands, RunOptions options) {
  KernelCase c;
  c.spec = spec;
  c.body = body;
  c.devices = static_cast<int>(operands.size());
  options.arrays = operands;
  return run(c, options);
}

void write_results(const std::string& directory, const std::vector<DeviceResults>& devices) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) throw InputError("--out " + directory, "cannot make this directory: " + error.message());
  for (size_t d = 0; d < devices.size(); ++d)
    for (size_t i = 0; i < devices[d].out.size(); ++i) {
      const std::string device = devices.size() > 1 ? ".dev" + std::to_string(d) : "";
      write_npy(directory + "/result_" + std::to_string(i) + device + ".npy", devices[d].out[i]);
    }
}

}  // namespace tilecheck
