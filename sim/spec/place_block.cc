#include "sim/spec/place_block.h"

#include <algorithm>

#include "sim/types/error.h"

namespace tilecheck {

Dims block_counts(const Window& w) {
  Dims counts;
  for (int d = 0; d < w.array.rank(); ++d) {
    const BlockDim b = w.block.empty() ? BlockDim(std::max<int64_t>(w.array[d], 1)) : w.block[static_cast<size_t>(d)];
    counts.push_back(b.kind == BlockDim::Kind::element ? w.array[d] + b.pad_lo + b.pad_hi + 1
                                                       : (w.array[d] + b.size - 1) / b.size);
  }
  return counts;
}

int64_t block_number(const Dims& block, const Dims& counts) {
  int64_t n = 0;
  for (int d = 0; d < block.rank(); ++d) {
    if (block[d] < 0 || block[d] >= counts[d]) return -1;
    n = n * counts[d] + block[d];
  }
  return n;
}

void place_block(const Window& w, const std::string& kernel, std::span<const Index> grid,
                 const PrefetchReader* prefetch, Visit& visit) {
  const int rank = w.array.rank();
  if (w.index) {
    const Indices indices = w.index(grid, PrefetchRefs(prefetch));
    if (indices.rank != rank)
      throw InputError("kernel " + kernel + ", window '" + w.name + "'",
                       "the index map returns " + std::to_string(indices.rank) + " indices, the array has " +
                           std::to_string(rank) + " dimensions");
    visit.block.clear();
    for (int d = 0; d < rank; ++d) visit.block.push_back(indices.values[static_cast<size_t>(d)].value());
  } else {
    visit.block = Dims::filled(rank, 0);
  }
  visit.origin = visit.block;
  for (int d = 0; d < rank && !w.block.empty(); ++d) {
    const BlockDim& b = w.block[static_cast<size_t>(d)];
    if (b.kind == BlockDim::Kind::element) {
      visit.origin[d] = visit.block[d] - b.pad_lo;
    } else if (__builtin_mul_overflow(visit.block[d], b.size, &visit.origin[d])) {
      visit.origin[d] = visit.block[d] < 0 ? INT64_MIN / 4 : INT64_MAX / 4;
    }
  }
}

}  // namespace tilecheck
