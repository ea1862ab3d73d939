// Where a window's block lies for given grid coordinates, and how blocks are numbered.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "sim/spec/plan.h"

namespace tilecheck {

// Sets block and origin of `visit`. InputError, naming `kernel`, for a map that returns another number of indices than
// the array has dimensions.
void place_block(const Window& window, const std::string& kernel, std::span<const Index> grid,
                 const PrefetchReader* prefetch, Visit& visit);

// The indices that a window's map (which it must have) returns. InputError as for place_block.
Indices indices_at(const Window& window, const std::string& kernel, std::span<const Index> grid,
                   const PrefetchReader* prefetch);
// Where the block of an index begins in dimension d of the array.
int64_t block_origin(const Window& window, int d, int64_t index);
// The part of [origin, origin + size) that lies in an array's dimension; lo = hi where none does.
struct Interval {
  int64_t lo, hi;
};
Interval covered(int64_t origin, int64_t size, int64_t array_size);

// Blocks along each dimension; a dimension of element blocks counts every element index.
Dims block_counts(const Window& window);
// Arrays of more blocks than this are not tracked: each visit of theirs counts as the first.
inline constexpr int64_t kMaxTrackedBlocks = int64_t{1} << 28;
// Row-major number of a block, or -1 when it is out of the array's blocks.
int64_t block_number(const Dims& block, const Dims& counts);

}  // namespace tilecheck
