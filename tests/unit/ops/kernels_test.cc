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

TEST_F(KernelOps, StripsInPiecesGiveTheBitsOfWholeTiles) {
  // logistic(x * s) + y, converted: a chain as a fused loop runs it, in strips of several lengths.
  struct Link {
    OpCall call;
    DType operand, result;
  };
  for (DType dtype : {DType::f32, DType::bf16, DType::f16, DType::f64}) {
    const Link chain[] = {{{.op = OpId::mulf}, dtype, dtype},
                          {{.op = OpId::logistic}, dtype, dtype},
                          {{.op = OpId::addf}, dtype, dtype},
                          {{.op = OpId::fptosi, .dtype = DType::i8}, dtype, DType::i8}};
    const Tile x = random_tile(dtype, {7, 131}, 1, -90, 90), y = random_tile(dtype, {7, 131}, 2, -90, 90);
    const Tile s = Tile::scalar(context, dtype, 0.3);
    const Tile scaled = run(chain[0].call, {x, s}), squashed = run(chain[1].call, {scaled});
    const Tile sum = run(chain[2].call, {squashed, y}), whole = run(chain[3].call, {sum});
    const int bytes = storage_bytes(dtype);
    for (int64_t length : {1, 5, 64, 300, 917}) {
      std::vector<int8_t> out(static_cast<size_t>(x.size()));
      std::vector<double> strip(static_cast<size_t>(length));
      const uint64_t splat = s.splat_bits();
      for (int64_t at = 0; at < x.size(); at += length) {
        const int64_t n = std::min(length, x.size() - at);
        const void* first[] = {x.data<std::byte>() + at * bytes, &splat};
        strip_fn(chain[0].call.op, dtype, dtype)({first, 2, strip.data(), n, &chain[0].call});
        const void* second[] = {strip.data()};
        strip_fn(chain[1].call.op, dtype, dtype)({second, 0, strip.data(), n, &chain[1].call});
        const void* third[] = {strip.data(), y.data<std::byte>() + at * bytes};
        strip_fn(chain[2].call.op, dtype, dtype)({third, 0, strip.data(), n, &chain[2].call});
        strip_fn(chain[3].call.op, dtype, DType::i8)({second, 0, out.data() + at, n, &chain[3].call});
      }
      for (int64_t i = 0; i < x.size(); ++i) ASSERT_EQ(out[static_cast<size_t>(i)], whole.int_at(i)) << dtype;
    }
  }
}

}  // namespace
}  // namespace tilecheck
