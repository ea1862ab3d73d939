// IndexExpr: an index map written out as expressions over grid coordinates, so that what it shows over many steps can
// be told without evaluating it at each.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/types/shape.h"

namespace tilecheck {

struct IndexExpr {
  enum class Kind : uint8_t {
    constant,
    axis,  // a grid coordinate
    add,
    sub,
    mul,
    div,  // towards zero; x / 0 = -1
    rem,  // of that division; x % 0 = x
    min,
    max,
    eq,  // comparisons, `both` and `either`: 0 or 1
    lt,
    le,
    both,
    either,
    select,  // a != 0 ? b : c
  };
  struct Node {
    Kind kind = Kind::constant;
    bool is_i32 = false;         // computed in 32 bits, which wrap
    int a = -1, b = -1, c = -1;  // operands, which come before
    int64_t value = 0;           // of a constant; of an axis: which
  };
  std::vector<Node> nodes;
  std::vector<int> results;  // one per index

  int constant(int64_t value);
  int axis(int axis);
  int add(Kind kind, int a, int b, bool is_i32 = false);
  int select(int condition, int a, int b);
};

// An expression over the steps of a box of a grid: what cannot differ there is folded (the lesser of i and 1000 where
// no i is as large), and nothing in it overflows or wraps.
class BoundIndexExpr {
 public:
  struct Range {
    int64_t lo, hi;
  };
  struct Affine {
    int64_t offset = 0;
    std::array<int64_t, kMaxRank> per_axis{};
  };
  // None where a number may wrap at its width, or reach 2^61. No extent may be 0.
  static std::optional<BoundIndexExpr> over(const IndexExpr& expr, const Dims& lo, const Dims& extents);

  size_t result_count() const { return results_.size(); }
  // Values that a result does not leave in the box; it may not take all of them.
  Range range(size_t result) const { return ranges_[static_cast<size_t>(results_[result])]; }
  // Axes that a result is a function of.
  uint32_t axes(size_t result) const { return axes_[static_cast<size_t>(results_[result])]; }
  std::optional<Affine> affine(size_t result) const;

  // The results at a step and those after it along `axis` (-1: none), as long as all are linear there: at `values` and
  // `slopes` more at each of the following steps. Returns how many steps that holds for, from 1 to `most`.
  int64_t segment(const Dims& step, int axis, int64_t most, std::span<int64_t> values, std::span<int64_t> slopes) const;
  size_t node_count() const { return nodes_.size(); }

 private:
  struct Part {
    int64_t value, slope, steps;
  };
  BoundIndexExpr() = default;
  bool bind(const IndexExpr& expr, const Dims& lo, const Dims& extents);
  std::optional<Range> range_of(const IndexExpr::Node& node) const;
  int folded(const IndexExpr::Node& node) const;
  int keep(const IndexExpr::Node& node, const Range& range);
  Part part_of(const IndexExpr::Node& node, const Dims& step, int axis, int64_t most) const;

  std::vector<IndexExpr::Node> nodes_;
  std::vector<Range> ranges_;
  std::vector<uint32_t> axes_;
  std::vector<int> results_;
  mutable std::vector<Part> parts_;
};

}  // namespace tilecheck
