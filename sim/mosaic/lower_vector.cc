// Operations that reshape, move, reduce or multiply vectors.
#include <algorithm>

#include "sim/mosaic/op_attrs.h"
#include "sim/mosaic/program.h"

namespace tilecheck::mosaic {
namespace {

// Any operation of the table, on tiles; scalar operands become rank-0 tiles, a rank-0 result may go to a scalar.
void run_table_op(Activation& frame, const Instr& instr) {
  const size_t n = instr.in.size();
  if (n <= 4) {
    Tile operands[4];
    for (size_t i = 0; i < n; ++i) operands[i] = take_tile(frame, instr, i);
    set_tile(frame, instr.out[0], apply(frame.core->ops(), *instr.call, {operands, n}));
    return;
  }
  std::vector<Tile> operands(n);
  for (size_t i = 0; i < n; ++i) operands[i] = take_tile(frame, instr, i);
  set_tile(frame, instr.out[0], apply(frame.core->ops(), *instr.call, operands));
}

void run_reshape(Activation& frame, const Instr& instr) {
  set_tile(frame, instr.out[0], take_tile(frame, instr, 0).reshaped(instr.shape));
}

void run_identity(Activation& frame, const Instr& instr) {
  if (instr.in[0].kind == SlotKind::tile) {
    frame.tiles[instr.out[0].index] = take_tile(frame, instr, 0);
  } else {
    copy_slot(frame, instr.in[0], instr.out[0]);
  }
}

// A sub-box at static and dynamic positions, leading dimensions dropped. ints: the positions, kDynamic where an operand
// says.
void run_extract(Activation& frame, const Instr& instr) {
  Tile source = take_tile(frame, instr, 0);
  OpCall call{.op = OpId::slice};
  call.shape = source.shape();
  call.dims = Dims::filled(source.rank(), 0);
  call.dtype = source.dtype();
  size_t operand = 1;
  for (size_t d = 0; d < instr.ints.size(); ++d) {
    const int i = static_cast<int>(d);
    call.dims[i] =
        instr.ints[d] == kDynamic ? index_of(frame, instr.in[operand++], instr, "a vector index") : instr.ints[d];
    call.shape[i] = 1;
  }
  Tile result = apply(frame.core->ops(), call, {&source, 1});
  set_tile(frame, instr.out[0], result.reshaped(instr.shape));
}

void run_insert(Activation& frame, const Instr& instr) {
  Tile value = take_tile(frame, instr, 0);
  Tile into = take_tile(frame, instr, 1);
  OpCall call{.op = OpId::insert_slice};
  call.dims = Dims::filled(into.rank(), 0);
  call.dtype = into.dtype();
  Shape shape = into.shape();
  size_t operand = 2;
  for (size_t d = 0; d < instr.ints.size(); ++d) {
    const int i = static_cast<int>(d);
    call.dims[i] =
        instr.ints[d] == kDynamic ? index_of(frame, instr.in[operand++], instr, "a vector index") : instr.ints[d];
    shape[i] = 1;
  }
  Tile operands[] = {value.is_scalar() && shape.rank() > 0 ? broadcast_to(value, shape) : value.reshaped(shape),
                     std::move(into)};
  set_tile(frame, instr.out[0], apply(frame.core->ops(), call, operands));
}

void run_from_elements(Activation& frame, const Instr& instr) {
  std::vector<Tile> elements;
  for (const Slot& slot : instr.in) elements.push_back(tile_of(frame, slot).reshaped({1}));
  set_tile(frame, instr.out[0], concatenate(elements, 0).reshaped(instr.shape));
}

std::optional<OpId> reduction_op(ReductionKind kind) {
  switch (kind) {
    case ReductionKind::add:
      return OpId::reduce_add;
    case ReductionKind::mul:
      return OpId::reduce_mul;
    case ReductionKind::maximumf:
    case ReductionKind::maxsi:
      return OpId::reduce_max;
    case ReductionKind::minimumf:
    case ReductionKind::minsi:
      return OpId::reduce_min;
    case ReductionKind::maxui:
      return OpId::reduce_maxu;
    case ReductionKind::minui:
      return OpId::reduce_minu;
    case ReductionKind::and_:
      return OpId::reduce_and;
    case ReductionKind::or_:
      return OpId::reduce_or;
    case ReductionKind::xor_:
      return OpId::reduce_xor;
    default:
      return std::nullopt;
  }
}

OpCall& table_call(LowerContext& context, Instr& instr, OpId op) {
  OpCall& call = context.new_call(op);
  call.dtype = instr.out[0].dtype;
  call.shape = instr.shape;
  instr.call = &call;
  instr.run = run_table_op;
  return call;
}

int rank_of(const LowerContext& context, ValueId v) { return context.function.type_of(v).shape.rank(); }

// Positions of vector.extract and vector.insert: static_position, with kDynamic for the trailing operands.
void set_positions(const Op& op, Instr& instr) {
  for (int64_t i : op.ints(AttrName::static_position)) instr.ints.push_back(i);
  if (instr.ints.empty())
    for (int64_t i : op.ints(AttrName::position)) instr.ints.push_back(i);
}

}  // namespace

bool lower_vector(LowerContext& context, const Op& op, Instr& instr) {
  switch (op.code) {
    case OpCode::vector_broadcast:
    case OpCode::vector_splat:
      table_call(context, instr, OpId::broadcast);
      return true;
    case OpCode::vector_shape_cast:
    case OpCode::tpu_reshape:
      instr.run = run_reshape;
      return true;
    case OpCode::tpu_relayout:
    case OpCode::tpu_assume_multiple:
      instr.run = run_identity;
      return true;
    case OpCode::vector_multi_reduction:
    case OpCode::vector_reduction: {
      const std::optional<ReductionKind> kind = reduction_kind(op);
      const std::optional<OpId> id = kind ? reduction_op(*kind) : std::nullopt;
      if (!id) not_modelled(context, op, "of this kind");
      OpCall& call = table_call(context, instr, *id);
      call.dims = op.code == OpCode::vector_reduction ? Dims{0} : op.dims(AttrName::reduction_dims);
      return true;
    }
    case OpCode::tpu_reduce_index: {
      const std::optional<ReductionKind> kind = reduction_kind(op);
      if (kind != ReductionKind::arg_max && kind != ReductionKind::arg_min) not_modelled(context, op, "of this kind");
      table_call(context, instr, *kind == ReductionKind::arg_max ? OpId::argmax : OpId::argmin).axis =
          static_cast<int>(op.int_or(AttrName::axis, 0));
      return true;
    }
    case OpCode::vector_extract:
      set_positions(op, instr);
      instr.run = run_extract;
      return true;
    case OpCode::vector_extractelement:
      if (op.operands.size() == 2) instr.ints.push_back(kDynamic);
      instr.run = run_extract;
      return true;
    case OpCode::vector_insert:
      set_positions(op, instr);
      instr.run = run_insert;
      return true;
    case OpCode::vector_from_elements:
      instr.run = run_from_elements;
      return true;
    case OpCode::vector_extract_strided_slice: {
      OpCall& call = table_call(context, instr, OpId::slice);
      const int rank = rank_of(context, op.operands[0]);
      call.dims = Dims::filled(rank, 0);
      call.strides = Dims::filled(rank, 1);
      const Dims offsets = op.dims(AttrName::offsets), strides = op.dims(AttrName::strides);
      for (int d = 0; d < offsets.rank() && d < rank; ++d) call.dims[d] = offsets[d];
      for (int d = 0; d < strides.rank() && d < rank; ++d) call.strides[d] = strides[d];
      return true;
    }
    case OpCode::vector_insert_strided_slice: {
      const Dims strides = op.dims(AttrName::strides);
      if (std::any_of(strides.begin(), strides.end(), [](int64_t s) { return s != 1; }))
        not_modelled(context, op, "with strides");
      OpCall& call = table_call(context, instr, OpId::insert_slice);
      call.dims = op.dims(AttrName::offsets);
      return true;
    }
    case OpCode::vector_transpose:
    case OpCode::tpu_transpose:
      table_call(context, instr, OpId::transpose).dims = op.dims(AttrName::permutation);
      return true;
    case OpCode::vector_bitcast:
    case OpCode::tpu_bitcast:
      table_call(context, instr, OpId::bitcast);
      return true;
    case OpCode::vector_step:
      table_call(context, instr, OpId::iota).dims = {0};
      return true;
    case OpCode::tpu_iota: {
      OpCall& call = table_call(context, instr, OpId::iota);
      call.dims = op.dims(AttrName::dimensions);
      if (call.dims.empty())  // all dimensions, row-major
        for (int d = 0; d < instr.shape.rank(); ++d) call.dims.push_back(d);
      return true;
    }
    case OpCode::tpu_concatenate:
      table_call(context, instr, OpId::concatenate).axis = static_cast<int>(op.int_or(AttrName::dimension, 0));
      return true;
    case OpCode::tpu_repeat: {
      OpCall& call = table_call(context, instr, OpId::repeat);
      call.axis = static_cast<int>(op.int_or(AttrName::dimension, 0));
      call.amount = op.int_or(AttrName::times, 1);
      return true;
    }
    case OpCode::tpu_dynamic_rotate: {
      OpCall& call = table_call(context, instr, OpId::rotate);
      call.axis = static_cast<int>(op.int_or(AttrName::dimension, 0));
      call.amount = op.int_or(AttrName::stride, 0);
      call.stride_axis = static_cast<int>(op.int_or(AttrName::stride_dimension, -1));
      return true;
    }
    case OpCode::tpu_dynamic_gather:
      table_call(context, instr, OpId::gather).dims = op.dims(AttrName::dimensions);
      return true;
    case OpCode::tpu_matmul: {
      OpCall& call = table_call(context, instr, OpId::matmul);
      const std::optional<DotDims> dims =
          dot_dims(op, rank_of(context, op.operands[0]), rank_of(context, op.operands[1]));
      const std::optional<Precision> p = precision(op);
      if (!dims) not_modelled(context, op, "with these dimension numbers");
      if (!p) not_modelled(context, op, "with this precision");
      const bool is_float = is_floating(context.function.type_of(op.result()).dtype);
      for (ValueId v : op.operands.first(2))
        if (is_floating(context.function.type_of(v).dtype) != is_float)
          not_modelled(context, op, "of floats with integers");
      call.dot = *dims;
      call.precision = *p;
      return true;
    }
    case OpCode::tpu_pack_elementwise: {
      OpCall& call = table_call(context, instr, OpId::pack_elementwise);
      const Attr* target = op.find(AttrName::target_type);
      if (!target || !target->type) not_modelled(context, op, "without a target type");
      call.source_dtype = target->type->dtype;
      return true;
    }
    case OpCode::tpu_unpack_elementwise: {
      OpCall& call = table_call(context, instr, OpId::unpack_elementwise);
      const Attr* source = op.find(AttrName::source_type);
      if (!source || !source->type) not_modelled(context, op, "without a source type");
      call.source_dtype = source->type->dtype;
      call.amount = op.int_or(AttrName::index, 0);
      return true;
    }
    default:
      return false;
  }
}

}  // namespace tilecheck::mosaic
