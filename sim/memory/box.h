// Boxes: strided index ranges, one per dimension. Exact overlap, containment and printing.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "sim/types/shape.h"

namespace tilecheck {

// lo, lo + step, ..., n of them. step >= 1.
struct Range {
  int64_t lo = 0;
  int64_t n = 0;
  int64_t step = 1;
  int64_t last() const { return lo + (n - 1) * step; }
  friend bool operator==(const Range&, const Range&) = default;
};

struct Box {
  std::array<Range, kMaxRank> dims{};
  int rank = 0;
  static Box whole(const Shape& shape);
  Range& operator[](int i) { return dims[static_cast<size_t>(i)]; }
  const Range& operator[](int i) const { return dims[static_cast<size_t>(i)]; }
  int64_t element_count() const;
  bool empty() const { return element_count() == 0; }
  friend bool operator==(const Box& a, const Box& b);
};

// Whether two boxes over the same dimensions share an element. Exact, strides included.
bool overlaps(const Box& a, const Box& b);
// Whether every element of `inner` is in `outer`.
bool contains(const Box& outer, const Box& inner);
// The elements of `box` inside [0, extent) in every dimension.
Box clip(const Box& box, const Shape& extents);
// "[1, 0:64, 0:128:2]"
std::string to_string(const Box& box);

}  // namespace tilecheck
