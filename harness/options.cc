#include "harness/options.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <thread>

#include "harness/format.h"
#include "harness/log.h"
#include "sim/types/error.h"

namespace tilecheck {
namespace {

template <typename T>
T number(const std::string& option, const std::string& text, T min, T max, const char* expected) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= min && value <= max))
    throw InputError(option, "'" + text.substr(0, 60) + "' given, expected " + expected);
  return value;
}

std::pair<std::string, std::string> assignment(const std::string& option, const std::string& text, const char* form) {
  const size_t eq = text.find('=');
  if (eq == std::string::npos || eq == 0 || eq + 1 == text.size())
    throw InputError(option, "'" + text.substr(0, 60) + "' given, expected " + form);
  return {text.substr(0, eq), text.substr(eq + 1)};
}

template <typename T>
T one_of(const std::string& option, const std::string& text,
         std::initializer_list<std::pair<const char*, T>> accepted) {
  std::vector<std::string> names;
  for (const auto& [name, value] : accepted) {
    if (text == name) return value;
    names.emplace_back(name);
  }
  const std::string nearest = nearest_name(std::string_view(text).substr(0, 100), names);
  throw InputError(option, "'" + text.substr(0, 60) + "' given, expected one of " + join(names, ", ") +
                               (nearest.empty() ? "" : "; did you mean '" + nearest + "'?"));
}

std::vector<Kind> kinds(const std::string& option, const std::vector<std::string>& lists) {
  std::vector<std::string> names;
  for (const KindInfo& k : all_kinds()) names.emplace_back(k.name);
  std::vector<Kind> out;
  for (const std::string& list : lists) {
    for (size_t at = 0; at <= list.size();) {
      const size_t comma = std::min(list.find(',', at), list.size());
      const std::string word = list.substr(at, comma - at);
      const auto kind = parse_kind(word);
      if (!kind) {
        const std::string nearest = nearest_name(std::string_view(word).substr(0, 100), names);
        throw InputError(
            option, "no kind '" + word.substr(0, 60) + "'" +
                        (nearest.empty() ? " (`tilecheck explain` lists them)" : "; did you mean '" + nearest + "'?"));
      }
      out.push_back(*kind);
      at = comma + 1;
    }
  }
  return out;
}

// "10s", "500ms", "2m", "10".
double seconds(const std::string& option, const std::string& text) {
  static constexpr std::pair<std::string_view, double> kUnits[] = {{"ms", 1e-3}, {"s", 1}, {"m", 60}};
  std::string digits = text;
  double unit = 1;
  for (const auto& [suffix, factor] : kUnits) {
    if (!text.ends_with(suffix)) continue;
    digits.resize(text.size() - suffix.size());
    unit = factor;
    break;
  }
  return unit * number(option, digits, 0.0, 1e6, "a time, as 10s, 500ms or 2m");
}

void finish_schedule(const RawOptions& raw, CommandLine& line) {
  ExploreRequest request;
  if (!raw.budget.empty()) request.budget_seconds = seconds("--budget", raw.budget);
  if (!raw.schedule.empty()) {
    ScheduleSpec& schedule = line.run.launch.sync.schedule;
    schedule = parse_schedule(raw.schedule, "--schedule");
    if (schedule.kind == ScheduleSpec::Kind::explore) {
      line.explore = request;
      schedule = {};
    }
    if (schedule.kind == ScheduleSpec::Kind::exhaustive) {
      request.exhaustive = true;
      request.bound = schedule.bound;
      if (raw.budget.empty()) request.budget_seconds = 60;
      line.explore = request;
    }
  }
  if (!raw.budget.empty() && !line.explore) throw InputError("--budget", "is for --schedule explore and exhaustive");
}

