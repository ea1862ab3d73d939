// Running a kernel on all its devices and cores, step by step.
#pragma once

#include "sim/machine/launch.h"

namespace tilecheck {

struct SerialRun {
  LaunchResult result;       // report: findings, incomplete, counters, replay
  bool set_apart = false;    // memory was marked at least once
  bool judge_again = false;  // Engine::judge_again
};

// set_parallel_steps_apart: what one parallel coordinate leaves in scratch and output slots counts as undefined for the
// next (machine-rules 10). The bytes stay, so a run's values do not depend on it.
SerialRun run_serial(const KernelSpec& spec, const Body& body, std::span<const DeviceArgs> args,
                     const LaunchOptions& options, bool set_parallel_steps_apart);

}  // namespace tilecheck
