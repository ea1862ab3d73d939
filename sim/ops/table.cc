// The operation table: names, operand counts, cost classes.
#include <iterator>

#include "sim/ops/ops.h"

namespace tilecheck {
namespace {

constexpr CostClass kFree = CostClass::free;
constexpr CostClass kVpu = CostClass::vpu;
constexpr CostClass kEup = CostClass::eup;
constexpr CostClass kXlu = CostClass::xlu;
constexpr CostClass kConvert = CostClass::convert;
constexpr CostClass kShape = CostClass::shape;
constexpr CostClass kReduce = CostClass::reduce;

// clang-format off
constexpr OpInfo kOps[] = {
    // op, name, operands (least, most), elementwise, cost
    {OpId::addf, "addf", 2, 2, true, kVpu},
    {OpId::subf, "subf", 2, 2, true, kVpu},
    {OpId::mulf, "mulf", 2, 2, true, kVpu},
    {OpId::divf, "divf", 2, 2, true, kEup},
    {OpId::remf, "remf", 2, 2, true, kEup},
    {OpId::maximumf, "maximumf", 2, 2, true, kVpu},
    {OpId::minimumf, "minimumf", 2, 2, true, kVpu},
    {OpId::maxnumf, "maxnumf", 2, 2, true, kVpu},
    {OpId::minnumf, "minnumf", 2, 2, true, kVpu},
    {OpId::negf, "negf", 1, 1, true, kVpu},
    {OpId::absf, "absf", 1, 1, true, kVpu},
    {OpId::exp, "exp", 1, 1, true, kEup},
    {OpId::exp2, "exp2", 1, 1, true, kEup},
    {OpId::log, "log", 1, 1, true, kEup},
    {OpId::log2, "log2", 1, 1, true, kEup},
    {OpId::log1p, "log1p", 1, 1, true, kEup},
    {OpId::expm1, "expm1", 1, 1, true, kEup},
    {OpId::sqrt, "sqrt", 1, 1, true, kEup},
    {OpId::rsqrt, "rsqrt", 1, 1, true, kEup},
    {OpId::cbrt, "cbrt", 1, 1, true, kEup},
    {OpId::tanh, "tanh", 1, 1, true, kEup},
    {OpId::sin, "sin", 1, 1, true, kEup},
    {OpId::cos, "cos", 1, 1, true, kEup},
    {OpId::tan, "tan", 1, 1, true, kEup},
    {OpId::asin, "asin", 1, 1, true, kEup},
    {OpId::acos, "acos", 1, 1, true, kEup},
    {OpId::atan, "atan", 1, 1, true, kEup},
    {OpId::sinh, "sinh", 1, 1, true, kEup},
    {OpId::cosh, "cosh", 1, 1, true, kEup},
    {OpId::erf, "erf", 1, 1, true, kEup},
    {OpId::erfc, "erfc", 1, 1, true, kEup},
    {OpId::logistic, "logistic", 1, 1, true, kEup},
    {OpId::ceil, "ceil", 1, 1, true, kVpu},
    {OpId::floor, "floor", 1, 1, true, kVpu},
    {OpId::round, "round", 1, 1, true, kVpu},
    {OpId::roundeven, "roundeven", 1, 1, true, kVpu},
    {OpId::trunc, "trunc", 1, 1, true, kVpu},
    {OpId::powf, "powf", 2, 2, true, kEup},
    {OpId::atan2, "atan2", 2, 2, true, kEup},
    {OpId::copysign, "copysign", 2, 2, true, kVpu},
    {OpId::fma, "fma", 3, 3, true, kVpu},
    {OpId::reciprocal, "reciprocal", 1, 1, true, kEup},
    {OpId::is_weird, "weird", 1, 1, true, kVpu},

    {OpId::addi, "addi", 2, 2, true, kVpu},
    {OpId::subi, "subi", 2, 2, true, kVpu},
    {OpId::muli, "muli", 2, 2, true, kVpu},
    {OpId::divsi, "divsi", 2, 2, true, kVpu},
    {OpId::divui, "divui", 2, 2, true, kVpu},
    {OpId::remsi, "remsi", 2, 2, true, kVpu},
    {OpId::remui, "remui", 2, 2, true, kVpu},
    {OpId::ceildivsi, "ceildivsi", 2, 2, true, kVpu},
    {OpId::floordivsi, "floordivsi", 2, 2, true, kVpu},
    {OpId::maxsi, "maxsi", 2, 2, true, kVpu},
    {OpId::maxui, "maxui", 2, 2, true, kVpu},
    {OpId::minsi, "minsi", 2, 2, true, kVpu},
    {OpId::minui, "minui", 2, 2, true, kVpu},
    {OpId::andi, "andi", 2, 2, true, kVpu},
    {OpId::ori, "ori", 2, 2, true, kVpu},
    {OpId::xori, "xori", 2, 2, true, kVpu},
    {OpId::shli, "shli", 2, 2, true, kVpu},
    {OpId::shrsi, "shrsi", 2, 2, true, kVpu},
    {OpId::shrui, "shrui", 2, 2, true, kVpu},
    {OpId::absi, "absi", 1, 1, true, kVpu},
    {OpId::ctlz, "ctlz", 1, 1, true, kVpu},
    {OpId::ctpop, "ctpop", 1, 1, true, kVpu},
    {OpId::cttz, "cttz", 1, 1, true, kVpu},
    {OpId::mulsi_high, "mulsi_high", 2, 2, true, kVpu},
    {OpId::mului_high, "mului_high", 2, 2, true, kVpu},

    {OpId::cmpf, "cmpf", 2, 2, true, kVpu},
    {OpId::cmpi, "cmpi", 2, 2, true, kVpu},
    {OpId::select, "select", 3, 3, true, kVpu},

    {OpId::extf, "extf", 1, 1, true, kConvert},
    {OpId::truncf, "truncf", 1, 1, true, kConvert},
    {OpId::fptosi, "fptosi", 1, 1, true, kConvert},
    {OpId::fptoui, "fptoui", 1, 1, true, kConvert},
    {OpId::sitofp, "sitofp", 1, 1, true, kConvert},
    {OpId::uitofp, "uitofp", 1, 1, true, kConvert},
    {OpId::extsi, "extsi", 1, 1, true, kConvert},
    {OpId::extui, "extui", 1, 1, true, kConvert},
    {OpId::trunci, "trunci", 1, 1, true, kConvert},
    {OpId::stochastic_convert, "stochastic_convert", 2, 2, true, kConvert},
    {OpId::bitcast, "bitcast", 1, 1, false, kFree},
    {OpId::pack_elementwise, "pack_elementwise", 1, 32, false, kVpu},
    {OpId::unpack_elementwise, "unpack_elementwise", 1, 1, false, kVpu},

    {OpId::broadcast, "broadcast", 1, 1, false, kShape},
    {OpId::reshape, "shape_cast", 1, 1, false, kShape},
    {OpId::transpose, "transpose", 1, 1, false, kXlu},
    {OpId::concatenate, "concatenate", 1, 1 << 20, false, kShape},
    {OpId::slice, "extract_strided_slice", 1, 1, false, kShape},
    {OpId::iota, "iota", 0, 0, false, kVpu},
    {OpId::rotate, "dynamic_rotate", 2, 2, false, kXlu},
    {OpId::repeat, "repeat", 1, 1, false, kShape},
    {OpId::gather, "dynamic_gather", 2, 2, false, kXlu},
    {OpId::insert_slice, "insert_strided_slice", 2, 2, false, kShape},

    {OpId::reduce_add, "reduce_add", 1, 2, false, kReduce},
    {OpId::reduce_mul, "reduce_mul", 1, 2, false, kReduce},
    {OpId::reduce_max, "reduce_max", 1, 2, false, kReduce},
    {OpId::reduce_min, "reduce_min", 1, 2, false, kReduce},
    {OpId::reduce_maxu, "reduce_maxu", 1, 2, false, kReduce},
    {OpId::reduce_minu, "reduce_minu", 1, 2, false, kReduce},
    {OpId::reduce_and, "reduce_and", 1, 2, false, kReduce},
    {OpId::reduce_or, "reduce_or", 1, 2, false, kReduce},
    {OpId::reduce_xor, "reduce_xor", 1, 2, false, kReduce},
    {OpId::argmax, "argmax", 1, 1, false, kReduce},
    {OpId::argmin, "argmin", 1, 1, false, kReduce},

    {OpId::matmul, "matmul", 2, 3, false, CostClass::mxu},
};
// clang-format on

constexpr bool in_order() {
  for (int i = 0; i < kOpCount; ++i)
    if (kOps[i].op != static_cast<OpId>(i)) return false;
  return true;
}
static_assert(std::size(kOps) == kOpCount && in_order());

}  // namespace

const OpInfo& info(OpId op) { return kOps[static_cast<int>(op)]; }

}  // namespace tilecheck
