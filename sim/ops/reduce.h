// Reductions on plain memory. For the .cc files of this folder.
#pragma once

#include <cstdint>

#include "sim/ops/ops.h"

namespace tilecheck {

// Logical lanes of a reduction along trailing axes: element i belongs to lane i % kLanes; a tree joins lane i with lane
// i + 8, then i + 4, i + 2, i + 1. Lanes start at the identity.
inline constexpr int kLanes = 16;

// Elements as [outer, reduced, inner], results as [outer, inner]. With inner 1 by lanes, else a chain over `reduced`,
// in order, from the identity.
struct Extents {
  int64_t outer, reduced, inner;
};
using ReduceFn = void (*)(const void* from, void* to, const Extents& extents);

// reduce_add, _mul, _max or _min of f32 or f64.
ReduceFn float_reduce(OpId op, DType repr);

}  // namespace tilecheck