void finish_machine(const RawOptions& raw, CommandLine& line) {
  RunOptions& run = line.run;
  if (!raw.fill.empty()) {
    run.fill = parse_fill(raw.fill);
    if (!run.fill)
      throw InputError("--fill",
                       "'" + raw.fill.substr(0, 60) + "' given, expected one of random, normal, zeros, iota, int");
  }
  if (raw.integers) {
    if (run.fill && *run.fill != FillKind::integers) throw InputError("--integers", "fills with integers: drop --fill");
    run.fill = FillKind::integers;
    run.bit_equal = true;
  }
  if (!raw.seed.empty())
    run.seed = number<uint64_t>("--seed", raw.seed, 0, UINT64_MAX, "a whole number from 0 to 18446744073709551615");
  if (!raw.numerics.empty())
    run.launch.numerics = one_of<Numerics>(
        "--numerics", raw.numerics, {{"exact", Numerics::exact}, {"mxu", Numerics::mxu}, {"f64", Numerics::f64}});
  finish_schedule(raw, line);
  run.launch.threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  if (!raw.threads.empty()) {
    run.launch.threads = number("--threads", raw.threads, 1, 4096, "1 to 4096");
  }
  if (!raw.cores.empty()) run.launch.cores = number("--cores", raw.cores, 1, 64, "1 to 64");
  if (!raw.core_split.empty())
    run.launch.core_split =
        one_of<CoreSplit>("--core-split", raw.core_split, {{"megacore", CoreSplit::megacore}, {"jax", CoreSplit::jax}});
  line.devices = raw.devices;
  if (!raw.remote_order.empty())
    run.launch.sync.remote_in_order =
        one_of<bool>("--remote-order", raw.remote_order, {{"in-order", true}, {"none", false}});
  if (!raw.semaphore_progress.empty())
    run.launch.sync.atomic_progress =
        one_of<bool>("--semaphore-progress", raw.semaphore_progress, {{"bytes", false}, {"atomic", true}});
  if (raw.steps.empty()) return;
  const size_t colon = raw.steps.find(':');
  if (colon == std::string::npos) throw InputError("--steps", "'" + raw.steps.substr(0, 60) + "' given, expected A:B");
  const std::string from = raw.steps.substr(0, colon), to = raw.steps.substr(colon + 1);
  run.launch.record_steps = true;
  run.launch.step_begin = from.empty() ? 0 : number<int64_t>("--steps", from, 0, INT64_MAX, "A:B with A >= 0");
  run.launch.step_end =
      to.empty() ? -1 : number<int64_t>("--steps", to, run.launch.step_begin, INT64_MAX, "A:B with B >= A");
}

// "0", "0.dev2" of `results` counted from 0.
std::pair<int, int> result_key(const std::string& option, const std::string& key) {
  const size_t dev = key.find(".dev");
  const int result = number(option, key.substr(0, dev), 0, 1 << 16, "RESULT=FILE or RESULT.devK=FILE");
  return {result, dev == std::string::npos ? 0 : number(option, key.substr(dev + 4), 0, 1 << 16, "RESULT.devK=FILE")};
}

void finish_arrays(const RawOptions& raw, CommandLine& line) {
  RunOptions& run = line.run;
  for (const std::string& text : raw.in) {
    const auto [key, file] = assignment("--in", text, "OPERAND=FILE");
    if (!run.in.emplace(key, file).second) throw InputError("--in " + key, "given twice");
  }
  for (const std::string& text : raw.dtypes) {
    const auto [key, type] = assignment("--dtype", text, "OPERAND=TYPE");
    const auto dtype = parse_dtype(type);
    if (!dtype || is_semaphore(*dtype))
      throw InputError("--dtype " + key, "'" + type.substr(0, 60) + "' is no element type (f32, bf16, i32, ...)");
    if (!run.dtypes.emplace(key, *dtype).second) throw InputError("--dtype " + key, "given twice");
  }
  for (const std::string& text : raw.expect) {
    const auto [key, file] = assignment("--expect", text, "RESULT=FILE");
    if (!run.expect.emplace(result_key("--expect", key), file).second)
      throw InputError("--expect " + key, "given twice");
  }
  constexpr double kLargest = std::numeric_limits<double>::max();  // a tolerance of infinity would compare nothing
  if (!raw.atol.empty()) run.atol = number("--atol", raw.atol, 0.0, kLargest, "a finite number of at least 0");
  if (!raw.rtol.empty()) run.rtol = number("--rtol", raw.rtol, 0.0, kLargest, "a finite number of at least 0");
  run.compare = !raw.no_compare;
}

void finish_output(const RawOptions& raw, CommandLine& line) {
  for (const auto& [option, file] : {std::pair{"--out", &raw.out},
                                     {"--csv", &raw.csv},
                                     {"--markdown", &raw.markdown},
                                     {"--write-baseline", &raw.write_baseline}})
    if (*file == "-") throw InputError(option, "'-' given, expected a file's name");
  line.out_directory = raw.out;
  line.json_file = raw.json;
  if (!raw.format.empty())
    line.format = one_of<OutputFormat>("--output-format", raw.format,
                                       {{"text", OutputFormat::text},
                                        {"short", OutputFormat::short_},
                                        {"json", OutputFormat::json},
                                        {"junit", OutputFormat::junit},
                                        {"sarif", OutputFormat::sarif},
                                        {"github", OutputFormat::github}});
  if (raw.json == "-" && !raw.format.empty() && line.format != OutputFormat::json)
    throw InputError("--json", "'-' and --output-format " + raw.format + " both write to stdout: drop one");
  if (!raw.error_on.empty())
    line.writer.threshold =
        one_of<Severity>("--error-on", raw.error_on,
                         {{"error", Severity::error}, {"warning", Severity::warning}, {"note", Severity::note}});
  enum class When { automatic, always, never };
  const When when = raw.color.empty()
                        ? When::automatic
                        : one_of<When>("--color", raw.color,
                                       {{"auto", When::automatic}, {"always", When::always}, {"never", When::never}});
  const char* no_color = std::getenv("NO_COLOR");
  line.writer.color =
      when == When::always || (when == When::automatic && isatty(STDOUT_FILENO) != 0 && !(no_color && *no_color));
  line.writer.quiet = raw.quiet;
  if (!raw.log.empty())
    set_log_level(one_of<LogLevel>("--log", raw.log,
                                   {{"off", LogLevel::off}, {"info", LogLevel::info}, {"debug", LogLevel::debug}}));
  line.writer.verbose = raw.verbose;
  if (!raw.top.empty()) line.top = number("--top", raw.top, 1, 1000000, "at least 1");
  line.run_rows = raw.run_rows;
  line.csv_file = raw.csv;
  line.markdown_file = raw.markdown;
  line.names_only = raw.names;
  line.raw = raw.raw;
  line.generic = raw.generic;
  line.identity = raw.identity;
  line.select = kinds("--select", raw.select);
  line.ignore = kinds("--ignore", raw.ignore);
  line.baseline_file = raw.baseline;
  line.write_baseline_file = raw.write_baseline;
}

}  // namespace

