// Reductions: values by table, sums against the definition of their order, extremes against a plain scan.
#include "tests/unit/ops/tiles.h"

namespace tilecheck {
namespace {

class Reductions : public OpsTest {
 protected:
  Tile reduced(OpId op, const Tile& x, const Dims& axes) { return run({.op = op, .dims = axes}, {x}); }
};

TEST_F(Reductions, FollowTheTable) {
  const Tile x = tile(DType::f32, {2, 3}, {1, 2, 3, 4, 5, 6});
  const Tile i = tile(DType::i32, {2, 3}, {12, 10, 6, -1, 3, 5});
  const struct {
    OpId op;
    Tile in;
    Dims axes;
    std::vector<double> expected;
  } cases[] = {
      {OpId::reduce_add, x, {1}, {6, 15}},
      {OpId::reduce_add, x, {0}, {5, 7, 9}},
      {OpId::reduce_add, x, {0, 1}, {21}},
      {OpId::reduce_add, x, {}, {1, 2, 3, 4, 5, 6}},
      {OpId::reduce_mul, x, {1}, {6, 120}},
      {OpId::reduce_max, x, {0}, {4, 5, 6}},
      {OpId::reduce_min, x, {1}, {1, 4}},
      {OpId::reduce_add, i, {1}, {28, 7}},
      {OpId::reduce_max, i, {1}, {12, 5}},
      {OpId::reduce_maxu, i, {1}, {12, -1}},
      {OpId::reduce_min, i, {1}, {6, -1}},
      {OpId::reduce_minu, i, {1}, {6, 3}},
      {OpId::reduce_and, i, {1}, {0, 1}},
      {OpId::reduce_or, i, {1}, {14, -1}},
      {OpId::reduce_xor, i, {1}, {0, -7}},
      {OpId::reduce_and, tile(DType::b1, {3}, {1, 1, 1}), {0}, {1}},
      {OpId::reduce_or, tile(DType::b1, {3}, {0, 1, 0}), {0}, {1}},
      {OpId::reduce_add, tile(DType::i8, {3}, {100, 100, 100}), {0}, {44}},
      {OpId::reduce_add, tile(DType::i4, {3}, {7, 7, 7}), {0}, {5}},
      {OpId::reduce_max, tile(DType::i4, {3}, {-8, -1, -3}), {0}, {-1}},
      {OpId::reduce_max, tile(DType::f32, {3}, {1, kNan, 3}), {0}, {kNan}},
      {OpId::reduce_max, tile(DType::f32, {2}, {-kInf, -kInf}), {0}, {-kInf}},
      {OpId::reduce_max, tile(DType::f32, {2}, {-0.0, 0.0}), {0}, {0.0}},
      {OpId::reduce_min, tile(DType::f32, {2}, {0.0, -0.0}), {0}, {-0.0}},
      {OpId::reduce_add, tile(DType::f32, {0, 2}, {}), {0}, {0, 0}},
      {OpId::reduce_max, tile(DType::f32, {0, 2}, {}), {0}, {-kInf, -kInf}},
      {OpId::reduce_add, tile(DType::bf16, {3}, {256, 1, 1}), {0}, {258}},  // in f32, rounded once
  };
  for (const auto& c : cases) {
    const Tile result = reduced(c.op, c.in, c.axes);
    EXPECT_THAT(values_of(result), SameValues(c.expected)) << info(c.op).name << " over " << to_tuple(c.axes);
    EXPECT_EQ(result.dtype(), c.in.dtype());
    EXPECT_EQ(result.layout() == Layout::splat, c.axes.rank() == c.in.rank());
  }
}

// The order that defines a sum along trailing axes.
template <class T>
T laned_sum(const std::vector<double>& row) {
  T lanes[16] = {};
  for (size_t i = 0; i < row.size(); ++i) lanes[i % 16] += static_cast<T>(row[i]);
  for (int half = 8; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  return lanes[0];
}

TEST_F(Reductions, SumsHaveOneOrderWithEitherInstructionSet) {
  for (int64_t n : {1, 3, 15, 16, 17, 64, 100, 128, 1000})
    for (int64_t rows : {1, 2, 5, 9}) {
      const Tile x = random_tile(DType::f32, {rows, n}, static_cast<uint64_t>(n), -1, 1);
      for (VectorIsa isa : {VectorIsa::best, VectorIsa::avx2}) {
        use_vector_isa(isa);
        const Tile sums = reduce_sum(x, {1}), turned = reduce_sum(transpose(x), {0});
        for (int64_t r = 0; r < rows; ++r) {
          std::vector<double> row;
          float running = 0;
          for (int64_t i = 0; i < n; ++i) {
            row.push_back(x.at(r * n + i));
            running += static_cast<float>(row.back());
          }
          ASSERT_EQ(sums.at(r), laned_sum<float>(row)) << rows << "x" << n;
          ASSERT_EQ(turned.at(r), rows > 1 ? running : laned_sum<float>(row)) << rows << "x" << n;
        }
      }
      use_vector_isa(VectorIsa::best);
    }
}

TEST_F(Reductions, AnyAxesMatchOneAtATime) {
  const Tile x = random_tile(DType::i32, {3, 4, 5, 2}, 1, -100, 100);
  for (uint32_t mask = 1; mask < 16; ++mask) {
    Dims axes;
    for (int d = 0; d < 4; ++d)
      if (mask >> d & 1) axes.push_back(d);
    for (OpId op : {OpId::reduce_add, OpId::reduce_max}) {
      Tile expected = x;
      for (int i = axes.rank() - 1; i >= 0; --i) expected = reduced(op, expected, {axes[i]});
      EXPECT_EQ(values_of(reduced(op, x, axes)), values_of(expected)) << to_tuple(axes);
    }
  }
}

TEST_F(Reductions, JoinAnAccumulator) {
  const Tile x = tile(DType::f32, {2, 2}, {1, 2, 3, 4});
  const OpCall call{.op = OpId::reduce_add, .dims = {1}};
  EXPECT_EQ(values_of(run(call, {x, tile(DType::f32, {2}, {10, 20})})), (std::vector<double>{13, 27}));
  EXPECT_EQ(values_of(run(call, {x, Tile::splat(context, DType::f32, {2}, 0)})), (std::vector<double>{3, 7}));
  const OpCall max{.op = OpId::reduce_max, .dims = {0, 1}};
  EXPECT_EQ(run(max, {x, Tile::scalar(context, DType::f32, 9)}).value(), 9);
  EXPECT_EQ(run(max, {x, Tile::scalar(context, DType::f32, -kInf)}).value(), 4);
}

TEST_F(Reductions, KeepDimsAndNegativeAxes) {
  const Tile x = tile(DType::f32, {2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(reduce_max(x, {-1}, true).shape(), (Shape{2, 1}));
  EXPECT_EQ(values_of(reduce_min(x, {-2})), (std::vector<double>{1, 2}));
  EXPECT_EQ(reduce_max(tile(DType::u8, {2}, {200, 3}), {0}).int_value(), 200);
}

TEST_F(Reductions, ArgmaxIsTheFirstOfEqualsAndTheFirstNan) {
  const struct {
    std::vector<double> values;
    int64_t largest, smallest;
  } cases[] = {
      {{1, 3, 3, 0, 0}, 1, 3},
      {{1, kNan, 3, kNan, 0}, 1, 1},
      {{-kInf, -kInf, -kInf, -kInf, -kInf}, 0, 0},
      {{0, -0.0, 0, 0, 0}, 0, 0},
  };
  for (const auto& c : cases)
    for (DType dtype : {DType::f32, DType::bf16}) {
      EXPECT_EQ(argmax(tile(dtype, {1, 5}, c.values), 1).int_at(0), c.largest);
      EXPECT_EQ(argmin(tile(dtype, {5, 1}, c.values), 0).int_at(0), c.smallest);
    }
  const Tile x = random_tile(DType::i16, {7, 9, 4}, 3, -50, 50);
  const Tile found = argmax(x, 1);
  EXPECT_EQ(found.dtype(), DType::i32);
  for (int64_t a = 0; a < 7; ++a)
    for (int64_t b = 0; b < 4; ++b) {
      int64_t best = 0;
      for (int64_t r = 1; r < 9; ++r)
        if (x.int_at((a * 9 + r) * 4 + b) > x.int_at((a * 9 + best) * 4 + b)) best = r;
      EXPECT_EQ(found.int_at(a * 4 + b), best);
    }
}

}  // namespace
}  // namespace tilecheck
