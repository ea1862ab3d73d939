// Elementwise operations, comparisons, conversions and constants, on scalars and vectors.
#include <cstring>

#include "sim/mosaic/op_attrs.h"
#include "sim/mosaic/program.h"
#include "sim/mosaic/tile_ops.h"
#include "sim/types/float_formats.h"

namespace tilecheck::mosaic {
namespace {

constexpr size_t kMaxOperands = 3;

void run_tile_op(Activation& frame, const Instr& instr) {
  Tile operands[kMaxOperands];
  const size_t n = instr.in.size();
  for (size_t i = 0; i < n; ++i) operands[i] = take_tile(frame, instr, i);
  set_tile(frame, instr.out[0], apply(frame.core->ops(), *instr.call, {operands, n}));
}

// The same operation under f64 numerics: scalars are f64 bits then.
OpCall as_f64(const OpCall& call) {
  OpCall c = call;
  if (is_floating(c.dtype)) c.dtype = DType::f64;
  return c;
}

void run_scalar_op(Activation& frame, const Instr& instr) {
  uint64_t operands[kMaxOperands];
  uint8_t undefined = 0;
  const size_t n = instr.in.size();
  for (size_t i = 0; i < n; ++i) {
    operands[i] = frame.scalars[instr.in[i].index];
    undefined |= frame.undefined[instr.in[i].index];
  }
  const Slot& out = instr.out[0];
  const DType operand = instr.in[0].dtype;
  if (frame.numerics == Numerics::f64 && (is_floating(operand) || is_floating(out.dtype))) [[unlikely]] {
    frame.scalars[out.index] = apply_scalar(as_f64(*instr.call), frame.repr(operand), {operands, n});
  } else {
    frame.scalars[out.index] = apply_scalar(*instr.call, operand, {operands, n});
  }
  frame.undefined[out.index] = undefined ? computed_mask(out.dtype) : uint8_t{0};
}

// i1 and integers: a defined absorbing operand makes the result defined (machine-rules 13).
void run_scalar_and_or(Activation& frame, const Instr& instr) {
  run_scalar_op(frame, instr);
  const Slot& out = instr.out[0];
  if (!frame.undefined[out.index]) return;
  const uint64_t absorbing = instr.call->op == OpId::andi ? 0 : instr.in[0].dtype == DType::b1 ? 1 : ~uint64_t{0};
  for (const Slot& in : instr.in)
    if (!frame.undefined[in.index] && frame.scalars[in.index] == absorbing) frame.undefined[out.index] = 0;
}

void run_scalar_select(Activation& frame, const Instr& instr) {
  const Slot& condition = instr.in[0];
  const Slot& chosen = frame.scalars[condition.index] & 1u ? instr.in[1] : instr.in[2];
  const Slot& out = instr.out[0];
  frame.scalars[out.index] = frame.scalars[chosen.index];
  frame.undefined[out.index] =
      frame.undefined[condition.index] ? undefined_mask(out.dtype) : frame.undefined[chosen.index];
}

// A vector select by a scalar condition: the whole operand, without an elementwise pass.
void run_uniform_select(Activation& frame, const Instr& instr) {
  const Slot& condition = instr.in[0];
  if (frame.undefined[condition.index]) [[unlikely]] {
    run_tile_op(frame, instr);
    return;
  }
  const size_t chosen = frame.scalars[condition.index] & 1u ? 1 : 2;
  Tile value = take_tile(frame, instr, chosen);
  const size_t other = 3 - chosen;
  if (instr.dies >> other & 1u) frame.tiles[instr.in[other].index] = {};
  frame.tiles[instr.out[0].index] = std::move(value);
}

void run_index_cast(Activation& frame, const Instr& instr) {
  uint64_t value = frame.scalars[instr.in[0].index];
  if (instr.out[0].dtype == DType::i32)
    value = static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(value)));
  frame.scalars[instr.out[0].index] = value;
  frame.undefined[instr.out[0].index] = frame.undefined[instr.in[0].index];
}

void run_scalar_constant(Activation& frame, const Instr& instr) {
  const Slot& out = instr.out[0];
  uint64_t value = static_cast<uint64_t>(instr.ints[0]);
  if (frame.numerics == Numerics::f64 && is_floating(out.dtype)) {
    const double wide = load_as_double(out.dtype, &value);
    std::memcpy(&value, &wide, sizeof value);
  }
  frame.scalars[out.index] = value;
  frame.undefined[out.index] = 0;
}

