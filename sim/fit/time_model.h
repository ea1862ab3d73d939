// How long a kernel takes by libtpu's own timing model: the block pipeline around the body.
//
// It is libtpu's estimate, not a chip's: calibrated on what the compiler's simulator says (time_table.cc), with its
// errors stated.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/fit/body.h"
#include "sim/report/report.h"
#include "sim/spec/kernel_spec.h"
#include "sim/target/target.h"

namespace tilecheck::fit {

struct TimeOptions {
  bool share_hbm_bandwidth = false;          // copies in flight share HBM; libtpu's simulator gives each all of it
  int64_t assumed_trips = 1;                 // of body loops whose trip count depends on data
  int timeline_steps = 0;                    // how many steps' times to keep, from the first
  bool advise = true;                        // look for windows that need no second buffer
  const PrefetchReader* prefetch = nullptr;  // scalar-prefetch values, where known: index maps read them
};

enum class Bound : uint8_t { compute, hbm, latency };
std::string_view name(Bound bound);  // "compute", "HBM", "latency"

struct WindowTime {
  std::string name;
  bool is_input = true;
  int slots = 0;
  int64_t copies = 0;          // over the whole grid
  int64_t bytes_per_copy = 0;  // of a full block
  double cycles_per_copy = 0;  // of a full block, alone on the bus
  double total_cycles = 0;     // copies x cycles, hidden or not
};

struct StepTime {
  Dims step;
  double fetch_issued = 0;  // cycle at which this step's prefetched windows were asked for
  double body_start = 0;    // its inputs have arrived
  double body_end = 0;
};

struct TimeEstimate {
  std::string not_modelled;  // why there is no estimate; empty when there is one
  double cycles = 0;
  double us = 0;
  int64_t steps = 0;           // grid steps
  int64_t steps_per_core = 0;  // fewer on chips whose cores share a grid (megacore)
  double body_cycles = 0;      // of a step, mean; with min and max over the steps looked at
  double body_cycles_min = 0, body_cycles_max = 0;
  double body_static_cycles = 0;  // of a step with every branch counted once, as the compiler's listing has it
  double compute_cycles = 0;      // of all steps
  double exposed_dma_cycles = 0;  // waits for copies that nothing hides
  int64_t hbm_bytes = 0;          // moved by windows and by the body's own copies
  double hbm_cycles = 0;          // those bytes at full bandwidth
  Bound bound = Bound::compute;
  std::vector<WindowTime> windows;
  std::vector<StepTime> timeline;
  // Median and 90th percentile of the error against libtpu on kernels the model was not fitted on, as fractions.
  double error_median = 0, error_p90 = 0;
  std::vector<std::string> notes;   // what was assumed
  std::vector<std::string> advice;  // only where it is sure
};

// "libtpu's estimate, not a chip; median error 1%"
std::string label(const TimeEstimate& estimate);

// `body` is the kernel's body for `spec`. The grid must be known (a dynamic bound is not modelled).
TimeEstimate estimate_time(const KernelSpec& spec, const Body& body, const Target& target,
                           const TimeOptions& options = {});

// Copies that the body waits for as soon as it has started them, with no work between (dma-serialized).
std::vector<Finding> find_serialized_copies(const Body& body);

}  // namespace tilecheck::fit
