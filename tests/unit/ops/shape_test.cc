// Operations that move elements: each against plain index arithmetic, with elements 0, 1, 2, ... and their shadow.
#include "tests/unit/ops/tiles.h"

namespace tilecheck {
namespace {

class ShapeOps : public OpsTest {
 protected:
  // 0, 1, 2, ... row-major; element 1 is undefined.
  Tile counted(const Shape& shape, bool shadow = false, DType dtype = DType::f32) {
    std::vector<double> values;
    for (int64_t i = 0; i < element_count(shape); ++i) values.push_back(static_cast<double>(i));
    Tile result = tile(dtype, shape, values);
    if (!shadow) return result;
    std::vector<int> bytes(values.size(), 0);
    bytes[1] = 15;
    return shadowed(result, bytes);
  }
  // What the result says came from where, with the undefined element marked.
  void expect(const Tile& result, const Shape& shape, const std::vector<double>& values) {
    EXPECT_EQ(result.shape(), shape);
    EXPECT_EQ(values_of(result), values);
  }
};

TEST_F(ShapeOps, MoveElements) {
  for (bool shadow : {false, true}) {
    const Tile x = counted({2, 3}, shadow);
    const struct {
      const char* what;
      Tile result;
      Shape shape;
      std::vector<double> values;
    } cases[] = {
        {"transpose", transpose(x), {3, 2}, {0, 3, 1, 4, 2, 5}},
        {"reshape", reshape(x, {3, 2}), {3, 2}, {0, 1, 2, 3, 4, 5}},
        {"broadcast rows", broadcast_to(slice(x, {0, 0}, {1, 3}), {2, 3}), {2, 3}, {0, 1, 2, 0, 1, 2}},
        {"broadcast columns", broadcast_to(slice(x, {0, 1}, {2, 1}), {2, 2}), {2, 2}, {1, 1, 4, 4}},
        {"broadcast to rank 3", broadcast_to(x, {2, 2, 3}), {2, 2, 3}, {0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5}},
        {"slice", slice(x, {0, 1}, {2, 2}), {2, 2}, {1, 2, 4, 5}},
        {"strided slice", slice(x, {0, 0}, {2, 2}, {1, 2}), {2, 2}, {0, 2, 3, 5}},
        {"empty slice", slice(x, {0, 3}, {2, 0}), {2, 0}, {}},
        {"concatenate rows",
         concatenate(std::vector<Tile>{x, slice(x, {1, 0}, {1, 3})}, 0),
         {3, 3},
         {0, 1, 2, 3, 4, 5, 3, 4, 5}},
        {"concatenate columns",
         concatenate(std::vector<Tile>{slice(x, {0, 2}, {2, 1}), x}, 1),
         {2, 4},
         {2, 0, 1, 2, 5, 3, 4, 5}},
        {"rotate columns", rotate(x, 1, 1), {2, 3}, {2, 0, 1, 5, 3, 4}},
        {"rotate rows", rotate(x, 1, 0), {2, 3}, {3, 4, 5, 0, 1, 2}},
        {"rotate by more than the extent", rotate(x, 7, 1), {2, 3}, {2, 0, 1, 5, 3, 4}},
        {"rotate back", rotate(x, -1, 1), {2, 3}, {1, 2, 0, 4, 5, 3}},
        {"repeat", repeat(x, 2, 1), {2, 6}, {0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5}},
        {"repeat rows", repeat(x, 2, 0), {4, 3}, {0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5}},
        {"take along columns", take_along_axis(x, tile(DType::i32, {2, 2}, {2, 0, -1, 4}), 1), {2, 2}, {2, 0, 5, 4}},
        {"take along rows", take_along_axis(x, tile(DType::i32, {1, 3}, {1, 0, 1}), 0), {1, 3}, {3, 1, 5}},
        {"insert",
         run({.op = OpId::insert_slice, .dims = {1, 1}}, {tile(DType::f32, {1, 2}, {8, 9}), x}),
         {2, 3},
         {0, 1, 2, 3, 8, 9}},
        {"strided rotate",
         run({.op = OpId::rotate, .axis = 1, .amount = 1, .stride_axis = 0},
             {x, Tile::scalar_int(context, DType::i32, 1)}),
         {2, 3},
         {2, 0, 1, 4, 5, 3}},
    };
    for (const auto& c : cases) {
      SCOPED_TRACE(c.what);
      expect(c.result, c.shape, c.values);
      std::vector<int> expected;
      for (double v : c.values) expected.push_back(shadow && v == 1 ? 15 : 0);
      EXPECT_EQ(shadow_of(c.result), expected);
    }
  }
}

TEST_F(ShapeOps, PermutationsOfThreeDimensionsInEveryWidth) {
  for (DType dtype : {DType::u8, DType::i16, DType::f32, DType::f64}) {
    const Shape shape = {3, 20, 5};
    const Tile x = counted(shape, false, dtype);
    for (const Dims& p : {Dims{0, 1, 2}, Dims{0, 2, 1}, Dims{1, 0, 2}, Dims{1, 2, 0}, Dims{2, 0, 1}, Dims{2, 1, 0}}) {
      const Tile y = transpose(x, p);
      const Dims strides = row_major_strides(shape);
      int64_t at = 0;
      for (int64_t i = 0; i < y.shape()[0]; ++i)
        for (int64_t j = 0; j < y.shape()[1]; ++j)
          for (int64_t k = 0; k < y.shape()[2]; ++k, ++at)
            ASSERT_EQ(y.int_at(at), x.int_at(i * strides[static_cast<int>(p[0])] + j * strides[static_cast<int>(p[1])] +
                                             k * strides[static_cast<int>(p[2])]));
    }
  }
}

TEST_F(ShapeOps, IotaCountsItsDimensions) {
  expect(iota(context, DType::i32, {2, 3}, 1), {2, 3}, {0, 1, 2, 0, 1, 2});
  expect(iota(context, DType::f32, {2, 3}, 0), {2, 3}, {0, 0, 0, 1, 1, 1});
  const auto along = [&](const Dims& dims) {
    return apply(context, {.op = OpId::iota, .dtype = DType::i32, .shape = {2, 2, 2}, .dims = dims}, {});
  };
  expect(along({1, 2}), {2, 2, 2}, {0, 1, 2, 3, 0, 1, 2, 3});
  expect(along({0, 1}), {2, 2, 2}, {0, 0, 1, 1, 2, 2, 3, 3});
  expect(along({0, 2}), {2, 2, 2}, {0, 1, 0, 1, 2, 3, 2, 3});
  expect(along({2, 0}), {2, 2, 2}, {0, 2, 0, 2, 1, 3, 1, 3});
}

TEST_F(ShapeOps, BroadcastsAndIotasStayLazyAndAreUsedInPlace) {
  const Tile rows = iota(context, DType::i32, {64, 128}, 0), columns = iota(context, DType::i32, {64, 128}, 1);
  EXPECT_EQ(rows.layout(), Layout::repeated);
  EXPECT_EQ(columns.layout(), Layout::repeated);
  const Tile x = random_tile(DType::f32, {64, 1}, 1), wide = broadcast_to(x, {64, 128});
  EXPECT_EQ(wide.layout(), Layout::repeated);
  // A function of one repeat is computed once per period.
  EXPECT_EQ((columns + 5).layout(), Layout::repeated);
  EXPECT_EQ(exp(wide).layout(), Layout::repeated);
  // Two different ones give a dense tile.
  const Tile causal = select(ge(rows, columns), wide, Tile::scalar(context, DType::f32, -1));
  EXPECT_EQ(causal.layout(), Layout::dense);
  const Tile turned = transpose(wide), shaped = reshape(wide, {8, 8, 128});
  for (int64_t i = 0; i < 64; ++i)
    for (int64_t j = 0; j < 128; ++j) {
      ASSERT_EQ(causal.at(i * 128 + j), i >= j ? x.at(i) : -1);
      ASSERT_EQ(turned.at(j * 64 + i), x.at(i));
      ASSERT_EQ(shaped.at(i * 128 + j), x.at(i));
    }
  EXPECT_EQ(bits_of(wide.materialized()), bits_of(wide));
  float scratch[300];
  const float* strip = static_cast<const float*>(wide.strip(100, 300, scratch));
  for (int64_t i = 0; i < 300; ++i) ASSERT_EQ(strip[i], static_cast<float>(x.at((100 + i) / 128)));
  EXPECT_EQ(bits_of(reduce_sum(wide, {1})), bits_of(reduce_sum(wide.materialized(), {1})));
}

// How kernels widen row maxima that they keep along all lanes, and cut them to a column.
TEST_F(ShapeOps, RowsOfOneElementStayLazyWhenWidenedOrCut) {
  const Tile x = random_tile(DType::f32, {6, 1}, 1), wide = broadcast_to(x, {6, 128});
  const Tile other = broadcast_to(random_tile(DType::f32, {6, 1}, 2), {6, 128});
  const Tile y = random_tile(DType::f32, {128}, 3), down = broadcast_to(y, {6, 128});
  const struct {
    const char* what;
    Tile lazy, plain;
    Layout layout;
  } cases[] = {
      {"concatenate", concatenate(std::vector<Tile>{wide, wide, slice(wide, {0, 0}, {6, 40})}, 1),
       concatenate(std::vector<Tile>{wide.materialized(), wide, slice(wide, {0, 0}, {6, 40})}, 1), Layout::repeated},
      {"repeat", repeat(wide, 4, 1), repeat(wide.materialized(), 4, 1), Layout::repeated},
      {"repeat of both dimensions", repeat(reshape(wide, {6, 8, 16}), 3, 1),
       repeat(reshape(wide.materialized(), {6, 8, 16}), 3, 1), Layout::repeated},
      {"slice", slice(wide, {0, 8}, {6, 64}), slice(wide.materialized(), {0, 8}, {6, 64}), Layout::repeated},
      {"slice to a column", slice(wide, {0, 3}, {6, 1}), slice(wide.materialized(), {0, 3}, {6, 1}), Layout::dense},
      {"slice of a middle dimension", slice(reshape(wide, {6, 8, 16}), {0, 2, 0}, {6, 3, 16}),
       slice(reshape(wide.materialized(), {6, 8, 16}), {0, 2, 0}, {6, 3, 16}), Layout::repeated},
      {"slice of rows", slice(wide, {1, 0}, {3, 128}), slice(wide.materialized(), {1, 0}, {3, 128}), Layout::dense},
      {"concatenate of different rows", concatenate(std::vector<Tile>{wide, other}, 1),
       concatenate(std::vector<Tile>{wide.materialized(), other.materialized()}, 1), Layout::dense},
      {"concatenate along the rows", concatenate(std::vector<Tile>{wide, wide}, 0),
       concatenate(std::vector<Tile>{wide.materialized(), wide}, 0), Layout::dense},
      {"repeat of equal rows", repeat(down, 2, 1), repeat(down.materialized(), 2, 1), Layout::dense},
      {"slice of equal rows", slice(down, {0, 8}, {6, 64}), slice(down.materialized(), {0, 8}, {6, 64}), Layout::dense},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.what);
    EXPECT_EQ(c.lazy.layout(), c.layout);
    EXPECT_EQ(c.lazy.shape(), c.plain.shape());
    EXPECT_EQ(bits_of(c.lazy), bits_of(c.plain));
  }
}

TEST_F(ShapeOps, SplatsStayScalars) {
  const Tile x = Tile::splat(context, DType::f32, {4, 8}, 3);
  for (const Tile& t : {transpose(x), reshape(x, {32}), slice(x, {1, 1}, {2, 2}), repeat(x, 3, 0), rotate(x, 1, 1),
                        broadcast_to(x, {2, 4, 8}), concatenate(std::vector<Tile>{x, x}, 0), x + 1, exp(x), x * x}) {
    EXPECT_EQ(t.layout(), Layout::splat);
    EXPECT_EQ(values_of(t), std::vector<double>(static_cast<size_t>(t.size()), t.at(0)));
  }
}

TEST_F(ShapeOps, ReuseOperandsThatNobodyElseOwns) {
  Tile x = random_tile(DType::f32, {8, 8}, 1);
  const float* block = x.data<float>();
  x = std::move(x) + 1.0;
  EXPECT_EQ(x.data<float>(), block);
  const Tile kept = x;
  x = std::move(x) + 1.0;
  EXPECT_NE(x.data<float>(), block);
  EXPECT_EQ(x.at(3), static_cast<float>(static_cast<float>(kept.at(3)) + 1));
}

}  // namespace
}  // namespace tilecheck
