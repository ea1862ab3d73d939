#include "sim/spec/traffic_factor.h"

#include <algorithm>

#include "sim/spec/place_block.h"

namespace tilecheck {

BlockSum BlockSum::one() {
  BlockSum s;
  s.blocks[1] = s.elements[1] = 1;
  return s;
}

void BlockSum::add(const BlockSum& other, Wide times) {
  for (size_t c = 0; c < kClasses; ++c) {
    blocks[c] += other.blocks[c] * times;
    elements[c] += other.elements[c] * times;
  }
}

Wide BlockSum::count() const {
  Wide n = 0;
  for (Wide b : blocks) n += b;
  return n;
}

Wide BlockSum::bytes(int bits) const {
  Wide n = 0;
  for (size_t c = 0; c < kClasses; ++c) {
    const auto past_byte = static_cast<int>(c) * bits % 8;
    n += (elements[c] * bits + blocks[c] * (past_byte == 0 ? 0 : 8 - past_byte)) / 8;
  }
  return n;
}

BlockSum operator*(const BlockSum& a, const BlockSum& b) {
  BlockSum product;
  for (size_t i = 0; i < BlockSum::kClasses; ++i) {
    if (a.blocks[i] == 0) continue;
    for (size_t j = 0; j < BlockSum::kClasses; ++j) {
      const size_t c = i * j % BlockSum::kClasses;
      product.blocks[c] += a.blocks[i] * b.blocks[j];
      product.elements[c] += a.elements[i] * b.elements[j];
    }
  }
  return product;
}

BlockSum operator-(BlockSum a, const BlockSum& b) {
  for (size_t c = 0; c < BlockSum::kClasses; ++c) {
    a.blocks[c] -= b.blocks[c];
    a.elements[c] -= b.elements[c];
  }
  return a;
}

void Transitions::add(int64_t elements, bool is_inside, bool is_same, Wide times) {
  all.add(elements, times);
  if (is_inside) all_inside.add(elements, times);
  if (is_same) unchanged.add(elements, times);
  if (is_same && is_inside) unchanged_inside.add(elements, times);
}

FactorCounts::FactorCounts(std::vector<FactorAxis> axes_of_factor)
    : axes(std::move(axes_of_factor)), at(axes.size()), outside(axes.size() + 1) {}

const Transitions& FactorCounts::transitions(int level) const {
  size_t i = 0;
  while (i < axes.size() && axes[i].axis < level) ++i;
  return i < axes.size() && axes[i].axis == level ? at[i] : outside[i];
}

FactorBlocks::FactorBlocks(const Window& window, std::vector<int> dims) : window_(window), dims_(std::move(dims)) {
  const Dims counts = block_counts(window);
  const Shape sizes = window.block_sizes();
  tracked_ = 1;
  for (int d : dims_) {
    counts_.push_back(counts[d]);
    tracked_ = counts[d] > 0 && tracked_ <= kMaxTrackedBlocks / counts[d] ? tracked_ * counts[d] : 0;
    const int64_t size = sizes[d], array = window.array[d];
    if (window.block.empty()) {  // one block, wherever its index says that it begins
      whole_.push_back({0, array > 0 ? 0 : -1, size, true});
      continue;
    }
    const BlockDim& b = window.block[static_cast<size_t>(d)];
    if (b.kind == BlockDim::Kind::element)
      whole_.push_back({std::max<int64_t>(0, b.pad_lo), std::min(array - size + b.pad_lo, counts[d] - 1), size, true});
    else
      whole_.push_back({0, array / size - 1, size, true});
  }
}

FactorBlocks::Piece FactorBlocks::at(size_t i, int64_t index) const {
  const int d = dims_[i];
  const Interval part = covered(block_origin(window_, d, index), window_.block_sizes()[d], window_.array[d]);
  return {index, index, part.hi - part.lo, index >= 0 && index < counts_[i]};
}

std::optional<std::vector<FactorBlocks::Piece>> FactorBlocks::pieces(size_t i, int64_t lo, int64_t hi,
                                                                     int64_t most) const {
  std::vector<Piece> all;
  const bool in_elements =
      window_.block.empty() || window_.block[static_cast<size_t>(dims_[i])].kind == BlockDim::Kind::element;
  const int64_t size = window_.block_sizes()[dims_[i]];
  // Beyond these, blocks hold nothing, and none is the array's.
  const int64_t before = std::min<int64_t>(-1, (in_elements ? whole_[i].first - size : -1));
  const int64_t behind = std::max(counts_[i], whole_[i].last + 1 + (in_elements ? size : 1));
  for (int64_t at_index = lo; at_index <= hi;) {
    if (static_cast<int64_t>(all.size()) >= most) return std::nullopt;
    Piece piece = at(i, at_index);
    if (at_index <= before)
      piece.last = std::min(hi, before);
    else if (at_index >= behind)
      piece.last = hi;
    else if (at_index >= whole_[i].first && at_index <= whole_[i].last && piece.is_inside)
      piece.last = std::min(hi, whole_[i].last);
    all.push_back(piece);
    at_index = piece.last + 1;
  }
  return all;
}

}  // namespace tilecheck
