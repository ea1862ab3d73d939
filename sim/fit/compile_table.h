// Numbers of the compile-time rules, measured from libtpu 0.0.42.1.
#pragma once

#include <cstdint>

#include "sim/target/target.h"
#include "sim/types/dtype.h"
#include "sim/types/shape.h"

namespace tilecheck::fit {

// The smallest internal scratch that the compiler accepts, and what it rounds a request up to.
inline constexpr int64_t kInternalScratchMinBytes = 36864;
inline constexpr int64_t kInternalScratchGranule = 512;

// Cores that a core_parallel dimension must match exactly.
inline int64_t core_parallel_cores(const Target& target) { return target.name == "v5p" ? 2 : 1; }

// Rows of the tile in which a packed array lies in HBM: 8-bit arrays of a multiple of 32 rows lie in tiles of 32, 4-bit
// ones of a multiple of 64 rows in tiles of 64 (from v4 on); all others in tiles of at most 8 rows.
inline int64_t row_tile(int element_bits, int64_t rows, const Target& target) {
  if (target.generation() >= 4 && element_bits == 8 && rows % 32 == 0) return 32;
  if (target.generation() >= 4 && element_bits == 4 && rows % 64 == 0) return 64;
  int64_t tile = 1;
  while (tile < 8 && tile < rows) tile *= 2;
  return tile;
}
// Elements of the tile of a rank-1 array.
inline int64_t line_tile(int element_bits, const Target& target) {
  return target.lanes() * (element_bits < 32 ? 32 / element_bits : 1) * (target.generation() < 4 ? 2 : 1);
}
// Masks inside a packed register exist from this generation on.
inline int64_t submask_generation(int element_bits) { return element_bits == 16 ? 4 : element_bits == 8 ? 5 : 1000; }

}  // namespace tilecheck::fit
