#include "sim/mosaic/fit_ops.h"

#include <array>

#include "sim/mosaic/op_attrs.h"
#include "sim/mosaic/tile_ops.h"

namespace tilecheck::mosaic {
namespace {

using fit::Fn;
using fit::OpKind;

struct FitOp {
  OpCode code;
  fit::NamedKind is;
  constexpr FitOp(OpCode c, OpKind kind, Fn fn = Fn::none, bool is_unsigned = false)
      : code(c), is{kind, fn, is_unsigned} {}
};

// Those that are no single operation of the tile table.
constexpr FitOp kFitOps[] = {
    {OpCode::arith_ceildivui, OpKind::elementwise, Fn::div, true},
    {OpCode::arith_convertf, OpKind::convert},
    {OpCode::arith_index_cast, OpKind::convert},
    {OpCode::arith_index_castui, OpKind::convert, Fn::none, true},
    {OpCode::tpu_bitcast, OpKind::bitcast},
    {OpCode::vector_bitcast, OpKind::bitcast},
    {OpCode::math_log10, OpKind::elementwise, Fn::log},
    {OpCode::math_isfinite, OpKind::elementwise, Fn::is_finite},
    {OpCode::vector_broadcast, OpKind::broadcast},
    {OpCode::vector_splat, OpKind::broadcast},
    {OpCode::vector_shape_cast, OpKind::reshape},
    {OpCode::tpu_reshape, OpKind::reshape},
    {OpCode::vector_transpose, OpKind::transpose},
    {OpCode::tpu_transpose, OpKind::transpose},
    {OpCode::vector_multi_reduction, OpKind::reduce},
    {OpCode::vector_reduction, OpKind::reduce},
    {OpCode::tpu_all_reduce, OpKind::reduce},
    {OpCode::tpu_reduce_index, OpKind::reduce_index},
    {OpCode::tpu_matmul, OpKind::matmul},
    {OpCode::tpu_concatenate, OpKind::concatenate},
    {OpCode::tpu_repeat, OpKind::concatenate},
    {OpCode::vector_extract_strided_slice, OpKind::slice},
    {OpCode::vector_extract, OpKind::extract},
    {OpCode::vector_extractelement, OpKind::extract},
    {OpCode::tpu_iota, OpKind::iota},
    {OpCode::vector_step, OpKind::iota},
    {OpCode::tpu_dynamic_rotate, OpKind::rotate},
    {OpCode::tpu_dynamic_gather, OpKind::gather},
    {OpCode::tpu_pack_elementwise, OpKind::pack},
    {OpCode::tpu_unpack_elementwise, OpKind::unpack},
    {OpCode::tpu_prng_random_bits, OpKind::random_bits},
    {OpCode::tpu_device_id, OpKind::device_id},
    {OpCode::tpu_core_id, OpKind::device_id},
    {OpCode::tpu_iteration_bound, OpKind::grid_size},
    {OpCode::tpu_barrier, OpKind::barrier},
    {OpCode::tpu_assume_multiple, OpKind::marker},
    {OpCode::tpu_trace_start, OpKind::marker},
    {OpCode::tpu_trace_stop, OpKind::marker},
    {OpCode::tpu_trace_value, OpKind::marker},
};

const std::array<const FitOp*, kOpCodeCount> kByCode = [] {
  std::array<const FitOp*, kOpCodeCount> table{};
  for (const FitOp& op : kFitOps) table[static_cast<size_t>(op.code)] = &op;
  return table;
}();

}  // namespace

std::optional<fit::NamedKind> find_fit_op(OpCode code) {
  if (code == OpCode::unknown) return std::nullopt;
  if (const FitOp* own = kByCode[static_cast<size_t>(code)]) return own->is;
  const std::optional<OpId> same = tile_op(code);
  return same ? fit::named_kind(*same) : std::nullopt;
}

fit::Fn reduce_fn(const Op& op) {
  const std::optional<ReductionKind> kind = reduction_kind(op);
  if (!kind) return Fn::other;
  switch (*kind) {
    case ReductionKind::add:
      return Fn::add;
    case ReductionKind::mul:
      return Fn::mul;
    case ReductionKind::maximumf:
    case ReductionKind::maxnumf:
    case ReductionKind::maxsi:
    case ReductionKind::maxui:
      return Fn::max;
    case ReductionKind::minimumf:
    case ReductionKind::minnumf:
    case ReductionKind::minsi:
    case ReductionKind::minui:
      return Fn::min;
    case ReductionKind::and_:
      return Fn::bit_and;
    case ReductionKind::or_:
      return Fn::bit_or;
    case ReductionKind::xor_:
      return Fn::bit_xor;
    case ReductionKind::arg_max:
      return Fn::argmax;
    case ReductionKind::arg_min:
      return Fn::argmin;
    case ReductionKind::find_first_set:
      return Fn::other;
  }
  return Fn::other;
}

}  // namespace tilecheck::mosaic
