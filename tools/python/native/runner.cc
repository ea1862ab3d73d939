#include "tools/python/native/runner.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>

#include "harness/writers.h"
#include "sim/sync/explore.h"
#include "sim/types/error.h"
#include "tools/python/native/interrupt.h"
#include "tools/python/native/packed.h"

namespace tilecheck::python {
namespace {

struct Interrupted {};

std::atomic<int> running{0};
struct RunInProgress {
  RunInProgress() { ++running; }
  ~RunInProgress() { --running; }
};

// The call's values as the simulator keeps them: the caller's own memory, or unpacked.
std::vector<HostArray> operand_arrays(const DeviceArrays& device) {
  std::vector<HostArray> arrays;
  for (const CallArray& a : device.operands) {
    if (a.packed)
      arrays.push_back(unpack(a));
    else
      arrays.push_back(HostArray::view(a.type.dtype, a.type.shape, a.data));
  }
  return arrays;
}

void copy_results(const mosaic::Payload& payload, const DeviceResults& from, const DeviceArrays& to) {
  for (size_t i = 0; i < to.results.size(); ++i) {
    const CallArray& a = to.results[i];
    const HostArray result = payload.declared_result(static_cast<int>(i), from.out[i]);
    if (a.packed)
      pack(result, a);
    else
      std::memcpy(a.data, result.data(), static_cast<size_t>(result.size_bytes()));
  }
}

// Findings of groups that were not asked for.
void drop_unchecked(const CallOptions& options, std::vector<Finding>& findings) {
  std::erase_if(findings, [&](const Finding& f) { return !options.has(check_of(f.kind)); });
}

CallStatus judge(const Kernel& kernel, const Outcome& outcome) {
  const CallOptions& options = kernel.options;
  const Verdict verdict = outcome.verdict(options.threshold);
  if (verdict == Verdict::clean) return {};
  const WriterOptions quiet{.quiet = true, .threshold = options.threshold};
  if (verdict == Verdict::incomplete) return {CallStatus::Code::incomplete, text_report(outcome, quiet)};
  if (options.on_finding == OnFinding::raise) return {CallStatus::Code::findings, text_report(outcome, quiet)};
  if (options.on_finding == OnFinding::warn) std::fputs(text_report(outcome, quiet).c_str(), stderr);
  return {};
}

// Under the schedule that was asked for, or under many of them while the kernel's budget lasts: then the run is the one
// that failed, or that of the default schedule.
// Throws Interrupted once `watch` was.
LaunchResult launch_orders(const Kernel& kernel, const KernelSpec& spec, const std::vector<DeviceArgs>& args,
                           LaunchOptions options, const InterruptWatch& watch, Outcome& outcome) {
  const bool all = kernel.options.explore == CallOptions::Explore::all;
  const double left = kernel.options.budget_seconds - static_cast<double>(*kernel.explored_ms) / 1e3;
  if (kernel.options.explore == CallOptions::Explore::none || left <= 0)
    return launch(spec, kernel.body, args, options);
  LaunchOptions one = options;
  one.sync.record_decisions = true;
  one.sync.find_alternatives = all;
  const RunFunction run = [&](const ScheduleSpec& schedule) {
    one.sync.schedule = schedule;
    LaunchResult result = launch(spec, kernel.body, args, one);
    if (watch.interrupted()) throw Interrupted{};
    Report& report = result.report;
    drop_unchecked(kernel.options, report.findings);
    const bool failed = !report.incomplete.empty() || std::ranges::any_of(report.findings, [&](const Finding& f) {
      return f.severity >= kernel.options.threshold;
    });
    return RunOutcome{failed, report.schedule_independent, report.replay, std::move(result.alternatives),
                      std::move(result.missed_orders)};
  };
  const ExploreOptions explore_options{left, kernel.options.max_runs, options.sync.seed};
  const Exploration e = all ? explore_exhaustively(run, explore_options) : explore(run, explore_options);
  *kernel.explored_ms += static_cast<int64_t>(e.seconds * 1e3);
  if (e.failed) options.sync.schedule = e.failing;
  LaunchResult result = launch(spec, kernel.body, args, options);
  outcome.exploration =
      ExplorationOutcome{e.runs, e.complete, e.schedule_independent, e.failed ? to_string(e.failing) : ""};
  if (all && !e.complete && !e.failed) result.report.incomplete.push_back("exploration of all schedules: " + e.missed);
  return result;
}

void require_modelled(const Kernel& kernel) {
  if (const std::string& why = kernel.payload->not_modelled(); !why.empty()) throw Incomplete(why);
}

CallStatus run_kernel(const Kernel& kernel, const std::vector<DeviceArrays>& devices, Outcome& outcome) {
  require_modelled(kernel);
  const auto start = std::chrono::steady_clock::now();
  const InterruptWatch watch;
  const mosaic::Payload& payload = *kernel.payload;
  std::vector<DeviceArgs> args;
  std::vector<int64_t> bounds;
  for (const DeviceArrays& d : devices) {
    const std::vector<HostArray> operands = operand_arrays(d);
    if (args.empty()) bounds = payload.bounds(operands);
    args.push_back(payload.arguments(operands));
  }
  KernelSpec own_spec;
  LaunchOptions options = kernel.options.launch;
  options.devices = static_cast<int>(devices.size());
  options.mesh = kernel.mesh;
  options.go_on = [&watch] { return !watch.interrupted(); };
  const KernelSpec& spec = bounds.empty() ? kernel.spec : (own_spec = payload.spec(bounds));
  outcome = kernel.analysis;
  LaunchResult run = launch_orders(kernel, spec, args, options, watch, outcome);
  if (watch.interrupted()) throw Interrupted{};
  std::vector<Finding> findings = std::move(run.report.findings);
  run.report.findings = std::move(outcome.report.findings);
  run.report.findings.insert(run.report.findings.end(), findings.begin(), findings.end());
  drop_unchecked(kernel.options, run.report.findings);
  outcome.suppressed += suppressions().apply(run.report.findings);
  outcome.report = std::move(run.report);
  outcome.ran = true;
  outcome.report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  report_log().add(kernel.number, outcome);
  CallStatus status = judge(kernel, outcome);
  // A run that was stopped by a finding has results as far as it got.
  if (status.code == CallStatus::Code::ok && run.devices.size() == devices.size())
    for (size_t d = 0; d < devices.size(); ++d) copy_results(payload, run.devices[d], devices[d]);
  return status;
}

}  // namespace

KernelCache& kernel_cache() {
  static KernelCache cache;
  return cache;
}

ReportLog& report_log() {
  static ReportLog log;
  return log;
}

Suppressions& suppressions() {
  static Suppressions all;
  return all;
}

CallStatus run_call(const CallSignature& signature, const std::vector<DeviceArrays>& devices, Outcome* outcome) {
  Outcome own;
  Outcome& o = outcome ? *outcome : own;
  const std::string subject = "kernel " + std::string(signature.name) + ": ";
  const auto where = [&](std::string_view what) {
    return what.starts_with(subject) ? std::string(what) : subject + std::string(what);
  };
  const RunInProgress counted;
  try {
    return run_kernel(*kernel_cache().find(signature), devices, o);
  } catch (const Interrupted&) {
    return {CallStatus::Code::cancelled, where("interrupted")};
  } catch (const Incomplete& e) {
    return {CallStatus::Code::incomplete, where(std::string("not modelled: ") + e.what())};
  } catch (const InputError& e) {
    return {CallStatus::Code::bad_input, where(e.what())};
  } catch (const std::bad_alloc&) {
    return {CallStatus::Code::bad_input, where("not enough memory on this machine")};
  } catch (const std::exception& e) {
    return {CallStatus::Code::bad_input, where(e.what())};
  }
}

int runs_in_progress() { return running; }

CallStatus judge_compiled(const CallSignature& signature) {
  const std::shared_ptr<const Kernel> kernel = kernel_cache().find(signature);
  require_modelled(*kernel);
  Outcome outcome = kernel->analysis;
  drop_unchecked(kernel->options, outcome.report.findings);
  outcome.suppressed += suppressions().apply(outcome.report.findings);
  if (outcome.verdict(kernel->options.threshold) != Verdict::findings) return {};
  CallStatus status = judge(*kernel, outcome);
  if (status.code != CallStatus::Code::ok) report_log().add(kernel->number, outcome);
  return status;
}

}  // namespace tilecheck::python
