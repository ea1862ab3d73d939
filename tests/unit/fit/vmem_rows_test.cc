// Spills of bodies that go through their rows group by group, against what libtpu 0.0.42.1 spills of the same.
#include "sim/fit/vmem_rows.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "body_maker.h"
#include "sim/fit/vmem_spills.h"

namespace tilecheck::fit {
namespace {

int64_t spilled(const Body& body, const char* target) {
  const Target& t = target_named(target);
  return spill_estimate(body, buffer_survival(body), t).bytes / t.vector_register_bytes();
}

// Block by block: loads, widens to f32, computes with its sums over lanes, narrows, stores.
class RowBody {
 public:
  RowBody(int64_t rows, int64_t columns, DType dtype) : whole_{rows, columns}, one_each_{rows, 1}, dtype_(dtype) {
    x = m_.load(m_.ref(dtype, whole_));
    if (dtype != DType::f32) x = convert(x, DType::f32);
  }
  ValueId over_lanes(Fn fn, ValueId v) {
    const ValueId sum = m_.shaped(OpKind::reduce, v, one_each_, {1});
    m_.block().back().fn = fn;
    return m_.shaped(OpKind::broadcast, sum, whole_);
  }
  ValueId binary(Fn fn, ValueId a, ValueId b) { return m_.binary(fn, a, b); }
  ValueId exp(ValueId v) { return m_.unary(Fn::exp, v); }
  Body stored(ValueId v) {
    m_.store(m_.ref(dtype_, whole_, Space::vmem, RefRoot::window, 1), dtype_ == DType::f32 ? v : convert(v, dtype_));
    return m_.body;
  }

  ValueId x;

 private:
  ValueId convert(ValueId v, DType to) {
    const ValueId out = m_.value(to, whole_);
    Op& op = m_.op(OpKind::convert);
    op.in = {v};
    op.out = {out};
    return out;
  }
  BodyMaker m_;
  Shape whole_, one_each_;
  DType dtype_;
};

Body softmax(int64_t rows, int64_t columns, DType dtype) {
  RowBody b(rows, columns, dtype);
  const ValueId e = b.exp(b.binary(Fn::sub, b.x, b.over_lanes(Fn::max, b.x)));
  return b.stored(b.binary(Fn::div, e, b.over_lanes(Fn::add, e)));
}
Body layer_norm(int64_t rows, int64_t columns, DType dtype) {
  RowBody b(rows, columns, dtype);
  const ValueId c = b.binary(Fn::sub, b.x, b.over_lanes(Fn::add, b.x));
  return b.stored(b.binary(Fn::mul, c, b.over_lanes(Fn::add, b.binary(Fn::mul, c, c))));
}
Body rms_norm(int64_t rows, int64_t columns, DType dtype) {
  RowBody b(rows, columns, dtype);
  return b.stored(b.binary(Fn::mul, b.x, b.over_lanes(Fn::add, b.binary(Fn::mul, b.x, b.x))));
}

struct Measured {
  Body (*body)(int64_t, int64_t, DType);
  int64_t rows, columns;
  DType dtype;
  const char* target;
  int64_t spilled;
};

void expect_measured(const std::vector<Measured>& cases) {
  for (const Measured& c : cases)
    EXPECT_NEAR(static_cast<double>(spilled(c.body(c.rows, c.columns, c.dtype), c.target)),
                static_cast<double>(c.spilled), 8 + 0.15 * static_cast<double>(c.spilled))
        << c.target << ' ' << c.rows << 'x' << c.columns;
}

TEST(VmemRows, OnlyTheGroupsUnderWayWaitForTheLastReduction) {
  expect_measured({{rms_norm, 256, 1024, DType::bf16, "v5e", 222},
                   {rms_norm, 1024, 1024, DType::bf16, "v7x", 582},
                   {rms_norm, 1024, 512, DType::bf16, "v4", 80},
                   {layer_norm, 1024, 1024, DType::f32, "v5e", 425},
                   {softmax, 672, 2048, DType::f32, "v5e", 740}});
}

TEST(VmemRows, WidenedLoadsWaitNarrow) {
  expect_measured({{layer_norm, 1024, 1024, DType::bf16, "v5e", 746},
                   {layer_norm, 1024, 1024, DType::bf16, "v6e", 824},
                   {softmax, 672, 2048, DType::bf16, "v5e", 1040},
                   {softmax, 1024, 2048, DType::bf16, "v6e", 1614}});
}

TEST(VmemRows, SmallGroupsGoOnEarly) {
  expect_measured({{softmax, 1024, 512, DType::f32, "v6e", 532},
                   {softmax, 1024, 1024, DType::f32, "v6e", 838},
                   {softmax, 512, 1024, DType::f32, "v4", 319},
                   {layer_norm, 1024, 512, DType::f32, "v6e", 488},
                   {layer_norm, 1024, 768, DType::f32, "v6e", 463}});
}

TEST(VmemRows, TheTranscendentalUnitCatchesUpBehindSmallGroups) {
  expect_measured({{softmax, 4096, 256, DType::f32, "v6e", 765},
                   {softmax, 4096, 256, DType::f32, "v7x", 766},
                   {softmax, 2560, 256, DType::f32, "v6e", 477}});
}

TEST(VmemRows, LoadsNeededAgainSoonAreKept) {
  expect_measured({{rms_norm, 48, 1536, DType::f32, "v5e", 27},
                   {rms_norm, 64, 1024, DType::f32, "v6e", 22},
                   {rms_norm, 64, 1024, DType::f32, "v4", 50}});
  EXPECT_EQ(spilled(rms_norm(1024, 1024, DType::f32), "v5e"), 0);
  EXPECT_EQ(spilled(rms_norm(256, 1024, DType::f32), "v6e"), 0);
}

TEST(VmemRows, FewGroupsAllWait) {
  Waits waits({1, 1});
  waits.add_as_pushed(10, 0);
  waits.add_as_back(-10, 1);
  waits.add(3, 1, 2);
  waits.settle();
  EXPECT_DOUBLE_EQ(waits.at(0.5), 5);
  EXPECT_DOUBLE_EQ(waits.at(1), 10);
  EXPECT_DOUBLE_EQ(waits.at(1.5), 13);
  EXPECT_DOUBLE_EQ(waits.at(2.5), 5);
  EXPECT_DOUBLE_EQ(waits.most(), 13);
}

TEST(VmemRows, RowsWithoutColumnsSpillNothing) {
  EXPECT_EQ(spilled(softmax(8, 0, DType::f32), "v5e"), 0);
  EXPECT_EQ(spilled(softmax(0, 128, DType::f32), "v5e"), 0);
}

}  // namespace
}  // namespace tilecheck::fit
