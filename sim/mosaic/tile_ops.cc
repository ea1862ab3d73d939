#include "sim/mosaic/tile_ops.h"

#include <array>

namespace tilecheck::mosaic {
namespace {

struct Simple {
  OpCode code;
  OpId op;
};
constexpr Simple kSimple[] = {
    {OpCode::arith_addf, OpId::addf},
    {OpCode::arith_subf, OpId::subf},
    {OpCode::arith_mulf, OpId::mulf},
    {OpCode::arith_divf, OpId::divf},
    {OpCode::arith_remf, OpId::remf},
    {OpCode::arith_maximumf, OpId::maximumf},
    {OpCode::arith_minimumf, OpId::minimumf},
    {OpCode::arith_maxnumf, OpId::maxnumf},
    {OpCode::arith_minnumf, OpId::minnumf},
    {OpCode::arith_negf, OpId::negf},
    {OpCode::arith_addi, OpId::addi},
    {OpCode::arith_subi, OpId::subi},
    {OpCode::arith_muli, OpId::muli},
    {OpCode::arith_divsi, OpId::divsi},
    {OpCode::arith_divui, OpId::divui},
    {OpCode::arith_remsi, OpId::remsi},
    {OpCode::arith_remui, OpId::remui},
    {OpCode::arith_floordivsi, OpId::floordivsi},
    {OpCode::arith_ceildivsi, OpId::ceildivsi},
    {OpCode::arith_andi, OpId::andi},
    {OpCode::arith_ori, OpId::ori},
    {OpCode::arith_xori, OpId::xori},
    {OpCode::arith_shli, OpId::shli},
    {OpCode::arith_shrsi, OpId::shrsi},
    {OpCode::arith_shrui, OpId::shrui},
    {OpCode::arith_maxsi, OpId::maxsi},
    {OpCode::arith_maxui, OpId::maxui},
    {OpCode::arith_minsi, OpId::minsi},
    {OpCode::arith_minui, OpId::minui},
    {OpCode::arith_cmpi, OpId::cmpi},
    {OpCode::arith_cmpf, OpId::cmpf},
    {OpCode::arith_select, OpId::select},
    {OpCode::arith_extf, OpId::extf},
    {OpCode::arith_truncf, OpId::truncf},
    {OpCode::arith_extsi, OpId::extsi},
    {OpCode::arith_extui, OpId::extui},
    {OpCode::arith_trunci, OpId::trunci},
    {OpCode::arith_sitofp, OpId::sitofp},
    {OpCode::arith_uitofp, OpId::uitofp},
    {OpCode::arith_fptosi, OpId::fptosi},
    {OpCode::arith_fptoui, OpId::fptoui},
    {OpCode::arith_bitcast, OpId::bitcast},
    {OpCode::tpu_extf, OpId::extf},
    {OpCode::tpu_truncf, OpId::truncf},
    {OpCode::tpu_sitofp, OpId::sitofp},
    {OpCode::tpu_uitofp, OpId::uitofp},
    {OpCode::tpu_fptosi, OpId::fptosi},
    {OpCode::tpu_fptoui, OpId::fptoui},
    {OpCode::math_absf, OpId::absf},
    {OpCode::math_acos, OpId::acos},
    {OpCode::math_asin, OpId::asin},
    {OpCode::math_atan, OpId::atan},
    {OpCode::math_cbrt, OpId::cbrt},
    {OpCode::math_ceil, OpId::ceil},
    {OpCode::math_cos, OpId::cos},
    {OpCode::math_cosh, OpId::cosh},
    {OpCode::math_erf, OpId::erf},
    {OpCode::math_erfc, OpId::erfc},
    {OpCode::math_exp, OpId::exp},
    {OpCode::math_exp2, OpId::exp2},
    {OpCode::math_expm1, OpId::expm1},
    {OpCode::math_floor, OpId::floor},
    {OpCode::math_log, OpId::log},
    {OpCode::math_log1p, OpId::log1p},
    {OpCode::math_log2, OpId::log2},
    {OpCode::math_round, OpId::round},
    {OpCode::math_roundeven, OpId::roundeven},
    {OpCode::math_rsqrt, OpId::rsqrt},
    {OpCode::math_sin, OpId::sin},
    {OpCode::math_sinh, OpId::sinh},
    {OpCode::math_sqrt, OpId::sqrt},
    {OpCode::math_tan, OpId::tan},
    {OpCode::math_tanh, OpId::tanh},
    {OpCode::math_trunc, OpId::trunc},
    {OpCode::math_absi, OpId::absi},
    {OpCode::math_ctlz, OpId::ctlz},
    {OpCode::math_ctpop, OpId::ctpop},
    {OpCode::math_cttz, OpId::cttz},
    {OpCode::math_atan2, OpId::atan2},
    {OpCode::math_copysign, OpId::copysign},
    {OpCode::math_powf, OpId::powf},
    {OpCode::math_fma, OpId::fma},
    {OpCode::vector_fma, OpId::fma},
    {OpCode::tpu_weird, OpId::is_weird},
    {OpCode::tpu_reciprocal, OpId::reciprocal},
    {OpCode::tpu_logistic, OpId::logistic},
    {OpCode::tpu_stochastic_convert, OpId::stochastic_convert},
    {OpCode::tpu_stochastic_convert_elementwise, OpId::stochastic_convert},
};

const std::array<const Simple*, kOpCodeCount> kByCode = [] {
  std::array<const Simple*, kOpCodeCount> by_code{};
  for (const Simple& simple : kSimple) by_code[static_cast<size_t>(simple.code)] = &simple;
  return by_code;
}();

}  // namespace

std::optional<OpId> tile_op(OpCode code) {
  const Simple* simple = code == OpCode::unknown ? nullptr : kByCode[static_cast<size_t>(code)];
  return simple ? std::optional(simple->op) : std::nullopt;
}

Predicate predicate(const Op& op) {
  const int first = op.code == OpCode::arith_cmpi ? static_cast<int>(Predicate::eq) : 0;
  return static_cast<Predicate>(first + static_cast<int>(op.int_or(AttrName::predicate, 0)));
}

}  // namespace tilecheck::mosaic
