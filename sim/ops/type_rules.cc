// Result types and shapes of operations, and what is said when operands do not fit.
#include "sim/ops/type_checks.h"

namespace tilecheck {
namespace {

// Rank-0 operands stretch to the common shape of the others.
const Shape& common_shape(const OpCall& call, Operands operands) {
  const Shape* shape = operands[0].shape;
  for (const OperandType& operand : operands) {
    if (operand.shape->empty() || *operand.shape == *shape) continue;
    if (!shape->empty())
      fail(call, "operand shapes " + to_string(*shape) + " and " + to_string(*operand.shape) + " differ");
    shape = operand.shape;
  }
  return *shape;
}

// Operands of one type and, rank 0 apart, one shape.
TypeAndShape elementwise(const OpCall& call, Operands operands, Wanted wanted) {
  for (const OperandType& operand : operands) {
    check_operand(call, operand, wanted);
    if (operand.dtype != operands[0].dtype)
      fail(call, "operand types " + text_of(operands[0]) + " and " + text_of(operand) + " differ");
  }
  return {operands[0].dtype, common_shape(call, operands)};
}

TypeAndShape convert(const OpCall& call, const OperandType& from, Wanted from_wanted, Wanted to_wanted) {
  check_operand(call, from, from_wanted);
  check_result(call, to_wanted);
  return {call.dtype, *from.shape};
}

TypeAndShape resized_int(const OpCall& call, const OperandType& from, bool grows) {
  TypeAndShape result = convert(call, from, Wanted::integer, Wanted::integer);
  if (grows ? bits(call.dtype) < bits(from.dtype) : bits(call.dtype) > bits(from.dtype))
    fail(call, "from " + text_of(from) + " to " + std::string(name(call.dtype)) +
                   (grows ? ": expected a type at least as wide" : ": expected a type at most as wide"));
  return result;
}

TypeAndShape bitcast_type(const OpCall& call, const OperandType& from) {
  check_operand(call, from, Wanted::any);
  if (!fits(call.dtype, Wanted::any)) fail(call, "result type is " + std::string(name(call.dtype)));
  const int from_bits = bits(from.dtype), to_bits = bits(call.dtype);
  Shape shape = *from.shape;
  if (from_bits == to_bits) return {call.dtype, shape};
  if (from.dtype == DType::b1 || call.dtype == DType::b1)
    fail(call, "from " + text_of(from) + " to " + std::string(name(call.dtype)) + ": bool has no bits to cast");
  if (shape.rank() < 2)
    fail(call, "from " + text_of(from) + " to " + std::string(name(call.dtype)) +
                   ": a change of width acts on the second-minor dimension; expected rank 2 or more");
  int64_t& rows = shape[shape.rank() - 2];
  if (from_bits > to_bits) {
    rows *= from_bits / to_bits;
  } else {
    const int ratio = to_bits / from_bits;
    if (rows % ratio)
      fail(call, "from " + text_of(from) + " to " + std::string(name(call.dtype)) +
                     ": expected a second-minor dimension that is a multiple of " + std::to_string(ratio));
    rows /= ratio;
  }
  check_shape(call, shape);
  return {call.dtype, shape};
}

TypeAndShape pack_type(const OpCall& call, Operands operands) {
  const TypeAndShape common = elementwise(call, operands, Wanted::any);
  check_result(call, Wanted::integer);
  const int packed = bits(call.dtype) / bits(call.source_dtype);
  if (is_floating(common.dtype) != is_floating(call.source_dtype))
    fail(call, "packs " + std::string(name(common.dtype)) + " as " + std::string(name(call.source_dtype)) +
                   ": expected both float or both integer");
  if (static_cast<int>(operands.size()) != packed)
    fail(call, std::to_string(operands.size()) + " operands of " + std::string(name(call.source_dtype)) + " into " +
                   std::string(name(call.dtype)) + ": expected " + std::to_string(packed));
  return {call.dtype, common.shape};
}

TypeAndShape unpack_type(const OpCall& call, const OperandType& from) {
  check_operand(call, from, Wanted::integer);
  const int packed = bits(from.dtype) / bits(call.source_dtype);
  if (call.amount < 0 || call.amount >= packed)
    fail(call, "index " + std::to_string(call.amount) + " into " + std::to_string(packed) + " values of " +
                   std::string(name(call.source_dtype)));
  if (is_floating(call.dtype) != is_floating(call.source_dtype) || !fits(call.dtype, Wanted::any))
    fail(call, "unpacks " + std::string(name(call.source_dtype)) + " to " + std::string(name(call.dtype)) +
                   ": expected both float or both integer");
  return {call.dtype, *from.shape};
}

}  // namespace

TypeAndShape result_type(const OpCall& call, Operands operands) {
  const OpInfo& op = info(call.op);
  const int count = static_cast<int>(operands.size());
  if (count < op.min_operands || count > op.max_operands)
    fail(call, std::to_string(count) + " operands (" + list_of(operands) + "), expected " +
                   std::to_string(op.min_operands) +
                   (op.max_operands > op.min_operands ? " to " + std::to_string(op.max_operands) : ""));
  switch (call.op) {
    case OpId::is_weird:
      return {DType::b1, elementwise(call, operands, Wanted::floating).shape};
    case OpId::cmpf:
      if (call.predicate > Predicate::true_) fail(call, "predicate is one of cmpi");
      return {DType::b1, elementwise(call, operands, Wanted::floating).shape};
    case OpId::cmpi:
      if (call.predicate < Predicate::eq) fail(call, "predicate is one of cmpf");
      return {DType::b1, elementwise(call, operands, Wanted::integer).shape};
    case OpId::select:
      if (operands[0].dtype != DType::b1) fail(call, "condition is " + text_of(operands[0]) + ", expected bool");
      if (operands[1].dtype != operands[2].dtype)
        fail(call, "operand types " + text_of(operands[1]) + " and " + text_of(operands[2]) + " differ");
      check_operand(call, operands[1], Wanted::any);
      return {operands[1].dtype, common_shape(call, operands)};
    case OpId::extf:
    case OpId::truncf:
      return convert(call, operands[0], Wanted::floating, Wanted::floating);
    case OpId::fptosi:
    case OpId::fptoui:
      return convert(call, operands[0], Wanted::floating, Wanted::integer);
    case OpId::sitofp:
    case OpId::uitofp:
      return convert(call, operands[0], Wanted::integer, Wanted::floating);
    case OpId::extsi:
    case OpId::extui:
      return resized_int(call, operands[0], true);
    case OpId::trunci:
      return resized_int(call, operands[0], false);
    case OpId::stochastic_convert:
      if (operands[0].dtype != DType::f32 || !is_int(operands[1].dtype) || bits(operands[1].dtype) != 32)
        fail(call, list_of(operands) + ": expected f32 and 32-bit integers");
      if (!is_floating(call.dtype) || bits(call.dtype) > 16 || call.dtype == DType::f8e8m0fnu)
        fail(call, "result type is " + std::string(name(call.dtype)) + ", expected a float type of 16 bits or less");
      return {call.dtype, common_shape(call, operands)};
    case OpId::bitcast:
      return bitcast_type(call, operands[0]);
    case OpId::pack_elementwise:
      return pack_type(call, operands);
    case OpId::unpack_elementwise:
      return unpack_type(call, operands[0]);
    default:
      if (!op.elementwise) return whole_tile_type(call, operands);
      return elementwise(call, operands, call.op < OpId::addi ? Wanted::floating : Wanted::integer);
  }
}

}  // namespace tilecheck
