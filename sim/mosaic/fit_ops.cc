#include "sim/mosaic/fit_ops.h"

#include <array>

#include "sim/mosaic/op_attrs.h"

namespace tilecheck::mosaic {
namespace {

using fit::Fn;
using fit::OpKind;

constexpr FitOp kFitOps[] = {
    {OpCode::arith_addf, OpKind::elementwise, Fn::add},
    {OpCode::arith_addi, OpKind::elementwise, Fn::add},
    {OpCode::arith_subf, OpKind::elementwise, Fn::sub},
    {OpCode::arith_subi, OpKind::elementwise, Fn::sub},
    {OpCode::arith_mulf, OpKind::elementwise, Fn::mul},
    {OpCode::arith_muli, OpKind::elementwise, Fn::mul},
    {OpCode::arith_divf, OpKind::elementwise, Fn::div},
    {OpCode::arith_divsi, OpKind::elementwise, Fn::div},
    {OpCode::arith_divui, OpKind::elementwise, Fn::div, true},
    {OpCode::arith_floordivsi, OpKind::elementwise, Fn::div},
    {OpCode::arith_ceildivsi, OpKind::elementwise, Fn::div},
    {OpCode::arith_ceildivui, OpKind::elementwise, Fn::div, true},
    {OpCode::arith_remf, OpKind::elementwise, Fn::rem},
    {OpCode::arith_remsi, OpKind::elementwise, Fn::rem},
    {OpCode::arith_remui, OpKind::elementwise, Fn::rem, true},
    {OpCode::arith_maximumf, OpKind::elementwise, Fn::max},
    {OpCode::arith_maxnumf, OpKind::elementwise, Fn::max},
    {OpCode::arith_maxsi, OpKind::elementwise, Fn::max},
    {OpCode::arith_maxui, OpKind::elementwise, Fn::max, true},
    {OpCode::arith_minimumf, OpKind::elementwise, Fn::min},
    {OpCode::arith_minnumf, OpKind::elementwise, Fn::min},
    {OpCode::arith_minsi, OpKind::elementwise, Fn::min},
    {OpCode::arith_minui, OpKind::elementwise, Fn::min, true},
    {OpCode::arith_negf, OpKind::elementwise, Fn::neg},
    {OpCode::arith_andi, OpKind::elementwise, Fn::bit_and},
    {OpCode::arith_ori, OpKind::elementwise, Fn::bit_or},
    {OpCode::arith_xori, OpKind::elementwise, Fn::bit_xor},
    {OpCode::arith_shli, OpKind::elementwise, Fn::shift_left},
    {OpCode::arith_shrui, OpKind::elementwise, Fn::shift_right_logical, true},
    {OpCode::arith_shrsi, OpKind::elementwise, Fn::shift_right_arithmetic},
    {OpCode::arith_cmpi, OpKind::compare},
    {OpCode::arith_cmpf, OpKind::compare},
    {OpCode::arith_select, OpKind::select},
    {OpCode::arith_extf, OpKind::convert},
    {OpCode::arith_truncf, OpKind::convert},
    {OpCode::arith_convertf, OpKind::convert},
    {OpCode::arith_extsi, OpKind::convert},
    {OpCode::arith_extui, OpKind::convert, Fn::none, true},
    {OpCode::arith_trunci, OpKind::convert},
    {OpCode::arith_sitofp, OpKind::convert},
    {OpCode::arith_uitofp, OpKind::convert, Fn::none, true},
    {OpCode::arith_fptosi, OpKind::convert},
    {OpCode::arith_fptoui, OpKind::convert, Fn::none, true},
    {OpCode::arith_index_cast, OpKind::convert},
    {OpCode::arith_index_castui, OpKind::convert, Fn::none, true},
    {OpCode::tpu_extf, OpKind::convert},
    {OpCode::tpu_truncf, OpKind::convert},
    {OpCode::tpu_sitofp, OpKind::convert},
    {OpCode::tpu_uitofp, OpKind::convert, Fn::none, true},
    {OpCode::tpu_fptosi, OpKind::convert},
    {OpCode::tpu_fptoui, OpKind::convert, Fn::none, true},
    {OpCode::tpu_stochastic_convert, OpKind::convert},
    {OpCode::tpu_stochastic_convert_elementwise, OpKind::convert},
    {OpCode::arith_bitcast, OpKind::bitcast},
    {OpCode::tpu_bitcast, OpKind::bitcast},
    {OpCode::vector_bitcast, OpKind::bitcast},
    {OpCode::math_absf, OpKind::elementwise, Fn::abs},
    {OpCode::math_absi, OpKind::elementwise, Fn::abs},
    {OpCode::math_ceil, OpKind::elementwise, Fn::ceil},
    {OpCode::math_floor, OpKind::elementwise, Fn::floor},
    {OpCode::math_round, OpKind::elementwise, Fn::round},
    {OpCode::math_roundeven, OpKind::elementwise, Fn::round_even},
    {OpCode::math_trunc, OpKind::elementwise, Fn::floor},
    {OpCode::math_exp, OpKind::elementwise, Fn::exp},
    {OpCode::math_exp2, OpKind::elementwise, Fn::exp2},
    {OpCode::math_expm1, OpKind::elementwise, Fn::exp},
    {OpCode::math_log, OpKind::elementwise, Fn::log},
    {OpCode::math_log2, OpKind::elementwise, Fn::log},
    {OpCode::math_log10, OpKind::elementwise, Fn::log},
    {OpCode::math_log1p, OpKind::elementwise, Fn::log1p},
    {OpCode::math_sqrt, OpKind::elementwise, Fn::sqrt},
    {OpCode::math_rsqrt, OpKind::elementwise, Fn::rsqrt},
    {OpCode::math_tanh, OpKind::elementwise, Fn::tanh},
    {OpCode::math_erf, OpKind::elementwise, Fn::erf},
    {OpCode::math_erfc, OpKind::elementwise, Fn::erf},
    {OpCode::math_sin, OpKind::elementwise, Fn::sin},
    {OpCode::math_cos, OpKind::elementwise, Fn::cos},
    {OpCode::math_tan, OpKind::elementwise, Fn::tan},
    {OpCode::math_atan2, OpKind::elementwise, Fn::atan2},
    {OpCode::math_powf, OpKind::elementwise, Fn::pow},
    {OpCode::math_ctpop, OpKind::elementwise, Fn::popcount},
    {OpCode::math_ctlz, OpKind::elementwise, Fn::count_leading_zeros},
    {OpCode::math_isfinite, OpKind::elementwise, Fn::is_finite},
    {OpCode::tpu_weird, OpKind::elementwise, Fn::is_finite},
    {OpCode::tpu_reciprocal, OpKind::elementwise, Fn::reciprocal},
    {OpCode::tpu_logistic, OpKind::elementwise, Fn::logistic},
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

const FitOp* find_fit_op(OpCode code) { return code == OpCode::unknown ? nullptr : kByCode[static_cast<size_t>(code)]; }

fit::Fn compare_fn(const Op& op, bool& is_unsigned) {
  const int64_t predicate = op.int_or(AttrName::predicate, 0);
  if (op.code == OpCode::arith_cmpi) {
    constexpr Fn kFns[] = {Fn::eq, Fn::ne, Fn::lt, Fn::le, Fn::gt, Fn::ge, Fn::lt, Fn::le, Fn::gt, Fn::ge};
    is_unsigned = predicate >= 6;
    return predicate >= 0 && predicate < 10 ? kFns[predicate] : Fn::other;
  }
  constexpr Fn kFns[] = {Fn::other, Fn::eq, Fn::gt, Fn::ge, Fn::lt, Fn::le, Fn::ne,    Fn::other,
                         Fn::eq,    Fn::gt, Fn::ge, Fn::lt, Fn::le, Fn::ne, Fn::other, Fn::other};
  return predicate >= 0 && predicate < 16 ? kFns[predicate] : Fn::other;
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
