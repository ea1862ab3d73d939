// Operations that run together give the bits of one after another.
#include "sim/ops/chain.h"

#include "tests/unit/ops/tiles.h"

namespace tilecheck {
namespace {

class ChainTest : public OpsTest {
 protected:
  // The steps over strips, where they may run so, and one whole-tile operation after another.
  void expect_same(const std::vector<ChainStep>& steps, const std::vector<Tile>& tiles, const char* what) {
    const Chain chain = {tiles[0].shape(), steps};
    std::vector<const Tile*> seen;
    for (const Tile& tile : tiles) seen.push_back(&tile);
    ASSERT_TRUE(can_run_chain(context, chain, seen)) << what;
    std::vector<std::vector<uint64_t>> before;
    for (const Tile& tile : tiles) before.push_back(bits_of(tile));
    Tile expected;
    for (const ChainStep& step : steps) {
      std::vector<Tile> operands;
      for (int k = 0; k < step.operand_count; ++k) {
        const int from = step.operands[static_cast<size_t>(k)];
        operands.push_back(from == kPrevious ? expected : tiles[static_cast<size_t>(from)]);
      }
      expected = apply(context, *step.call, operands);
    }
    std::vector<Tile> used = tiles;
    const Tile got = run_chain(context, chain, used);
    EXPECT_EQ(got.dtype(), expected.dtype()) << what;
    EXPECT_EQ(got.shape(), expected.shape()) << what;
    EXPECT_EQ(bits_of(got), bits_of(expected)) << what;
    for (size_t k = 0; k < tiles.size(); ++k) EXPECT_EQ(bits_of(tiles[k]), before[k]) << what << ", tile " << k;
  }
};

const OpCall kSub{.op = OpId::subf}, kMul{.op = OpId::mulf}, kAdd{.op = OpId::addf}, kExp{.op = OpId::exp};
const OpCall kLess{.op = OpId::cmpf, .dtype = DType::b1, .predicate = Predicate::olt};
const OpCall kSelect{.op = OpId::select}, kNarrow{.op = OpId::truncf, .dtype = DType::bf16};
const OpCall kWiden{.op = OpId::extf, .dtype = DType::f32}, kToInt{.op = OpId::fptosi, .dtype = DType::i32};
const OpCall kAddInt{.op = OpId::addi, .dtype = DType::i32};

TEST_F(ChainTest, EveryLayoutAndLength) {
  // Lengths around a vector, a strip and several of them.
  for (const Shape& shape : {Shape{1, 17}, Shape{3, 128}, Shape{64, 128}, Shape{5, 1000}, Shape{2, 3, 24}}) {
    Dims column = shape, row = shape;
    column.back() = 1;
    for (int d = 0; d + 1 < row.rank(); ++d) row[d] = 1;
    const Tile dense = random_tile(DType::f32, shape, 1), other = random_tile(DType::f32, shape, 2);
    const Tile rows = broadcast_to(random_tile(DType::f32, column, 3), shape);
    const Tile columns = broadcast_to(random_tile(DType::f32, row, 4), shape);
    const Tile number = Tile::splat(context, DType::f32, shape, 0.7);
    for (VectorIsa isa : {VectorIsa::best, VectorIsa::avx2}) {
      use_vector_isa(isa);
      for (const Tile& second : {other, rows, columns, number}) {
        const std::string what = to_string(shape) + ", layout " + std::to_string(static_cast<int>(second.layout()));
        expect_same({{&kSub, DType::f32, 2, {0, 1}}, {&kExp, DType::f32, 1, {kPrevious}}}, {dense, second},
                    what.c_str());
        expect_same({{&kMul, DType::f32, 2, {1, 0}}, {&kAdd, DType::f32, 2, {2, kPrevious}}}, {dense, second, other},
                    what.c_str());
        expect_same({{&kLess, DType::b1, 2, {0, 1}}, {&kSelect, DType::f32, 3, {kPrevious, 2, 1}}},
                    {dense, second, other}, what.c_str());
      }
      use_vector_isa(VectorIsa::best);
    }
  }
}

TEST_F(ChainTest, EveryWidthBetweenSteps) {
  const Tile dense = random_tile(DType::f32, {40, 128}, 1), halves = random_tile(DType::bf16, {40, 128}, 2);
  const Tile whole = random_tile(DType::i32, {40, 128}, 3, -100, 100);
  expect_same({{&kMul, DType::f32, 2, {0, 0}},
               {&kNarrow, DType::bf16, 1, {kPrevious}},
               {&kAdd, DType::bf16, 2, {kPrevious, 1}},
               {&kWiden, DType::f32, 1, {kPrevious}},
               {&kMul, DType::f32, 2, {kPrevious, kPrevious}},
               {&kToInt, DType::i32, 1, {kPrevious}},
               {&kAddInt, DType::i32, 2, {2, kPrevious}}},
              {dense, halves, whole}, "f32, bf16, i32");
}

TEST_F(ChainTest, TakesOverABlockThatNobodyElseNeeds) {
  const std::vector<ChainStep> steps = {{&kAdd, DType::f32, 2, {0, 1}}, {&kExp, DType::f32, 1, {kPrevious}}};
  Tile tiles[] = {random_tile(DType::f32, {8, 128}, 1), random_tile(DType::f32, {8, 128}, 2)};
  const Tile kept = tiles[0];
  const void* second = tiles[1].data<float>();
  EXPECT_EQ(run_chain(context, {kept.shape(), steps}, tiles).data<void>(), second);
}

TEST_F(ChainTest, NotOfWhatItWouldGetWrong) {
  const std::vector<ChainStep> steps = {{&kAdd, DType::f32, 2, {0, 1}}, {&kExp, DType::f32, 1, {kPrevious}}};
  const Tile a = random_tile(DType::f32, {4, 64}, 1);
  const Chain chain = {a.shape(), steps};
  const auto may = [&](const Tile& b) {
    const Tile* tiles[] = {&a, &b};
    return can_run_chain(context, chain, tiles);
  };
  EXPECT_TRUE(may(a));
  EXPECT_FALSE(may(shadowed(random_tile(DType::f32, {4, 64}, 2), std::vector<int>(256, 1))));
  EXPECT_FALSE(may(Tile::shape_only(context, DType::f32, a.shape())));
  context.numerics = Numerics::f64;
  EXPECT_FALSE(may(a));
}

// Counts what it is told.
struct Seen : OpObserver {
  std::vector<std::pair<OpId, int64_t>> ops;
  void on_op(const OpCall& call, std::span<const Tile>, const Tile& result) override {
    ops.emplace_back(call.op, result.size());
  }
};

TEST_F(ChainTest, TheObserverIsToldOfEachStep) {
  Seen seen;
  const std::vector<ChainStep> steps = {{&kAdd, DType::f32, 2, {0, 1}}, {&kExp, DType::f32, 1, {kPrevious}}};
  Tile tiles[] = {random_tile(DType::f32, {8, 128}, 1), random_tile(DType::f32, {8, 128}, 2)};
  context.observer = &seen;
  run_chain(context, {tiles[0].shape(), steps}, tiles);
  EXPECT_THAT(seen.ops,
              testing::ElementsAre(std::pair(OpId::addf, int64_t{1024}), std::pair(OpId::exp, int64_t{1024})));
}

TEST_F(ChainTest, AFactorAndAnAddendJoinTheProductLast) {
  const int64_t shapes[][3] = {{1, 1, 1},   {3, 5, 7},    {8, 32, 16},  {7, 33, 300},
                               {13, 50, 9}, {64, 64, 64}, {17, 47, 513}};
  const OpCall product{.op = OpId::matmul, .dtype = DType::f32, .dot = DotDims::plain()};
  for (const auto& [m, n, k] : shapes)
    for (DType dtype : {DType::f32, DType::bf16})
      for (Numerics numerics : {Numerics::exact, Numerics::mxu}) {
        context.numerics = numerics;
        const Tile a = random_tile(dtype, {m, k}, 1), b = random_tile(dtype, {k, n}, 2);
        const Tile addend = random_tile(DType::f32, {m, n}, 3), start = random_tile(DType::f32, {m, n}, 4);
        const Tile rows = broadcast_to(random_tile(DType::f32, {m, 1}, 5), {m, n});
        const Tile number = Tile::splat(context, DType::f32, {m, n}, 0.7);
        for (VectorIsa isa : {VectorIsa::best, VectorIsa::avx2}) {
          use_vector_isa(isa);
          for (const std::vector<Tile>& operands : {std::vector<Tile>{a, b}, std::vector<Tile>{a, b, start}})
            for (const Tile& factor : {Tile(), rows, number})
              for (const Tile& last : {Tile(), addend}) {
                std::vector<const Tile*> seen;
                for (const Tile& operand : operands) seen.push_back(&operand);
                const bool scales = factor.has_value(), adds = last.has_value();
                if (!can_end_matmul(context, product, seen, scales ? &factor : nullptr, adds ? &last : nullptr)) {
                  EXPECT_EQ(factor.layout(), Layout::dense) << "rows too short to stay a repeat";
                  continue;
                }
                std::vector<Tile> used = operands;
                const Tile got = apply_ended(context, product, used,
                                             {scales ? &kMul : nullptr, factor, adds ? &kAdd : nullptr, last});
                Tile expected = run(product, operands);
                if (scales) expected = expected * factor;
                if (adds) expected = last + expected;
                EXPECT_EQ(bits_of(got), bits_of(expected)) << m << "x" << n << "x" << k;
              }
          use_vector_isa(VectorIsa::best);
        }
      }
}

TEST_F(ChainTest, OnlyFactorsOfRowsJoinAProduct) {
  const OpCall product{.op = OpId::matmul, .dtype = DType::f32, .dot = DotDims::plain()};
  const Tile a = random_tile(DType::f32, {64, 8}, 1), b = random_tile(DType::f32, {8, 64}, 2);
  const Tile* operands[] = {&a, &b};
  const auto may = [&](const Tile& factor) { return can_end_matmul(context, product, operands, &factor, nullptr); };
  EXPECT_TRUE(may(broadcast_to(random_tile(DType::f32, {64, 1}, 3), {64, 64})));
  EXPECT_FALSE(may(broadcast_to(random_tile(DType::f32, {1, 64}, 3), {64, 64})));
  EXPECT_FALSE(may(random_tile(DType::f32, {64, 64}, 3)));
  EXPECT_FALSE(may(shadowed(Tile::splat(context, DType::f32, {64, 64}, 2), std::vector<int>(64 * 64, 15))));
}

}  // namespace
}  // namespace tilecheck
