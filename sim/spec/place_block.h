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

// Blocks along each dimension; a dimension of element blocks counts every element index.
Dims block_counts(const Window& window);
// Arrays of more blocks than this are not tracked: each visit of theirs counts as the first.
inline constexpr int64_t kMaxTrackedBlocks = int64_t{1} << 28;
// Row-major number of a block, or -1 when it is out of the array's blocks.
int64_t block_number(const Dims& block, const Dims& counts);

}  // namespace tilecheck
