// Spills of small bodies, each beside a twin that spills nothing, against what libtpu 0.0.42.1 does with the same.
#include "sim/fit/vmem_spills.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace tilecheck::fit
