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

Indices indices_at(const Window& w, const std::string& kernel, std::span<const Index> grid,
                   const PrefetchReader* prefetch) {
  Indices indices = w.index(grid, PrefetchRefs(prefetch));
  const int rank = w.array.rank();
  if (indices.rank != rank)
    throw InputError("kernel " + kernel + ", window '" + w.name + "'",
                     "the index map returns " + std::to_string(indices.rank) + " indices, the array has " +
                         std::to_string(rank) + " dimensions");
  return indices;
}

int64_t block_origin(const Window& w, int d, int64_t index) {
  if (w.block.empty()) return index;
  const BlockDim& b = w.block[static_cast<size_t>(d)];
  if (b.kind == BlockDim::Kind::element) return index - b.pad_lo;
  int64_t origin;
  if (__builtin_mul_overflow(index, b.size, &origin)) return index < 0 ? INT64_MIN / 4 : INT64_MAX / 4;
  return origin;
}

Interval covered(int64_t origin, int64_t size, int64_t array_size) {
  const int64_t lo = std::clamp<int64_t>(origin, 0, array_size);
  return {lo, std::clamp<int64_t>(origin + size, lo, array_size)};
}

void place_block(const Window& w, const std::string& kernel, std::span<const Index> grid,
                 const PrefetchReader* prefetch, Visit& visit) {
  const int rank = w.array.rank();
  if (w.index) {
    const Indices indices = indices_at(w, kernel, grid, prefetch);
    visit.block.clear();
    for (int d = 0; d < rank; ++d) visit.block.push_back(indices.values[static_cast<size_t>(d)].value());
  } else {
    visit.block = Dims::filled(rank, 0);
  }
  visit.origin = visit.block;
  for (int d = 0; d < rank && !w.block.empty(); ++d) visit.origin[d] = block_origin(w, d, visit.block[d]);
}

}  // namespace tilecheck
