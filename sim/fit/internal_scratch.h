// The compiler's own scratch in VMEM, for values that must change between small tiles and (8,128) tiles.
#pragma once

#include <cstdint>

#include "sim/fit/body.h"
#include "sim/target/target.h"

namespace tilecheck::fit {

inline constexpr int64_t kInternalScratchBytes = 72 * 512;

// kInternalScratchBytes or 0. v6e and later relayout in registers. On v2 to v5p, values of 2 to 4 rows (v2 to v4: 1 to
// 4) and more than one column of lanes keep the small tile of their array; reductions, matmuls, bf16 arithmetic and
// narrowing need (8,128) tiles; so does adding a single row to a block on v2 to v4, and taking a unit dimension out of
// (r,1,c), and merging the rows of (r,g,c) with g of 1, 2 or 4 on all of them. Measured from libtpu 0.0.42.1 over rows
// 1 to 12, 128 to 512 columns.
int64_t internal_scratch_bytes(const Body& body, const Target& target);

}  // namespace tilecheck::fit
