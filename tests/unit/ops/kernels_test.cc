// The computations that kernels are made of, in one piece each.
#include "tests/unit/ops/tiles.h"

namespace tilecheck {
namespace {

class KernelOps : public OpsTest {};

TEST_F(KernelOps, ReluOf2xPlus1) {
  const Tile x = tile(DType::f32, {-3, -0.5, 0, 1, 2, 3});
  EXPECT_THAT(values_of(maximum(x * 2 + 1, 0)), SameValues(std::vector<double>{0, 0, 1, 3, 5, 7}));
}

TEST_F(KernelOps, FlashAttentionMatchesSoftmaxInDouble) {
  const int64_t rows = 24, keys = 40, depth = 16, block = 8;
  const Tile q = random_tile(DType::f32, {rows, depth}, 1), k = random_tile(DType::f32, {keys, depth}, 2),
             v = random_tile(DType::f32, {keys, depth}, 3);
  Tile m = Tile::splat(context, DType::f32, {rows, 1}, -kInf), l = Tile::splat(context, DType::f32, {rows, 1}, 0);
  Tile acc = Tile::splat(context, DType::f32, {rows, depth}, 0);
  for (int64_t j = 0; j < keys; j += block) {
    const Tile s = matmul(q, slice(k, {j, 0}, {block, depth}), DotDims::transposed_rhs());
    const Tile new_m = maximum(m, reduce_max(s, {1}, true));
    const Tile p = exp(s - new_m), alpha = exp(m - new_m);
    l = l * alpha + reduce_sum(p, {1}, true);
    acc = matmul(p, slice(v, {j, 0}, {block, depth}), DotDims::plain(), acc * alpha);
    m = new_m;
  }
  const Tile out = acc / l;
  for (int64_t i = 0; i < rows; ++i) {
    std::vector<double> weights;
    double total = 0;
    for (int64_t j = 0; j < keys; ++j) {
      double s = 0;
      for (int64_t d = 0; d < depth; ++d) s += q.at(i * depth + d) * k.at(j * depth + d);
      weights.push_back(std::exp(s));
      total += weights.back();
    }
    for (int64_t d = 0; d < depth; ++d) {
      double expected = 0;
      for (int64_t j = 0; j < keys; ++j) expected += weights[static_cast<size_t>(j)] / total * v.at(j * depth + d);
      EXPECT_NEAR(out.at(i * depth + d), expected, 2e-6) << i << " " << d;
    }
  }
}

TEST_F(KernelOps, LoopsRecycleTheirBlocks) {
  const Tile x = random_tile(DType::f32, {64, 128}, 1);
  Tile acc = Tile::splat(context, DType::f32, {64, 128}, 0);
  for (int i = 0; i < 2; ++i) acc = acc + exp(x - reduce_max(x, {1}, true)) * 0.5;
  const int64_t held = pool.held_bytes();
  for (int i = 0; i < 100; ++i) acc = acc + exp(x - reduce_max(x, {1}, true)) * 0.5;
  EXPECT_EQ(pool.held_bytes(), held);
}

}  // namespace
}  // namespace tilecheck