void run_vector_constant(Activation& frame, const Instr& instr) {
  const Attr& attr = *instr.op->find(AttrName::value);
  const DType dtype = instr.out[0].dtype;
  OpContext& context = frame.core->ops();
  const int width = storage_bytes(dtype);
  if (attr.splat) {
    frame.tiles[instr.out[0].index] = Tile::splat(context, dtype, instr.shape, load_as_double(dtype, attr.data.data()));
    if (is_int(dtype)) {
      int64_t bits_value = 0;
      std::memcpy(&bits_value, attr.data.data(), static_cast<size_t>(width));
      if (is_signed_int(dtype) && width < 8) bits_value = bits_value << (64 - 8 * width) >> (64 - 8 * width);
      frame.tiles[instr.out[0].index] = broadcast_to(Tile::scalar_int(context, dtype, bits_value), instr.shape);
    }
    return;
  }
  Tile tile = Tile::dense(context, dtype, instr.shape);
  if (tile.repr() == dtype) {
    std::memcpy(tile.writable_bytes(), attr.data.data(), attr.data.size());
  } else {
    for (int64_t i = 0; i < tile.size(); ++i)
      store_from_double(tile.repr(), tile.writable_bytes() + i * 8,
                        load_as_double(dtype, attr.data.data() + i * width));
  }
  frame.tiles[instr.out[0].index] = std::move(tile);
}

// isnan, isinf, isfinite from comparisons that the table has.
void run_float_test(Activation& frame, const Instr& instr) {
  OpContext& context = frame.core->ops();
  Tile x = tile_of(frame, instr.in[0]);
  OpCall call{.op = OpId::is_weird};
  call.dtype = DType::b1;
  Tile weird = apply(context, call, {&x, 1});
  Tile result;
  switch (instr.op->code) {
    case OpCode::math_isfinite:
      result = ~weird;
      break;
    default: {
      OpCall unordered{.op = OpId::cmpf};
      unordered.predicate = Predicate::uno;
      Tile both[] = {x, x};
      Tile nan = apply(context, unordered, both);
      result = instr.op->code == OpCode::math_isnan ? nan : weird & ~nan;
    }
  }
  set_tile(frame, instr.out[0], std::move(result));
}

}  // namespace

bool lower_arithmetic(LowerContext& context, const Op& op, Instr& instr) {
  switch (op.code) {
    case OpCode::arith_constant: {
      const Attr* value = op.find(AttrName::value);
      if (!value) not_modelled(context, op, "without a value");
      if (instr.out[0].kind == SlotKind::tile) {
        if (value->kind != AttrKind::dense_elements) not_modelled(context, op, "with a value of this form");
        instr.run = run_vector_constant;
        return true;
      }
      uint64_t bits_value = 0;
      if (value->kind == AttrKind::floating) {
        store_from_double(instr.out[0].dtype, &bits_value, value->floating);
      } else {
        bits_value = static_cast<uint64_t>(value->integer);
      }
      instr.ints.push_back(static_cast<int64_t>(bits_value));
      instr.run = run_scalar_constant;
      return true;
    }
    case OpCode::arith_index_cast:
    case OpCode::arith_index_castui:
      if (instr.out[0].kind == SlotKind::tile) not_modelled(context, op, "of vectors");
      instr.run = run_index_cast;
      return true;
    case OpCode::math_isfinite:
    case OpCode::math_isinf:
    case OpCode::math_isnan:
      instr.run = run_float_test;
      return true;
    case OpCode::arith_convertf:
      instr.run = run_tile_op;
      break;
    default:
      break;
  }
  const std::optional<OpId> same = tile_op(op.code);
  if (!same && op.code != OpCode::arith_convertf) return false;
  const bool narrows = bits(instr.out[0].dtype) < bits(instr.in[0].dtype);
  OpCall& call = context.new_call(same ? *same : narrows ? OpId::truncf : OpId::extf);
  call.dtype = instr.out[0].dtype;
  call.shape = instr.shape;
  if (call.op == OpId::cmpi || call.op == OpId::cmpf) call.predicate = predicate(op);
  if (call.op == OpId::reciprocal) call.approx = op.bool_or(AttrName::approx, false);
  instr.call = &call;
  const bool vector = instr.out[0].kind == SlotKind::tile || (!instr.in.empty() && instr.in[0].kind == SlotKind::tile);
  if (vector) {
    instr.run = call.op == OpId::select && instr.in[0].kind == SlotKind::scalar ? run_uniform_select : run_tile_op;
  } else if (call.op == OpId::select) {
    instr.run = run_scalar_select;
  } else if (call.op == OpId::andi || call.op == OpId::ori) {
    instr.run = run_scalar_and_or;
  } else {
    instr.run = run_scalar_op;
  }
  return true;
}

}  // namespace tilecheck::mosaic
