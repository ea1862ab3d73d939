// Window traffic of a whole grid without a walk over its steps.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/report/report.h"
#include "sim/spec/kernel_spec.h"

namespace tilecheck {

struct PlannedTraffic {
  std::vector<WindowCounters> windows;  // those not counted: all zero
  std::vector<std::string> uncounted;   // windows whose maps take more than `max_evaluations`, or whose bytes 63 bits
  bool complete() const { return uncounted.empty(); }
};

// What count_traffic counts of the whole grid (which must be concrete), from each window's index map alone. Indices
// that share no grid axis are counted apart, each over the axes that it is a function of, and multiplied: a map (i, j)
// over 300 x 300 x 300 steps is two axes of 300 points. Linear indices are counted from their coefficients, whatever
// the grid's size; others as they bend; a map that is not written out (IndexMap::expression) is evaluated at each
// point.
PlannedTraffic planned_traffic(const KernelSpec& spec, const PrefetchReader* prefetch, int64_t max_evaluations);

}  // namespace tilecheck
