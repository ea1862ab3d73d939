// Window traffic of a whole grid without a walk over its steps.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/report/report.h"
#include "sim/spec/kernel_spec.h"

namespace tilecheck {

// What count_traffic counts of the whole grid (which must be concrete), from each window's index map alone. Indices
// that share no grid axis are counted apart, each over the axes that it is a function of, and multiplied: a map (i, j)
// over 300 x 300 x 300 steps is evaluated 600 times. None when that takes more than `max_evaluations` of all maps, or
// the bytes do not fit 63 bits.
std::optional<std::vector<WindowCounters>> planned_traffic(const KernelSpec& spec, const PrefetchReader* prefetch,
                                                           int64_t max_evaluations);

}  // namespace tilecheck
