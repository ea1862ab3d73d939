// Bodies made op by op, for tables of cases.
#pragma once

#include <utility>
#include <vector>

#include "sim/fit/body.h"

namespace tilecheck::fit {

class BodyMaker {
 public:
  explicit BodyMaker(Dims grid = {}) { body.grid = grid; }

  Body body;

  ValueId value(DType dtype, const Shape& shape) {
    body.values.push_back({dtype, shape});
    return static_cast<ValueId>(body.values.size() - 1);
  }
  RefId ref(DType dtype, const Shape& shape, Space space = Space::vmem, RefRoot root = RefRoot::window, int index = 0) {
    RefInfo info;
    info.root = root;
    info.root_index = index;
    info.dtype = dtype;
    info.shape = shape;
    info.space = space;
    body.refs.push_back(std::move(info));
    return static_cast<RefId>(body.refs.size() - 1);
  }
  RefId slice(RefId base, std::vector<Offset> starts, const Shape& shape) {
    RefInfo info = body.refs[static_cast<size_t>(base)];
    info.root = RefRoot::view;
    info.base = base;
    info.starts = std::move(starts);
    info.shape = info.extent = shape;
    body.refs.push_back(std::move(info));
    return static_cast<RefId>(body.refs.size() - 1);
  }
  Op& op(OpKind kind) {
    block().push_back({});
    block().back().kind = kind;
    return block().back();
  }
  std::vector<Op>& block() { return blocks_.empty() ? body.top.ops : blocks_.back()->ops; }

  ValueId scalar(int64_t number) {
    const ValueId v = value(DType::i32, {});
    Op& o = op(OpKind::constant);
    o.out = {v};
    o.is_splat = true;
    o.number = static_cast<double>(number);
    return v;
  }
  ValueId program_id(int axis) {
    const ValueId v = value(DType::i32, {});
    Op& o = op(OpKind::grid_index);
    o.axes = {axis};
    o.out = {v};
    return v;
  }
  ValueId from_smem() {  // a number that only the run knows
    const RefId table = ref(DType::i32, {8}, Space::smem, RefRoot::prefetch);
    const ValueId v = value(DType::i32, {});
    Op& o = op(OpKind::load);
    o.ref = table;
    o.starts = {Offset{}};
    o.extent = {1};
    o.out = {v};
    return v;
  }
  ValueId binary(Fn fn, ValueId a, ValueId b, OpKind kind = OpKind::elementwise) {
    TileType type = body.values[static_cast<size_t>(a)];
    if (kind == OpKind::compare) type.dtype = DType::b1;
    const ValueId v = value(type.dtype, type.shape);
    Op& o = op(kind);
    o.fn = fn;
    o.in = {a, b};
    o.out = {v};
    return v;
  }
  ValueId unary(Fn fn, ValueId a) {
    const TileType type = body.values[static_cast<size_t>(a)];
    const ValueId v = value(type.dtype, type.shape);
    Op& o = op(OpKind::elementwise);
    o.fn = fn;
    o.in = {a};
    o.out = {v};
    return v;
  }
  ValueId multiple_of(ValueId a, int64_t divisor) {
    const ValueId v = value(DType::i32, {});
    Op& o = op(OpKind::marker);
    o.in = {a};
    o.out = {v};
    o.number = static_cast<double>(divisor);
    return v;
  }
  ValueId load(RefId from, std::vector<Offset> starts, const Shape& shape) {
    const ValueId v = value(body.refs[static_cast<size_t>(from)].dtype, shape);
    Op& o = op(OpKind::load);
    o.ref = from;
    o.starts = std::move(starts);
    o.extent = shape;
    o.out = {v};
    return v;
  }
  ValueId load(RefId from) {
    const Shape shape = body.refs[static_cast<size_t>(from)].shape;
    return load(from, std::vector<Offset>(static_cast<size_t>(shape.rank())), shape);
  }
  void store(RefId to, ValueId v) {
    const Shape shape = body.values[static_cast<size_t>(v)].shape;
    Op& o = op(OpKind::store);
    o.ref = to;
    o.in = {v};
    o.extent = shape;
    o.starts.resize(static_cast<size_t>(shape.rank()));
  }
  ValueId shaped(OpKind kind, ValueId a, const Shape& to, Dims axes = {}) {
    const ValueId v = value(body.values[static_cast<size_t>(a)].dtype, to);
    Op& o = op(kind);
    o.in = {a};
    o.out = {v};
    o.axes = axes;
    return v;
  }
  ValueId matmul(ValueId a, ValueId b, DType result = DType::f32) {
    const Shape l = body.values[static_cast<size_t>(a)].shape, r = body.values[static_cast<size_t>(b)].shape;
    const ValueId v = value(result, {l[0], r[1]});
    Op& o = op(OpKind::matmul);
    o.in = {a, b};
    o.out = {v};
    o.matmul.m = l[0];
    o.matmul.k = l[1];
    o.matmul.n = r[1];
    return v;
  }
  // Everything until end() goes into the branch's first side.
  void branch(ValueId condition) {
    Op& o = op(OpKind::branch);
    o.in = {condition};
    o.blocks.resize(1);
    blocks_.push_back(&o.blocks[0]);
  }
  void end() { blocks_.pop_back(); }

 private:
  std::vector<Block*> blocks_;
};

}  // namespace tilecheck::fit
