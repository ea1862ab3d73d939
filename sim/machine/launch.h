// launch: runs a kernel on simulated devices and yields its results and a Report.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sim/machine/core.h"
#include "sim/report/report.h"
#include "sim/spec/kernel_spec.h"
#include "sim/target/target.h"

namespace tilecheck {

// A kernel body, called once per grid step. Refs in order: scalar prefetch, inputs, outputs, scratch.
using Body = std::function<void(Core&, std::span<const Ref>)>;

// One device's operands, in the spec's order. Shared bytes are not written unless aliased to a result, and then a copy
// is.
struct DeviceArgs {
  std::vector<HostArray> prefetch;
  std::vector<HostArray> in;
};

enum class CoreSplit : uint8_t {
  megacore,  // halves the first parallel dimension of even size, as libtpu does (machine-rules 11)
  jax,       // a prefix of the parallel dimensions over the cores, as JAX's interpreter does
};

struct SyncEdit;  // sim/machine/sync_edit.h

struct LaunchOptions {
  const Target* target = nullptr;  // default v5e
  Numerics numerics = Numerics::exact;
  EngineOptions sync;
  int threads = 1;  // at most; results do not depend on it
  int cores = 1;
  CoreSplit core_split = CoreSplit::megacore;
  int devices = 1;
  Dims mesh;  // logical device grid; empty: {devices}
  bool check_definedness = true;
  bool record_steps = false;              // keep what the pipeline did at each step in steps
  int64_t step_begin = 0, step_end = -1;  // the range of steps to record
  // Varies what fresh memory holds; other than 0, slots are filled with it too where they would keep stale bytes.
  // Defined results do not depend on it.
  uint32_t garbage = 0;
  std::function<void(int64_t done, int64_t total)> progress;  // called after steps, by any thread
  // Asked now and then, within steps too, by any thread; false cancels, which ends the run `incomplete`.
  std::function<bool()> go_on;
  std::shared_ptr<SyncEdit> edit;  // a mistake to make in the body's ordering, or none yet: its calls are listed
};

struct StepRecord {
  Dims step;
  struct WindowEvent {
    int window;  // inputs, then outputs
    int slot;
    Dims block;
    bool fetched, written_back;
    int64_t bytes;
  };
  std::vector<WindowEvent> events;
};

struct DeviceResults {
  std::vector<HostArray> out;
  std::vector<std::vector<uint8_t>>
      undefined;  // per result: one byte per element, nonzero where undefined; empty: all defined
};

struct LaunchResult {
  std::vector<DeviceResults> devices;
  Report report;
  std::vector<StepRecord> steps;
  std::vector<std::vector<std::string>> alternatives;  // Engine::alternatives(), with EngineOptions::find_alternatives
  std::string missed_orders;                           // Engine::missed_orders()
  bool followed_schedule = true;  // false: a replay's decisions were not all possible where they stood
};

// Throws InputError when spec and arguments do not fit. Findings, deadlocks and unmodelled operations are in the
// report.
LaunchResult launch(const KernelSpec& spec, const Body& body, std::span<const DeviceArgs> args,
                    const LaunchOptions& options);

}  // namespace tilecheck
