// Result types and shapes of operations, and what is said when operands do not fit.
#include <string>

#include "sim/ops/ops.h"
#include "sim/types/error.h"

namespace tilecheck {
namespace {

using Operands = std::span<const OperandType>;

std::string text_of(const OperandType& operand) {
  std::string text(name(operand.dtype));
  return operand.shape->empty() ? text : text + "[" + to_string(*operand.shape) + "]";
}

[[noreturn]] void fail(const OpCall& call, const std::string& what) {
  throw InputError(std::string(info(call.op).name), what);
}

std::string list_of(Operands operands) {
  std::string text;
  for (const OperandType& operand : operands) text += (text.empty() ? "" : ", ") + text_of(operand);
  return text;
}

enum class Wanted : uint8_t { any, floating, integer };

bool fits(DType dtype, Wanted wanted) {
  switch (wanted) {
    case Wanted::any:
      return !is_semaphore(dtype);
    case Wanted::floating:
      return is_floating(dtype);
    case Wanted::integer:
      return is_int(dtype) || dtype == DType::b1;
  }
  return false;
}

void check_operand(const OpCall& call, const OperandType& operand, Wanted wanted) {
  if (fits(operand.dtype, wanted)) return;
  fail(call, "operand is " + text_of(operand) + ", expected " +
                 (wanted == Wanted::floating  ? "a float type"
                  : wanted == Wanted::integer ? "an integer type or bool"
                                              : "an element type with arithmetic"));
}

void check_result(const OpCall& call, Wanted wanted) {
  if (fits(call.dtype, wanted)) return;
  fail(call, "result type is " + std::string(name(call.dtype)) + ", expected " +
                 (wanted == Wanted::floating ? "a float type" : "an integer type or bool"));
}

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

int checked_axis(const OpCall& call, int64_t axis, const Shape& shape) {
  if (axis < 0 || axis >= shape.rank())
    fail(call, "axis " + std::to_string(axis) + " of a tile of shape " + to_tuple(shape) + ": expected 0 to " +
                   std::to_string(shape.rank() - 1));
  return static_cast<int>(axis);
}

void check_shape(const OpCall& call, const Shape& shape) {
  if (checked_element_count(shape, 8) < 0) fail(call, "shape " + to_tuple(shape) + " is negative or too large");
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

TypeAndShape broadcast_type(const OpCall& call, const OperandType& from) {
  const Shape& in = *from.shape;
  check_shape(call, call.shape);
  const int extra = call.shape.rank() - in.rank();
  bool good = extra >= 0;
  for (int i = 0; good && i < in.rank(); ++i) good = in[i] == 1 || in[i] == call.shape[i + extra];
  if (!good) fail(call, text_of(from) + " does not broadcast to " + to_tuple(call.shape));
  return {from.dtype, call.shape};
}

TypeAndShape transpose_type(const OpCall& call, const OperandType& from) {
  const Shape& in = *from.shape;
  Shape out;
  uint32_t seen = 0;
  for (int64_t d : call.dims) {
    if (d < 0 || d >= in.rank() || (seen >> d & 1)) break;
    seen |= 1u << d;
    out.push_back(in[static_cast<int>(d)]);
  }
  if (out.rank() != in.rank() || call.dims.rank() != in.rank())
    fail(call, to_tuple(call.dims) + " is not a permutation of the dimensions of " + text_of(from));
  return {from.dtype, out};
}

TypeAndShape concatenate_type(const OpCall& call, Operands operands) {
  const int axis = checked_axis(call, call.axis, *operands[0].shape);
  Shape out = *operands[0].shape;
  out[axis] = 0;
  for (const OperandType& operand : operands) {
    Shape expected = *operands[0].shape;
    if (operand.shape->rank() == expected.rank()) expected[axis] = (*operand.shape)[axis];
    if (operand.dtype != operands[0].dtype || !(*operand.shape == expected))
      fail(call, "operands " + text_of(operands[0]) + " and " + text_of(operand) + " along axis " +
                     std::to_string(axis) + ": expected one type and equal other dimensions");
    out[axis] += expected[axis];
  }
  check_shape(call, out);
  return {operands[0].dtype, out};
}

TypeAndShape slice_type(const OpCall& call, const OperandType& from) {
  const Shape& in = *from.shape;
  const int rank = in.rank();
  check_shape(call, call.shape);
  bool good =
      call.dims.rank() == rank && call.shape.rank() == rank && (call.strides.empty() || call.strides.rank() == rank);
  for (int i = 0; good && i < rank; ++i) {
    const int64_t stride = call.strides.empty() ? 1 : call.strides[i];
    const int64_t offset = call.dims[i];
    good = stride >= 1 && offset >= 0 && offset <= in[i] &&
           (call.shape[i] == 0 || (offset < in[i] && call.shape[i] - 1 <= (in[i] - 1 - offset) / stride));
  }
  if (!good)
    fail(call, "offsets " + to_tuple(call.dims) + ", shape " + to_tuple(call.shape) +
                   (call.strides.empty() ? std::string() : ", strides " + to_tuple(call.strides)) +
                   " do not lie inside " + text_of(from));
  return {from.dtype, call.shape};
}

TypeAndShape insert_slice_type(const OpCall& call, Operands operands) {
  const Shape& part = *operands[0].shape;
  const Shape& into = *operands[1].shape;
  bool good = operands[0].dtype == operands[1].dtype && part.rank() == into.rank() && call.dims.rank() == into.rank();
  for (int i = 0; good && i < into.rank(); ++i)
    good = call.dims[i] >= 0 && call.dims[i] <= into[i] && part[i] <= into[i] - call.dims[i];
  if (!good)
    fail(call, text_of(operands[0]) + " at " + to_tuple(call.dims) + " does not lie inside " + text_of(operands[1]));
  return {operands[1].dtype, into};
}

TypeAndShape iota_type(const OpCall& call) {
  check_shape(call, call.shape);
  if (!fits(call.dtype, Wanted::any) || call.dtype == DType::b1)
    fail(call, "result type is " + std::string(name(call.dtype)));
  uint32_t seen = 0;
  for (int64_t d : call.dims) {
    checked_axis(call, d, call.shape);
    if (seen >> d & 1) fail(call, "dimension " + std::to_string(d) + " is named twice");
    seen |= 1u << d;
  }
  return {call.dtype, call.shape};
}

TypeAndShape rotate_type(const OpCall& call, Operands operands) {
  check_operand(call, operands[1], Wanted::integer);
  if (!operands[1].shape->empty()) fail(call, "amount is " + text_of(operands[1]) + ", expected a scalar");
  checked_axis(call, call.axis, *operands[0].shape);
  if (call.stride_axis >= 0 && checked_axis(call, call.stride_axis, *operands[0].shape) == call.axis)
    fail(call, "stride dimension " + std::to_string(call.stride_axis) + " is the rotated one");
  return {operands[0].dtype, *operands[0].shape};
}

TypeAndShape gather_type(const OpCall& call, Operands operands) {
  check_operand(call, operands[1], Wanted::integer);
  const Shape& source = *operands[0].shape;
  const Shape& indices = *operands[1].shape;
  if (call.dims.rank() != 1) fail(call, "dimensions " + to_tuple(call.dims) + ": expected one");
  const int axis = checked_axis(call, call.dims[0], source);
  Shape expected = indices;
  if (expected.rank() == source.rank()) expected[axis] = source[axis];
  if (!(expected == source))
    fail(call, "source " + text_of(operands[0]) + " and indices " + text_of(operands[1]) +
                   ": expected equal dimensions other than " + std::to_string(axis));
  if (source[axis] == 0 && indices[axis] != 0) fail(call, "source " + text_of(operands[0]) + " has no elements");
  return {operands[0].dtype, indices};
}

TypeAndShape reduce_type(const OpCall& call, Operands operands, Wanted wanted) {
  check_operand(call, operands[0], wanted);
  const Shape& in = *operands[0].shape;
  uint32_t reduced = 0;
  for (int64_t axis : call.dims) {
    checked_axis(call, axis, in);
    if (reduced >> axis & 1) fail(call, "axis " + std::to_string(axis) + " is named twice");
    reduced |= 1u << axis;
  }
  Shape out;
  for (int i = 0; i < in.rank(); ++i)
    if (!(reduced >> i & 1)) out.push_back(in[i]);
  if (operands.size() > 1 &&
      (operands[1].dtype != operands[0].dtype || !(operands[1].shape->empty() || *operands[1].shape == out)))
    fail(call, "operand " + text_of(operands[0]) + " over axes " + to_tuple(call.dims) + " with accumulator " +
                   text_of(operands[1]) + ": expected " + text_of({operands[0].dtype, &out}));
  return {operands[0].dtype, out};
}

TypeAndShape argument_type(const OpCall& call, const OperandType& from) {
  check_operand(call, from, Wanted::any);
  const int axis = checked_axis(call, call.axis, *from.shape);
  Shape out = *from.shape;
  if (out[axis] == 0) fail(call, text_of(from) + " has no elements along axis " + std::to_string(axis));
  out.erase(axis);
  return {is_int(call.dtype) ? call.dtype : DType::i32, out};
}

TypeAndShape matmul_type(const OpCall& call, Operands operands) {
  const OperandType& lhs = operands[0];
  const OperandType& rhs = operands[1];
  const DotDims& dot = call.dot;
  check_operand(call, lhs, Wanted::any);
  check_operand(call, rhs, Wanted::any);
  const bool floating = is_floating(call.dtype);
  if (is_floating(lhs.dtype) != floating || is_floating(rhs.dtype) != floating || call.dtype == DType::b1)
    fail(call, text_of(lhs) + " x " + text_of(rhs) + " -> " + std::string(name(call.dtype)) +
                   ": expected all float or all integer");
  const auto in_range = [](const Dims& dims, int rank, uint32_t& seen) {
    for (int64_t d : dims) {
      if (d < 0 || d >= rank || (seen >> d & 1)) return false;
      seen |= 1u << d;
    }
    return true;
  };
  const auto extents_equal = [&](const Dims& a, const Dims& b) {
    if (a.rank() != b.rank()) return false;
    for (int i = 0; i < a.rank(); ++i)
      if ((*lhs.shape)[static_cast<int>(a[i])] != (*rhs.shape)[static_cast<int>(b[i])]) return false;
    return true;
  };
  uint32_t seen_lhs = 0, seen_rhs = 0;
  const int lhs_rank = lhs.shape->rank(), rhs_rank = rhs.shape->rank();
  const bool good = in_range(dot.lhs_contract, lhs_rank, seen_lhs) && in_range(dot.lhs_keep, lhs_rank, seen_lhs) &&
                    in_range(dot.lhs_batch, lhs_rank, seen_lhs) && in_range(dot.rhs_contract, rhs_rank, seen_rhs) &&
                    in_range(dot.rhs_keep, rhs_rank, seen_rhs) && in_range(dot.rhs_batch, rhs_rank, seen_rhs) &&
                    seen_lhs == (1u << lhs_rank) - 1 && seen_rhs == (1u << rhs_rank) - 1 &&
                    extents_equal(dot.lhs_contract, dot.rhs_contract) && extents_equal(dot.lhs_batch, dot.rhs_batch);
  if (!good)
    fail(call, text_of(lhs) + " x " + text_of(rhs) + " contracting " + to_tuple(dot.lhs_contract) + " with " +
                   to_tuple(dot.rhs_contract) + ", batch " + to_tuple(dot.lhs_batch) + " with " +
                   to_tuple(dot.rhs_batch) + ": dimension numbers do not fit the shapes");
  Shape out;
  if (dot.out_order.empty()) {
    for (int64_t d : dot.lhs_batch) out.push_back((*lhs.shape)[static_cast<int>(d)]);
    for (int64_t d : dot.lhs_keep) out.push_back((*lhs.shape)[static_cast<int>(d)]);
    for (int64_t d : dot.rhs_keep) out.push_back((*rhs.shape)[static_cast<int>(d)]);
  } else {
    uint32_t placed_lhs = 0, placed_rhs = 0, batch_lhs = 0, batch_rhs = 0, keep_lhs = 0, keep_rhs = 0;
    for (int64_t d : dot.lhs_batch) batch_lhs |= 1u << d;
    for (int64_t d : dot.rhs_batch) batch_rhs |= 1u << d;
    for (int64_t d : dot.lhs_keep) keep_lhs |= 1u << d;
    for (int64_t d : dot.rhs_keep) keep_rhs |= 1u << d;
    bool order_good = dot.out_order.rank() % 2 == 0;
    for (int i = 0; order_good && i + 1 < dot.out_order.rank(); i += 2) {
      const bool is_rhs = dot.out_order[i] != 0;
      const OperandType& from = is_rhs ? rhs : lhs;
      int64_t d = dot.out_order[i + 1];
      order_good = dot.out_order[i] >= 0 && dot.out_order[i] <= 1 && d >= 0 && d < from.shape->rank();
      if (!order_good) break;
      out.push_back((*from.shape)[static_cast<int>(d)]);
      if (is_rhs && (batch_rhs >> d & 1)) {  // a batch dimension may be named by either side
        for (int b = 0; b < dot.rhs_batch.rank(); ++b)
          if (dot.rhs_batch[b] == d) placed_lhs |= 1u << dot.lhs_batch[b];
      } else {
        uint32_t& placed = is_rhs ? placed_rhs : placed_lhs;
        order_good = !(placed >> d & 1);
        placed |= 1u << d;
      }
    }
    if (!order_good || placed_lhs != (batch_lhs | keep_lhs) || placed_rhs != keep_rhs)
      fail(call, "output order " + to_tuple(dot.out_order) + " does not name each batch and kept dimension once");
  }
  check_shape(call, out);
  if (operands.size() > 2 &&
      (operands[2].dtype != call.dtype || !(operands[2].shape->empty() || *operands[2].shape == out)))
    fail(call, "accumulator is " + text_of(operands[2]) + ", expected " + text_of({call.dtype, &out}));
  return {call.dtype, out};
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
    case OpId::broadcast:
      return broadcast_type(call, operands[0]);
    case OpId::reshape:
      check_shape(call, call.shape);
      if (element_count(call.shape) != element_count(*operands[0].shape))
        fail(call, text_of(operands[0]) + " to " + to_tuple(call.shape) + ": the number of elements differs");
      return {operands[0].dtype, call.shape};
    case OpId::transpose:
      return transpose_type(call, operands[0]);
    case OpId::concatenate:
      return concatenate_type(call, operands);
    case OpId::slice:
      return slice_type(call, operands[0]);
    case OpId::iota:
      return iota_type(call);
    case OpId::rotate:
      return rotate_type(call, operands);
    case OpId::repeat: {
      const int axis = checked_axis(call, call.axis, *operands[0].shape);
      if (call.amount < 0) fail(call, "repeat count " + std::to_string(call.amount) + " is negative");
      Shape out = *operands[0].shape;
      if (__builtin_mul_overflow(out[axis], call.amount, &out[axis])) out[axis] = -1;
      check_shape(call, out);
      return {operands[0].dtype, out};
    }
    case OpId::gather:
      return gather_type(call, operands);
    case OpId::insert_slice:
      return insert_slice_type(call, operands);
    case OpId::reduce_add:
    case OpId::reduce_mul:
    case OpId::reduce_max:
    case OpId::reduce_min:
      return reduce_type(call, operands, Wanted::any);
    case OpId::reduce_maxu:
    case OpId::reduce_minu:
    case OpId::reduce_and:
    case OpId::reduce_or:
    case OpId::reduce_xor:
      return reduce_type(call, operands, Wanted::integer);
    case OpId::argmax:
    case OpId::argmin:
      return argument_type(call, operands[0]);
    case OpId::matmul:
      return matmul_type(call, operands);
    default:
      return elementwise(call, operands, call.op < OpId::addi ? Wanted::floating : Wanted::integer);
  }
}

}  // namespace tilecheck
