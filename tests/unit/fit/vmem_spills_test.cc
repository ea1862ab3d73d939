// Spills of small bodies, each beside a twin that spills nothing, against what libtpu 0.0.42.1 does with the same.
#include "sim/fit/vmem_spills.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "body_maker.h"

namespace tilecheck::fit {
namespace {

int64_t spilled(const Body& body, const char* target) {
  const Target& t = target_named(target);
  return spill_estimate(body, buffer_survival(body), t).bytes / t.vector_register_bytes();
}
void expect_near(int64_t estimate, int64_t truth) {
  EXPECT_NEAR(static_cast<double>(estimate), static_cast<double>(truth), 0.02 * static_cast<double>(truth));
}

void expect_within(int64_t estimate, int64_t truth, int64_t registers, const std::string& what = "") {
  EXPECT_LE(std::abs(estimate - truth), registers) << what << ": " << estimate << " for " << truth;
}

// o = x * x + x
Body multiply_add(DType dtype) {
  BodyMaker m;
  const ValueId x = m.load(m.ref(dtype, {592, 2048}));
  m.store(m.ref(dtype, {592, 2048}, Space::vmem, RefRoot::window, 1), m.binary(Fn::add, m.binary(Fn::mul, x, x), x));
  return m.body;
}

TEST(VmemSpills, OldChipsUnpackHalves) {
  expect_near(spilled(multiply_add(DType::bf16), "v3"), 2352);
  EXPECT_EQ(spilled(multiply_add(DType::f32), "v3"), 0);
  for (const char* newer : {"v4", "v5e", "v6e"}) EXPECT_EQ(spilled(multiply_add(DType::bf16), newer), 0);
}

Body copy(const Shape& shape, DType dtype) {
  BodyMaker m;
  const ValueId x = m.load(m.ref(dtype, shape));
  m.store(m.ref(dtype, shape, Space::vmem, RefRoot::window, 1), x);
  return m.body;
}

TEST(VmemSpills, V4UnpacksBytesWithLooseLanes) {
  expect_near(spilled(copy({1600, 680}, DType::i8), "v4"), 1180);
  expect_near(spilled(copy({4, 1216, 120}, DType::i8), "v4"), 587);
  EXPECT_EQ(spilled(copy({1600, 640}, DType::i8), "v4"), 0);  // whole lanes
  EXPECT_EQ(spilled(copy({1200, 120}, DType::i8), "v4"), 0);  // rows of no whole tile
  EXPECT_EQ(spilled(copy({1600, 680}, DType::bf16), "v4"), 0);
  for (const char* other : {"v3", "v5e"}) EXPECT_EQ(spilled(copy({1600, 680}, DType::i8), other), 0);
}

// for i in range(8): c = c + 1, the carry of this shape
Body loop(const Shape& shape) {
  BodyMaker m;
  const RefId in = m.ref(DType::f32, shape), out = m.ref(DType::f32, shape, Space::vmem, RefRoot::window, 1);
  const ValueId first = m.load(in), lo = m.scalar(0), hi = m.scalar(8), step = m.scalar(1);
  Block inner;
  const ValueId i = m.value(DType::i32, {}), carry = m.value(DType::f32, shape), sum = m.value(DType::f32, shape);
  inner.args = {i, carry};
  Op add;
  add.kind = OpKind::elementwise;
  add.fn = Fn::add;
  add.in = {carry, carry};
  add.out = {sum};
  inner.ops.push_back(add);
  inner.yields = {sum};
  const ValueId last = m.value(DType::f32, shape);
  Op& o = m.op(OpKind::loop);
  o.in = {lo, hi, step, first};
  o.out = {last};
  o.blocks = {inner};
  m.store(out, last);
  return m.body;
}

TEST(VmemSpills, LoopsHoldOldAndNew) {
  for (const char* target : {"v5e", "v6e", "v7x"}) {
    expect_near(spilled(loop({512, 512}), target), 511);
    expect_near(spilled(loop({256, 512}), target), 255);
    EXPECT_EQ(spilled(loop({64, 128}), target), 0);
  }
}

// x^T (m, k) times y: the turned side waits.
Body turned(int64_t k, int64_t m_rows) {
  BodyMaker m;
  const ValueId x = m.load(m.ref(DType::f32, {k, m_rows}));
  const ValueId y = m.load(m.ref(DType::f32, {k, 128}, Space::vmem, RefRoot::window, 1));
  const ValueId t = m.shaped(OpKind::transpose, x, {m_rows, k}, {1, 0});
  m.store(m.ref(DType::f32, {m_rows, 128}, Space::vmem, RefRoot::window, 2), m.matmul(t, y));
  return m.body;
}

TEST(VmemSpills, TurnedSidesOfMatmuls) {
  expect_near(spilled(turned(512, 1024), "v5p"), 114);
  EXPECT_EQ(spilled(turned(128, 256), "v5p"), 0);
}

// A layer norm of (rows, columns) whose last step takes `spread` rows of (1, columns): scale, then bias.
Body layer_norm(int64_t rows, int64_t columns, int spread) {
  BodyMaker m;
  const Shape whole{rows, columns}, one_each{rows, 1};
  const auto mean = [&](ValueId v) {
    return m.shaped(OpKind::broadcast, m.shaped(OpKind::reduce, v, one_each, {1}), whole);
  };
  const ValueId x = m.load(m.ref(DType::f32, whole));
  const ValueId centred = m.binary(Fn::sub, x, mean(x));
  ValueId y = m.binary(Fn::mul, centred, mean(m.binary(Fn::mul, centred, centred)));
  for (int i = 0; i < spread; ++i) {
    const ValueId row = m.load(m.ref(DType::f32, {1, columns}, Space::vmem, RefRoot::window, 1 + i));
    y = m.binary(i == 0 ? Fn::mul : Fn::add, y, m.shaped(OpKind::broadcast, row, whole));
  }
  m.store(m.ref(DType::f32, whole, Space::vmem, RefRoot::window, 1 + spread), y);
  return m.body;
}

TEST(VmemSpills, RowsSpreadOverABlockWait) {
  struct Measured {
    const char* target;
    int64_t rows, columns;
    int64_t spilled[3];  // with 0, 1 and 2 spread rows
  };
  for (const Measured& c : {Measured{"v5e", 8, 8192, {18, 27, 83}}, Measured{"v5p", 16, 4096, {25, 33, 63}},
                            Measured{"v5e", 64, 2048, {93, 95, 113}}, Measured{"v6e", 8, 8192, {17, 83, 154}},
                            Measured{"v7x", 8, 8192, {17, 83, 154}}, Measured{"v6e", 64, 2048, {95, 96, 112}},
                            Measured{"v6e", 8, 2048, {0, 0, 0}}})
    for (int spread = 0; spread < 3; ++spread)
      expect_within(spilled(layer_norm(c.rows, c.columns, spread), c.target), c.spilled[spread], 15,
                    std::string(c.target) + " " + to_string(Shape{c.rows, c.columns}) + " " + std::to_string(spread));
}

Body product(DType dtype, int64_t m_rows, int64_t k, int64_t n) {
  BodyMaker m;
  const DType sum = dtype == DType::i8 ? DType::i32 : DType::f32;
  const ValueId x = m.load(m.ref(dtype, {m_rows, k}));
  const ValueId y = m.load(m.ref(dtype, {k, n}, Space::vmem, RefRoot::window, 1));
  m.store(m.ref(sum, {m_rows, n}, Space::vmem, RefRoot::window, 2), m.matmul(x, y, sum));
  return m.body;
}

TEST(VmemSpills, BytesPassAMatmulTwoToAPlace) {
  expect_within(spilled(product(DType::i8, 512, 1024, 512), "v6e"), 82, 10);
  expect_within(spilled(product(DType::i8, 128, 2048, 256), "v6e"), 44, 10);
  expect_within(spilled(product(DType::i8, 1024, 1024, 1024), "v5e"), 86, 10);
  expect_within(spilled(product(DType::bf16, 512, 1024, 512), "v6e"), 319, 20);
  EXPECT_EQ(spilled(product(DType::i8, 512, 512, 512), "v6e"), 0);
  EXPECT_EQ(spilled(product(DType::i8, 512, 1024, 512), "v7x"), 0);
}

TEST(VmemSpills, TheRangeIsWiderThanWhatDecidesVerdicts) {
  const Body body = layer_norm(64, 2048, 2);
  const SpillEstimate e = spill_estimate(body, buffer_survival(body), target_named("v5e"));
  EXPECT_LT(e.low_bytes, e.min_bytes);
  EXPECT_GT(e.high_bytes, e.max_bytes);
  const Body none = layer_norm(8, 2048, 0);
  EXPECT_EQ(spill_estimate(none, buffer_survival(none), target_named("v5e")).high_bytes, 0);
}

}  // namespace
}  // namespace tilecheck::fit
