// Running independent parts of a grid on several threads, with the bits and findings of a serial run.
#pragma once

#include <optional>
#include <vector>

#include "sim/machine/state.h"

namespace tilecheck {

// Tries to run the grid in parts cut along its leading parallel axes, each with memories of its own. None when the
// kernel does not allow it or a part met a finding, a copy, a semaphore, an unmodelled operation or another part's
// output block; the device's results are then to be reset and the grid run serially. Else the parts' counters, added
// up.
struct ParallelRun {
  Counters counters;
};
std::optional<ParallelRun> run_parallel(const KernelSpec& spec, const Body& body, DeviceMemory& memory,
                                        const LaunchOptions& options);

}  // namespace tilecheck
