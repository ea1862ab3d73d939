// What planned_traffic counts of a factor: dimensions of a window's block whose indices share grid axes, with these
// axes, independent of all other dimensions.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/spec/kernel_spec.h"

namespace tilecheck {

__extension__ using Wide = __int128;

// Some blocks and the elements that they move, parted by the elements of a block modulo `kClasses`: bytes are whole,
// and up to eight elements make one.
struct BlockSum {
  static constexpr size_t kClasses = 8;
  std::array<Wide, kClasses> blocks{}, elements{};

  static BlockSum one();
  void add(int64_t block_elements, Wide times = 1) {
    const auto c = static_cast<size_t>(block_elements) % kClasses;
    blocks[c] += times;
    elements[c] += block_elements * times;
  }
  void add(const BlockSum& other, Wide times);
  Wide count() const;
  Wide bytes(int bits) const;
};
// Each block of one with each of the other: factors of a block that depend on different axes.
BlockSum operator*(const BlockSum& a, const BlockSum& b);
BlockSum operator-(BlockSum a, const BlockSum& b);

// Steps from one coordinate of an axis, the level, to its next, those within it going from their last to 0: what is
// there after them, and of that what was there before as well.
struct Transitions {
  BlockSum all, unchanged;
  BlockSum all_inside, unchanged_inside;  // of blocks that the array has

  void add(int64_t elements, bool is_inside, bool is_same, Wide times = 1);
};

struct FactorAxis {
  int axis;
  int64_t extent;  // 2 or more
};

struct FactorCounts {
  std::vector<FactorAxis> axes;  // ascending
  std::vector<Transitions> at;   // by position in `axes`: that axis is the level
  // By position in `axes`, and one more: the level is another axis, just outside of that one (or within all).
  std::vector<Transitions> outside;
  BlockSum first, first_inside;  // at the first step
  BlockSum distinct;             // each block that the array has once; nothing where they were not to be told apart

  explicit FactorCounts(std::vector<FactorAxis> axes_of_factor);
  const Transitions& transitions(int level) const;
};

// The dimensions of a factor, and how a block's elements follow from its indices.
class FactorBlocks {
 public:
  FactorBlocks(const Window& window, std::vector<int> dims);

  const std::vector<int>& dims() const { return dims_; }
  // What the indices from `first` to `last` (included) of dims()[i] have in common.
  struct Piece {
    int64_t first, last;
    int64_t elements;
    bool is_inside;
  };
  // All indices of whole blocks; first > last where there are none.
  const Piece& whole(size_t i) const { return whole_[i]; }
  Piece at(size_t i, int64_t index) const;
  // [lo, hi] cut into pieces, in order; none when that takes more than `most`.
  std::optional<std::vector<Piece>> pieces(size_t i, int64_t lo, int64_t hi, int64_t most) const;
  int64_t block_count(size_t i) const { return counts_[i]; }
  // Blocks along these dimensions, or 0 when they are too many to be told apart.
  int64_t tracked_blocks() const { return tracked_; }

 private:
  const Window& window_;
  std::vector<int> dims_;
  std::vector<int64_t> counts_;
  std::vector<Piece> whole_;
  int64_t tracked_ = 0;
};

}  // namespace tilecheck
