#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "body_maker.h"
#include "sim/fit/time_body.h"
#include "sim/fit/time_model.h"
#include "sim/fit/time_pipeline.h"
#include "sim/fit/time_table.h"

namespace tilecheck::fit {
namespace {

using ::testing::HasSubstr;

// ---- Slots.

UnitSlots slots_of_last(BodyMaker& m, const char* target) {
  // Something must use the result, or it would be dropped.
  const Op last = m.body.top.ops.back();
  const RefId o = m.ref(type_of(m.body, last.out[0]).dtype, type_of(m.body, last.out[0]).shape);
  const size_t at = m.body.top.ops.size() - 1;
  m.store(o, last.out[0]);
  const BodyCosts costs(m.body, *time_table(target_named(target)));
  return costs.of(m.body.top.ops[at]).slots;
}

TEST(TimeUnitsTest, SlotsFollowRegistersAndTypes) {
  // Measured: bundles of one operation over a block.
  const struct {
    Fn fn;
    DType dtype;
    const char* target;
    double valu, eup;
  } kCases[] = {
      {Fn::exp, DType::f32, "v5e", 2 * 64, 64},      {Fn::exp, DType::f32, "v4", 2 * 64, 2 * 64},
      {Fn::exp, DType::bf16, "v5e", 7 * 32, 2 * 32}, {Fn::exp, DType::bf16, "v6e", 2 * 32, 2 * 32},
      {Fn::rsqrt, DType::f32, "v5e", 9 * 64, 64},    {Fn::rsqrt, DType::f32, "v6e", 64, 64},
      {Fn::sin, DType::f32, "v5p", 148 * 64, 0},     {Fn::abs, DType::bf16, "v4", 32, 0},
      {Fn::erf, DType::f32, "v7x", 64, 64},
  };
  for (const auto& c : kCases) {
    BodyMaker m;
    m.unary(c.fn, m.load(m.ref(c.dtype, {256, 256})));
    const UnitSlots s = slots_of_last(m, c.target);
    EXPECT_DOUBLE_EQ(s.valu, c.valu) << name(c.fn) << " on " << c.target;
    EXPECT_DOUBLE_EQ(s.eup, c.eup) << name(c.fn) << " on " << c.target;
  }
}

TEST(TimeUnitsTest, EqualRegistersCountOnce) {
  BodyMaker m;
  const ValueId x = m.load(m.ref(DType::f32, {256, 512}));
  const ValueId row_max = m.shaped(OpKind::reduce, x, {256}, {1});
  const ValueId column = m.shaped(OpKind::reshape, row_max, {256, 1});
  const ValueId wide = m.shaped(OpKind::broadcast, column, {256, 512});
  m.unary(Fn::exp, wide);
  // 32 rows of registers, not 128 registers: all lanes of a row hold the same.
  EXPECT_DOUBLE_EQ(slots_of_last(m, "v5e").eup, 32);
}

TEST(TimeUnitsTest, LaneReductionsKeepTheXluBusy) {
  for (const auto& [target, cycles] : {std::pair("v5e", 8.0), std::pair("v6e", 4.0)}) {
    BodyMaker m;
    m.shaped(OpKind::reduce, m.load(m.ref(DType::f32, {256, 256})), {256}, {1});
    m.body.top.ops.back().fn = Fn::max;
    const UnitSlots s = slots_of_last(m, target);
    EXPECT_DOUBLE_EQ(s.xlu, 32 * cycles);
    EXPECT_DOUBLE_EQ(s.valu, 32);  // two registers a row are joined first
  }
}

TEST(TimeUnitsTest, MatmulSlotsAreMeasuredOnes) {
  const struct {
    int64_t m, k, n;
    DType dtype;
    const char* target;
    double mxu;
  } kCases[] = {
      {256, 256, 256, DType::bf16, "v5e", 1024}, {512, 512, 512, DType::bf16, "v5e", 8192},
      {512, 512, 512, DType::i8, "v5e", 4096},   {8, 512, 512, DType::bf16, "v5e", 256},
      {8, 512, 512, DType::f32, "v5e", 128},     {512, 512, 512, DType::bf16, "v6e", 1024},
      {128, 128, 128, DType::bf16, "v6e", 32},   {512, 512, 512, DType::i8, "v7x", 1024},
  };
  for (const auto& c : kCases) {
    BodyMaker m;
    const ValueId a = m.load(m.ref(c.dtype, {c.m, c.k})), b = m.load(m.ref(c.dtype, {c.k, c.n}));
    m.matmul(a, b);
    EXPECT_DOUBLE_EQ(slots_of_last(m, c.target).mxu, c.mxu) << c.m << "x" << c.k << "x" << c.n << " on " << c.target;
  }
}

// ---- Bodies.

TEST(TimeBodyTest, BranchesCountWhereTheyAreEntered) {
  BodyMaker m({4});
  const RefId x = m.ref(DType::f32, {256, 128}), acc = m.ref(DType::f32, {256, 128}, Space::vmem, RefRoot::scratch);
  const ValueId first = m.binary(Fn::eq, m.program_id(0), m.scalar(0), OpKind::compare);
  m.branch(first);
  m.store(acc, m.load(x));
  m.end();
  const TimeTable& table = *time_table(target_named("v5e"));
  BodyTimer timer(m.body, table, target_named("v5e"));
  CopyTimer copies(table, table.bytes_per_cycle, false);
  const int64_t grid[] = {4}, zero[] = {0}, one[] = {1};
  EXPECT_GT(timer.run(zero, grid, 0, copies).compute, 32);
  EXPECT_EQ(timer.run(one, grid, 0, copies).compute, 0);
  EXPECT_FALSE(timer.assumed_branch());
}

TEST(TimeBodyTest, WaitsHideBehindWorkBetween) {
  const auto body = [](bool works) {
    BodyMaker m;
    const RefId hbm = m.ref(DType::f32, {1024, 512}, Space::any);
    const RefId vmem = m.ref(DType::f32, {1024, 512}, Space::vmem, RefRoot::scratch);
    const RefId sem = m.ref(DType::dma_semaphore, {}, Space::semaphore, RefRoot::scratch, 1);
    const RefId x = m.ref(DType::f32, {2048, 512}), o = m.ref(DType::f32, {2048, 512});
    Op& start = m.op(OpKind::dma_start);
    start.ref = hbm;
    start.ref2 = vmem;
    start.sem = sem;
    if (works) m.store(o, m.unary(Fn::sin, m.load(x)));
    Op& wait = m.op(OpKind::dma_wait);
    wait.ref2 = vmem;
    wait.sem = sem;
    return std::move(m.body);
  };
  const TimeTable& table = *time_table(target_named("v5e"));
  const Body busy = body(true), idle = body(false);
  for (const auto* b : {&busy, &idle}) {
    BodyTimer timer(*b, table, target_named("v5e"));
    CopyTimer copies(table, table.bytes_per_cycle, false);
    const BodyTimer::Result r = timer.run({}, {}, 0, copies);
    if (b == &busy)
      EXPECT_EQ(r.waited, 0);
    else
      EXPECT_NEAR(r.waited, 1141 - 9 + 1024 * 512 * 4 / 491.0, 1);
  }
  EXPECT_TRUE(find_serialized_copies(busy).empty());
  ASSERT_EQ(find_serialized_copies(idle).size(), 1u);
  EXPECT_EQ(find_serialized_copies(idle)[0].kind, Kind::dma_serialized);
}

// ---- The pipeline.

KernelSpec row_spec(int64_t steps, int64_t rows) {
  KernelSpec spec;
  spec.name = "rows";
  spec.grid = {steps};
  Window w;
  w.name = "x";
  w.array = {steps * rows, 512};
  w.block = {rows, 512};
  w.index = IndexMap([](Index i) { return Indices{i, 0}; });
  spec.in.push_back(w);
  w.name = "o";
  spec.out.push_back(w);
  return spec;
}
Body row_body(int64_t rows, Fn fn, int64_t steps) {
  BodyMaker m({steps});
  const RefId x = m.ref(DType::f32, {rows, 512}), o = m.ref(DType::f32, {rows, 512}, Space::vmem, RefRoot::window, 1);
  m.store(o, m.unary(fn, m.load(x)));
  return std::move(m.body);
}

TEST(TimePipelineTest, ReproducesTheSimulatorsCycles) {
  // libtpu's estimated_cycles of exp over 8 blocks of 512 columns, v5e and v6e.
  const struct {
    int64_t rows;
    const char* target;
    double cycles;
  } kCases[] = {{128, "v5e", 9076}, {512, "v5e", 19456}, {128, "v6e", 5672}};
  for (const auto& c : kCases) {
    const TimeEstimate t = estimate_time(row_spec(8, c.rows), row_body(c.rows, Fn::exp, 8), target_named(c.target));
    EXPECT_NEAR(t.cycles, c.cycles, 0.03 * c.cycles) << c.rows << " rows on " << c.target;
    EXPECT_EQ(t.windows[0].copies, 8);
    EXPECT_NEAR(t.us, t.cycles / static_cast<double>(target_named(c.target)[FigureId::clock_hz]) * 1e6, 1e-9);
  }
}

TEST(TimePipelineTest, MegacoreHalvesTheGrid) {
  KernelSpec spec = row_spec(8, 128);
  EXPECT_EQ(core_grid(spec, target_named("v5p")).step_count, 8);
  spec.semantics = {Semantics::parallel};
  EXPECT_EQ(core_grid(spec, target_named("v5p")).step_count, 4);
  EXPECT_EQ(core_grid(spec, target_named("v5e")).step_count, 8);
  EXPECT_EQ(core_grid(spec, target_named("v7x")).step_count, 8);
}

TEST(TimePipelineTest, LargeGridsAreSampledInProportion) {
  const TimeEstimate small = estimate_time(row_spec(2048, 64), row_body(64, Fn::exp, 2048), target_named("v5e"));
  const TimeEstimate large = estimate_time(row_spec(20480, 64), row_body(64, Fn::exp, 20480), target_named("v5e"));
  EXPECT_NEAR(large.cycles / small.cycles, 10, 0.1);
  EXPECT_NEAR(static_cast<double>(large.windows[0].copies), 20480, 1);
}

TEST(TimeModelTest, SharingHbmCostsWhereCopiesMeet) {
  const KernelSpec spec = row_spec(64, 1024);
  const Body body = row_body(1024, Fn::abs, 64);
  const double alone = estimate_time(spec, body, target_named("v5e")).cycles;
  const TimeEstimate shared = estimate_time(spec, body, target_named("v5e"), {.share_hbm_bandwidth = true});
  EXPECT_GT(shared.cycles, 1.5 * alone);
  EXPECT_EQ(shared.bound, Bound::hbm);
}

TEST(TimeModelTest, NamesTheBound) {
  const struct {
    int64_t rows;
    Fn fn;
    Bound bound;
  } kCases[] = {{512, Fn::sin, Bound::compute}, {2048, Fn::abs, Bound::hbm}, {8, Fn::abs, Bound::latency}};
  for (const auto& c : kCases)
    EXPECT_EQ(estimate_time(row_spec(8, c.rows), row_body(c.rows, c.fn, 8), target_named("v5e"),
                            {.share_hbm_bandwidth = true})
                  .bound,
              c.bound)
        << c.rows;
}

TEST(TimeModelTest, AdvisesOnlyWhereItIsSure) {
  KernelSpec spec = row_spec(64, 256);
  Window weights;
  weights.name = "w";
  weights.array = {512, 512};
  weights.block = {256, 512};
  weights.index = IndexMap([](Index i) { return Indices{i / 32, 0}; });
  spec.in.push_back(weights);
  Window idle = weights;
  idle.name = "idle";
  spec.in.push_back(idle);
  BodyMaker m({64});
  const RefId x = m.ref(DType::f32, {256, 512}), w = m.ref(DType::f32, {256, 512}, Space::vmem, RefRoot::window, 1);
  m.ref(DType::f32, {256, 512}, Space::vmem, RefRoot::window, 2);
  const RefId o = m.ref(DType::f32, {256, 512}, Space::vmem, RefRoot::window, 3);
  m.store(o, m.unary(Fn::sin, m.binary(Fn::mul, m.load(x), m.load(w))));
  const TimeEstimate t = estimate_time(spec, m.body, target_named("v5e"));
  std::string advice;
  for (const std::string& line : t.advice) advice += line + "\n";
  EXPECT_THAT(advice, HasSubstr("w needs no second buffer"));
  EXPECT_THAT(advice, HasSubstr("idle is copied to VMEM but never read"));
  EXPECT_THAT(advice, ::testing::Not(HasSubstr("x needs")));
}

TEST(TimeModelTest, SaysWhatItDoesNotModel) {
  KernelSpec spec = row_spec(8, 128);
  const Body body = row_body(128, Fn::exp, 8);
  EXPECT_THAT(estimate_time(spec, body, target_named("v3")).not_modelled, HasSubstr("v3"));
  spec.grid = {kDynamicGrid};
  EXPECT_THAT(estimate_time(spec, body, target_named("v5e")).not_modelled, HasSubstr("run time"));
  EXPECT_THAT(label(estimate_time(row_spec(8, 128), body, target_named("v5e"))), HasSubstr("not a chip"));
}

}  // namespace
}  // namespace tilecheck::fit
