// Counting a factor's blocks from the coefficients of its indices, whatever the grid's size.
#pragma once

#include <optional>
#include <span>

#include "sim/spec/index_expr.h"
#include "sim/spec/traffic_factor.h"

namespace tilecheck {

// A number that grows by `step` along an axis of `count` points, both positive.
struct Stride {
  int64_t step, count;
};

// The values of a sum of strides, each once.
class StrideValues {
 public:
  // None where it cannot be told from the strides which sums meet.
  static std::optional<StrideValues> of(std::vector<Stride> strides);
  // How many are at most `limit`.
  Wide at_most(Wide limit) const;

 private:
  std::vector<Stride> digits_;  // rising; each step is more than all before it come to
};

// How many points of a box have a sum of strides of at most `limit`. None where that takes more than `budget` looks.
std::optional<Wide> points_at_most(std::span<const Stride> rising, Wide limit, int64_t& budget);

// indices: by dimension of `blocks`. None where a block's elements follow from several indices at once that leave the
// array or end in a part of a block, or it would take more than some thousand looks: walk_factor counts these.
std::optional<FactorCounts> count_affine_factor(const FactorBlocks& blocks, std::vector<FactorAxis> axes,
                                                std::span<const BoundIndexExpr::Affine> indices);

}  // namespace tilecheck
