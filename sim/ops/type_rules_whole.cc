// Type rules of operations that move, reduce or contract whole tiles.
#include "sim/ops/type_checks.h"

namespace tilecheck {
namespace {

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

TypeAndShape whole_tile_type(const OpCall& call, Operands operands) {
  switch (call.op) {
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
    default:
      return matmul_type(call, operands);
  }
}

}  // namespace tilecheck
