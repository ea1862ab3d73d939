#include "sim/fit/simplify.h"

#include <gtest/gtest.h>

namespace tilecheck::fit {
namespace {

struct Builder {
  Body body;
  ValueId value(DType dtype, Shape shape = {}) {
    body.values.push_back({dtype, shape});
    return static_cast<ValueId>(body.values.size() - 1);
  }
  static Op op(OpKind kind, std::vector<ValueId> in, std::vector<ValueId> out, Fn fn = Fn::none) {
    Op o;
    o.kind = kind;
    o.fn = fn;
    o.in = std::move(in);
    o.out = std::move(out);
    return o;
  }
  ValueId constant(Block& block, int64_t number) {
    Op o = op(OpKind::constant, {}, {value(DType::i32)});
    o.is_splat = true;
    o.number = static_cast<double>(number);
    block.ops.push_back(o);
    return o.out[0];
  }
  ValueId grid_index(Block& block, int64_t axis) {
    Op o = op(OpKind::grid_index, {}, {value(DType::i32)});
    o.axes = {axis};
    block.ops.push_back(o);
    return o.out[0];
  }
};

// if (program_id(axis) == 0) store
Body conditional_store(Dims grid, int64_t axis) {
  Builder b;
  b.body.grid = grid;
  b.body.refs.push_back({RefRoot::scratch, 0, DType::f32, {8, 128}, Space::vmem, kNone, {}, {}});
  Block& top = b.body.top;
  const ValueId id = b.grid_index(top, axis), zero = b.constant(top, 0);
  const ValueId condition = b.value(DType::b1);
  top.ops.push_back(Builder::op(OpKind::compare, {id, zero}, {condition}, Fn::eq));
  Op branch = Builder::op(OpKind::branch, {condition}, {});
  Block then;
  const ValueId tile = b.value(DType::f32, {8, 128});
  then.ops.push_back(Builder::op(OpKind::constant, {}, {tile}));
  Op store = Builder::op(OpKind::store, {tile}, {});
  store.ref = 0;
  store.starts = {Offset{}, Offset{}};
  store.extent = {8, 128};
  then.ops.push_back(store);
  branch.blocks = {then, Block{}};
  top.ops.push_back(branch);
  return b.body;
}

TEST(SimplifyTest, ConditionsOnAxesOfSizeOneFold) {
  Body body = conditional_store({4, 1}, 1);
  simplify(body);
  ASSERT_EQ(body.top.ops.size(), 2u);  // the tile and its store, in the kernel's own block
  EXPECT_EQ(body.top.ops[1].kind, OpKind::store);

  body = conditional_store({4, 2}, 1);
  simplify(body);
  EXPECT_EQ(body.top.ops.back().kind, OpKind::branch);

  body = conditional_store({kDynamicGrid}, 0);
  simplify(body);
  EXPECT_EQ(body.top.ops.back().kind, OpKind::branch);
}

TEST(SimplifyTest, UnusedLoadsAndTheirChainsGo) {
  Builder b;
  b.body.refs.push_back({RefRoot::window, 0, DType::f32, {8, 128}, Space::vmem, kNone, {}, {}});
  const ValueId loaded = b.value(DType::f32, {8, 128}), shaped = b.value(DType::f32, {1, 8, 128});
  Op load = Builder::op(OpKind::load, {}, {loaded});
  load.ref = 0;
  b.body.top.ops.push_back(load);
  b.body.top.ops.push_back(Builder::op(OpKind::reshape, {loaded}, {shaped}));
  Body body = b.body;
  remove_dead(body);
  EXPECT_TRUE(body.top.ops.empty());
}

TEST(SimplifyTest, LoopsGetTripCountsOrGo) {
  const struct { int64_t lo, hi, step, trips; } kCases[] = {{0, 10, 1, 10}, {0, 10, 3, 4}, {5, 5, 1, 0}, {7, 2, 1, 0}};
  for (const auto& c : kCases) {
    Builder b;
    b.body.refs.push_back({RefRoot::window, 0, DType::f32, {8, 128}, Space::vmem, kNone, {}, {}});
    Block& top = b.body.top;
    const ValueId lo = b.constant(top, c.lo), hi = b.constant(top, c.hi), step = b.constant(top, c.step);
    Op loop = Builder::op(OpKind::loop, {lo, hi, step}, {});
    Block inner;
    inner.args = {b.value(DType::i32)};
    Op store = Builder::op(OpKind::store, {lo}, {});
    store.ref = 0;
    inner.ops.push_back(store);
    loop.blocks = {inner};
    top.ops.push_back(loop);
    simplify(b.body);
    if (c.trips == 0) {
      EXPECT_TRUE(top.ops.empty());
    } else {
      ASSERT_FALSE(top.ops.empty());
      EXPECT_EQ(top.ops.back().trips, c.trips);
    }
  }
}

}  // namespace
}  // namespace tilecheck::fit
