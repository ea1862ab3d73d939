// Float arithmetic: edges by table, then every narrow type against f32 and one rounding.
#include "tests/unit/ops/tiles.h"

namespace tilecheck {
namespace {

class FloatOps : public OpsTest {};

TEST_F(FloatOps, FollowTheTable) {
  const struct {
    OpId op;
    double a, b, expected;
  } cases[] = {
      {OpId::addf, 1, 0x1p-24, 1},      {OpId::subf, kInf, kInf, kNan},     {OpId::mulf, 0, kInf, kNan},
      {OpId::divf, 1, 0, kInf},         {OpId::divf, -1, 0, -kInf},         {OpId::divf, 0, 0, kNan},
      {OpId::remf, -7.5, 2, -1.5},      {OpId::remf, 7.5, -2, 1.5},         {OpId::remf, 1, 0, kNan},
      {OpId::maximumf, 1, kNan, kNan},  {OpId::maximumf, kNan, 1, kNan},    {OpId::maximumf, -0.0, 0.0, 0.0},
      {OpId::maximumf, 0.0, -0.0, 0.0}, {OpId::minimumf, 0.0, -0.0, -0.0},  {OpId::minimumf, kNan, -kInf, kNan},
      {OpId::maxnumf, 1, kNan, 1},      {OpId::maxnumf, kNan, 1, 1},        {OpId::minnumf, kNan, kNan, kNan},
      {OpId::copysign, 3, -0.0, -3},    {OpId::negf, 0, 0, -0.0},           {OpId::absf, -0.0, 0, 0},
      {OpId::ceil, -0.5, 0, -0.0},      {OpId::floor, -0.5, 0, -1},         {OpId::round, 2.5, 0, 3},
      {OpId::round, -2.5, 0, -3},       {OpId::round, 0x1.fffffep-2, 0, 0}, {OpId::roundeven, 2.5, 0, 2},
      {OpId::roundeven, 3.5, 0, 4},     {OpId::trunc, -2.7, 0, -2},         {OpId::reciprocal, 3, 0, 0x1.555556p-2},
      {OpId::is_weird, kInf, 0, 1},     {OpId::is_weird, kNan, 0, 1},       {OpId::is_weird, 1e38, 0, 0},
      {OpId::rsqrt, 4, 0, 0.5},         {OpId::rsqrt, 0, 0, kInf},          {OpId::sqrt, -1, 0, kNan},
  };
  for (const auto& c : cases)
    for (DType dtype : {DType::f32, DType::f64}) {
      if (dtype == DType::f64 && (c.b == 0x1p-24 || c.expected == 0x1.555556p-2)) continue;
      std::vector<Tile> scalars = {Tile::scalar(context, dtype, c.a)};
      std::vector<Tile> tiles = {tile(dtype, std::vector<double>(9, c.a))};
      if (info(c.op).max_operands == 2) {
        scalars.push_back(Tile::scalar(context, dtype, c.b));
        tiles.push_back(tile(dtype, std::vector<double>(9, c.b)));
      }
      EXPECT_THAT(values_of(run({.op = c.op}, scalars)), SameValues(std::vector<double>{c.expected}))
          << info(c.op).name << " " << c.a << " " << c.b;
      EXPECT_THAT(values_of(run({.op = c.op}, tiles)), SameValues(std::vector<double>(9, c.expected)))
          << info(c.op).name << " " << c.a << " " << c.b;
    }
}

TEST_F(FloatOps, ApproximateReciprocalGoesThroughBf16) {
  const OpCall call{.op = OpId::reciprocal, .approx = true};
  const Tile result = run(call, {tile(DType::f32, {3, 1.00390625, 0, -kInf})});
  EXPECT_THAT(values_of(result), SameValues(std::vector<double>{0.333984375, 1, kInf, -0.0}));
}

TEST_F(FloatOps, FmaRoundsOnce) {
  const double x = 1 + 0x1p-12;
  const Tile a = tile(DType::f32, {x});
  EXPECT_EQ(run({.op = OpId::fma}, {a, a, tile(DType::f32, {-1})}).at(0), 0x1p-11 + 0x1p-24);
  EXPECT_EQ((a * a - 1.0).at(0), 0x1p-11);
}

TEST_F(FloatOps, CompareFollowsThePredicate) {
  const std::vector<double> a = {1, 2, 1, kNan, 1}, b = {1, 1, 2, 1, kNan};
  const struct {
    Predicate predicate;
    std::vector<double> expected;
  } cases[] = {
      {Predicate::false_, {0, 0, 0, 0, 0}}, {Predicate::oeq, {1, 0, 0, 0, 0}}, {Predicate::ogt, {0, 1, 0, 0, 0}},
      {Predicate::oge, {1, 1, 0, 0, 0}},    {Predicate::olt, {0, 0, 1, 0, 0}}, {Predicate::ole, {1, 0, 1, 0, 0}},
      {Predicate::one, {0, 1, 1, 1, 1}},  // machine rule 24
      {Predicate::ord, {1, 1, 1, 0, 0}},    {Predicate::ueq, {1, 0, 0, 1, 1}}, {Predicate::ugt, {0, 1, 0, 1, 1}},
      {Predicate::uge, {1, 1, 0, 1, 1}},    {Predicate::ult, {0, 0, 1, 1, 1}}, {Predicate::ule, {1, 0, 1, 1, 1}},
      {Predicate::une, {0, 1, 1, 1, 1}},    {Predicate::uno, {0, 0, 0, 1, 1}}, {Predicate::true_, {1, 1, 1, 1, 1}},
  };
  for (const auto& c : cases)
    for (DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f8e5m2})
      EXPECT_EQ(values_of(run({.op = OpId::cmpf, .predicate = c.predicate}, {tile(dtype, a), tile(dtype, b)})),
                c.expected)
          << static_cast<int>(c.predicate) << " " << dtype;
}

TEST_F(FloatOps, NarrowArithmeticIsF32WithOneRounding) {
  const OpId ops[] = {OpId::addf, OpId::subf, OpId::mulf, OpId::divf, OpId::maximumf, OpId::minimumf, OpId::copysign};
  for (DType dtype : {DType::bf16, DType::f16, DType::f8e4m3fn, DType::f8e5m2, DType::f8e4m3b11fnuz, DType::f4e2m1fn}) {
    std::mt19937_64 random(3);
    Tile a = Tile::dense(context, dtype, {3000}), b = Tile::dense(context, dtype, {3000});
    const size_t bytes = static_cast<size_t>(storage_bytes(dtype));
    for (Tile* t : {&a, &b})
      for (size_t i = 0; i < 3000; ++i) {
        const uint64_t element = random() & ((uint64_t{1} << bits(dtype)) - 1);
        std::memcpy(t->writable_bytes() + i * bytes, &element, bytes);
      }
    const Tile wide_a = convert(a, DType::f32), wide_b = convert(b, DType::f32);
    for (OpId op : ops) {
      const Tile expected = convert(run({.op = op}, {wide_a, wide_b}), dtype);
      EXPECT_EQ(bits_of(run({.op = op}, {a, b})), bits_of(expected)) << info(op).name << " " << dtype;
      const Tile left = Tile::scalar(context, dtype, a.at(1));
      const Tile expected_left =
          convert(run({.op = op}, {Tile::scalar(context, DType::f32, left.value()), wide_b}), dtype);
      EXPECT_EQ(bits_of(run({.op = op}, {left, b})), bits_of(expected_left)) << info(op).name << " " << dtype;
    }
    EXPECT_EQ(values_of(lt(a, b)), values_of(lt(wide_a, wide_b))) << dtype;
  }
}

TEST_F(FloatOps, SelectTakesWholeSidesAndElements) {
  const Tile a = tile(DType::f32, {1, 2, 3}), b = tile(DType::f32, {-1, -2, -3}), mask = tile(DType::b1, {1, 0, 1});
  EXPECT_EQ(values_of(select(mask, a, b)), (std::vector<double>{1, -2, 3}));
  EXPECT_EQ(values_of(select(Tile::scalar(context, DType::b1, 0), a, b)), values_of(b));
  EXPECT_EQ(values_of(select(mask, Tile::scalar(context, DType::f32, 9), b)), (std::vector<double>{9, -2, 9}));
  EXPECT_EQ(values_of(select(mask, a, Tile::scalar(context, DType::f32, 9))), (std::vector<double>{1, 9, 3}));
  for (DType dtype : {DType::f64, DType::bf16, DType::i8, DType::b1})
    EXPECT_EQ(values_of(select(mask, tile(dtype, {1, 1, 1}), tile(dtype, {0, 0, 0}))), values_of(mask)) << dtype;
}

}  // namespace
}  // namespace tilecheck
