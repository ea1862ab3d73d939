#include "sim/machine/launch.h"

#include <algorithm>
#include <chrono>

#include "sim/machine/device_memory.h"
#include "sim/machine/fp_control.h"
#include "sim/machine/not_modelled.h"
#include "sim/machine/parallel.h"
#include "sim/machine/serial.h"
#include "sim/types/error.h"

namespace tilecheck {
namespace {

std::string numerics_name(Numerics n) { return n == Numerics::exact ? "exact" : n == Numerics::mxu ? "mxu" : "f64"; }

bool is_undefined(const Finding& f) { return f.kind == Kind::undefined_use || f.kind == Kind::undefined_output; }

// Findings of undefined memory that only `apart` has: there, a step used what another parallel coordinate had left.
std::vector<Finding> order_dependent(const std::vector<Finding>& apart, const std::vector<Finding>& plain) {
  std::vector<Finding> found;
  for (const Finding& f : apart) {
    if (!is_undefined(f)) continue;
    if (std::any_of(plain.begin(), plain.end(),
                    [&](const Finding& p) { return p.kind == f.kind && p.message == f.message; }))
      continue;
    Finding d = Finding::make(
        Kind::parallel_order_dependent,
        (f.kind == Kind::undefined_use ? std::string("a step steers by") : "'" + f.buffer + "' depends on") +
            " what a step of another parallel coordinate left in scratch or in an output block",
        f.at);
    d.buffer = f.buffer;
    d.step = f.step;
    d.device = f.device;
    d.helps.push_back(
        "initialise scratch and output blocks in the first step of each parallel coordinate, or make the dimension "
        "arbitrary");
    found.push_back(std::move(d));
    break;
  }
  return found;
}

// Serial; again while a run learns something that changes how waits are judged (Engine::judge_again). A run that met
// what is not modelled says nothing that another would say better.
SerialRun run_judged(const KernelSpec& spec, const Body& body, std::span<const DeviceArgs> args,
                     const LaunchOptions& options, bool apart) {
  LaunchOptions judged = options;
  if (!judged.sync.hindsight) judged.sync.hindsight = make_hindsight();
  while (true) {
    SerialRun run = run_serial(spec, body, args, judged, apart);
    if (!run.judge_again || !run.result.report.incomplete.empty()) return run;
  }
}

// Serial, with parallel coordinates held apart first; if that leaves undefined values that a plain run does not have,
// the kernel depends on the order of parallel steps, and the plain run's results stand.
LaunchResult run_in_order(const KernelSpec& spec, const Body& body, std::span<const DeviceArgs> args,
                          const LaunchOptions& options) {
  const bool apart = options.check_definedness && options.cores == 1 && has_parallel_axis(spec);
  SerialRun run = run_judged(spec, body, args, options, apart);
  const std::vector<Finding>& findings = run.result.report.findings;
  if (!run.set_apart || std::none_of(findings.begin(), findings.end(), is_undefined)) return std::move(run.result);
  SerialRun plain = run_judged(spec, body, args, options, false);
  for (Finding& f : order_dependent(findings, plain.result.report.findings))
    plain.result.report.findings.push_back(std::move(f));
  return std::move(plain.result);
}

// In parts on several threads, where that gives what a serial run would.
std::optional<LaunchResult> run_in_parts(const KernelSpec& spec, const Body& body, const DeviceArgs& args,
                                         const LaunchOptions& options) {
  LaunchResult result;
  DeviceMemory memory = device_memory(spec, args, options, 0);
  std::optional<ParallelRun> run = run_parallel(spec, body, memory, options);
  if (!run) return std::nullopt;
  FindingSink sink(result.report.findings);
  const Engine idle(options.sync, sink);
  result.report.counters = std::move(run->counters);
  result.report.schedule_independent = true;
  result.devices.push_back(collect_results(spec, memory, idle, sink));
  if (!result.report.findings.empty()) return std::nullopt;
  return result;
}

}  // namespace

LaunchResult launch(const KernelSpec& spec, const Body& body, std::span<const DeviceArgs> args,
                    const LaunchOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  validate(spec);
  if (options.devices < 1 || options.cores < 1) throw InputError("launch", "devices and cores must be at least 1");
  if (static_cast<int>(args.size()) != options.devices)
    throw InputError("launch", "operands for " + std::to_string(args.size()) + " devices, but " +
                                   std::to_string(options.devices) + " run");
  if (std::string why = why_not_modelled(spec, options.target, options.cores); !why.empty()) throw Incomplete(why);
  const FpControl fp;
  std::optional<LaunchResult> in_parts;
  if (options.threads > 1 && options.devices == 1) in_parts = run_in_parts(spec, body, args[0], options);
  LaunchResult result = in_parts ? std::move(*in_parts) : run_in_order(spec, body, args, options);
  result.report.kernel = spec.name;
  result.report.target = options.target ? options.target->name : "v5e";
  result.report.grid = spec.grid;
  result.report.threads = options.threads;
  result.report.seed = options.sync.seed;
  result.report.schedule = to_string(options.sync.schedule);
  result.report.numerics = numerics_name(options.numerics);
  result.report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace tilecheck
