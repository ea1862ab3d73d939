// Counting a factor's blocks by a walk over the points of its axes.
#pragma once

#include <optional>

#include "sim/spec/index_expr.h"
#include "sim/spec/traffic_factor.h"

namespace tilecheck {

// How much may still be looked at: one for an evaluation of an index map.
struct TrafficBudget {
  int64_t evaluations;
  // False, and nothing is left, when there was less.
  bool take(int64_t n) {
    evaluations = n <= evaluations ? evaluations - n : -1;
    return evaluations >= 0;
  }
};

// With `expr`, the map over the whole grid, from run to run of points at which its indices are linear; else the map is
// evaluated at each point. None when the budget does not last.
std::optional<FactorCounts> walk_factor(const KernelSpec& spec, const Window& window, const FactorBlocks& blocks,
                                        std::vector<FactorAxis> axes, const BoundIndexExpr* expr,
                                        const PrefetchReader* prefetch, TrafficBudget& budget);

}  // namespace tilecheck