CommandLine finish(const RawOptions& raw) {
  CommandLine line;
  line.subjects = raw.subjects;
  for (const std::string& text : raw.set) {
    auto [key, value] = assignment("--set", text, "NAME=VALUE");
    line.set.push_back({std::move(key), std::move(value)});
  }
  if (!raw.call.empty()) line.call = number("--call", raw.call, 0, 1 << 20, "a call's number, from 0");
  line.kernel = raw.kernel;
  line.force = raw.force;
  line.results = raw.results;
  line.operands = raw.operands;
  line.aliases = raw.aliases;
  line.targets = raw.targets;
  if (!raw.vmem_limit.empty())
    line.vmem_limit_bytes = number<int64_t>("--vmem-limit", raw.vmem_limit, 1, int64_t{1} << 50,
                                            "a number of bytes from 1 to 1125899906842624 (1 PiB)");
  line.run.vmem_limit_bytes = line.vmem_limit_bytes;
  line.run.share_hbm = raw.share_hbm;
  finish_machine(raw, line);
  finish_arrays(raw, line);
  finish_output(raw, line);
  return line;
}

void refuse_unused(const std::string& command, const RawOptions& raw) {
  const auto refuse = [](std::string_view option, const std::string& why) {
    throw InputError(std::string(option), why);
  };
  if (raw.quiet && raw.verbose) refuse("--quiet", "and --verbose contradict each other");
  if (command == "explain" && raw.names && !raw.subjects.empty())
    refuse("--names", "lists all kinds; name none beside it");
  if (raw.integers && !(raw.atol.empty() && raw.rtol.empty()))
    refuse("--integers", std::string("asks for equal bits: drop ") + (raw.atol.empty() ? "--rtol" : "--atol"));
  const struct {
    const char* option;
    bool is_given;
    bool compares;
  } runs[] = {{"--atol", !raw.atol.empty(), true},
              {"--rtol", !raw.rtol.empty(), true},
              {"--integers", raw.integers, true},
              {"--expect", !raw.expect.empty(), true},
              {"--no-compare", raw.no_compare, false},
              {"--in", !raw.in.empty(), false},
              {"--dtype", !raw.dtypes.empty(), false},
              {"--fill", !raw.fill.empty(), false},
              {"--seed", !raw.seed.empty(), false},
              {"--numerics", !raw.numerics.empty(), false},
              {"--schedule", !raw.schedule.empty(), false},
              {"--threads", !raw.threads.empty(), false},
              {"--cores", !raw.cores.empty(), false},
              {"--core-split", !raw.core_split.empty(), false},
              {"--remote-order", !raw.remote_order.empty(), false},
              {"--semaphore-progress", !raw.semaphore_progress.empty(), false}};
  for (const auto& r : runs) {
    if (!r.is_given) continue;
    if (raw.no_compare && r.compares) refuse(r.option, "has no effect with --no-compare: drop one");
    if (command == "sweep" && !raw.run_rows) refuse(r.option, "is for sweep --run: without, nothing is run");
  }
  if (command == "sweep" && (raw.schedule.starts_with("explore") || raw.schedule.starts_with("exhaustive")))
    refuse("--schedule", "'" + raw.schedule.substr(0, 60) + "' given; sweep runs each row once");
  if (command == "inspect" && raw.raw + raw.generic + raw.identity > 1)
    refuse(raw.raw ? "--raw" : "--generic",
           std::string("and ") + (raw.identity ? "--identity" : "--generic") + " are two ways to print: choose one");
  if (command == "inspect" && (raw.raw || raw.generic) && (raw.force || !raw.results.empty() || !raw.operands.empty()))
    refuse(raw.force             ? "--force"
           : raw.results.empty() ? "--operand"
                                 : "--result",
           std::string("has no effect with ") + (raw.raw ? "--raw" : "--generic"));
}

std::map<std::string, std::string> CommandLine::set_map() const {
  std::map<std::string, std::string> map;
  for (const Setting& s : set)
    if (!map.emplace(s.name, s.values).second) throw InputError("--set " + s.name, "given twice");
  return map;
}

}  // namespace tilecheck
