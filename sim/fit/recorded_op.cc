#include "sim/fit/recorded_op.h"

#include <algorithm>
#include <array>

namespace tilecheck::fit {
namespace {

struct Entry {
  OpId op;
  NamedKind is;
  constexpr Entry(OpId id, OpKind kind, Fn fn = Fn::none, bool is_unsigned = false)
      : op(id), is{kind, fn, is_unsigned} {}
};

// Elementwise operations without a function of their own here are Fn::other.
constexpr Entry kEntries[] = {
    {OpId::addf, OpKind::elementwise, Fn::add},
    {OpId::addi, OpKind::elementwise, Fn::add},
    {OpId::subf, OpKind::elementwise, Fn::sub},
    {OpId::subi, OpKind::elementwise, Fn::sub},
    {OpId::mulf, OpKind::elementwise, Fn::mul},
    {OpId::muli, OpKind::elementwise, Fn::mul},
    {OpId::divf, OpKind::elementwise, Fn::div},
    {OpId::divsi, OpKind::elementwise, Fn::div},
    {OpId::divui, OpKind::elementwise, Fn::div, true},
    {OpId::ceildivsi, OpKind::elementwise, Fn::div},
    {OpId::floordivsi, OpKind::elementwise, Fn::div},
    {OpId::remf, OpKind::elementwise, Fn::rem},
    {OpId::remsi, OpKind::elementwise, Fn::rem},
    {OpId::remui, OpKind::elementwise, Fn::rem, true},
    {OpId::maximumf, OpKind::elementwise, Fn::max},
    {OpId::maxnumf, OpKind::elementwise, Fn::max},
    {OpId::maxsi, OpKind::elementwise, Fn::max},
    {OpId::maxui, OpKind::elementwise, Fn::max, true},
    {OpId::minimumf, OpKind::elementwise, Fn::min},
    {OpId::minnumf, OpKind::elementwise, Fn::min},
    {OpId::minsi, OpKind::elementwise, Fn::min},
    {OpId::minui, OpKind::elementwise, Fn::min, true},
    {OpId::negf, OpKind::elementwise, Fn::neg},
    {OpId::absf, OpKind::elementwise, Fn::abs},
    {OpId::absi, OpKind::elementwise, Fn::abs},
    {OpId::andi, OpKind::elementwise, Fn::bit_and},
    {OpId::ori, OpKind::elementwise, Fn::bit_or},
    {OpId::xori, OpKind::elementwise, Fn::bit_xor},
    {OpId::shli, OpKind::elementwise, Fn::shift_left},
    {OpId::shrui, OpKind::elementwise, Fn::shift_right_logical, true},
    {OpId::shrsi, OpKind::elementwise, Fn::shift_right_arithmetic},
    {OpId::exp, OpKind::elementwise, Fn::exp},
    {OpId::exp2, OpKind::elementwise, Fn::exp2},
    {OpId::expm1, OpKind::elementwise, Fn::exp},
    {OpId::log, OpKind::elementwise, Fn::log},
    {OpId::log2, OpKind::elementwise, Fn::log},
    {OpId::log1p, OpKind::elementwise, Fn::log1p},
    {OpId::sqrt, OpKind::elementwise, Fn::sqrt},
    {OpId::rsqrt, OpKind::elementwise, Fn::rsqrt},
    {OpId::tanh, OpKind::elementwise, Fn::tanh},
    {OpId::erf, OpKind::elementwise, Fn::erf},
    {OpId::erfc, OpKind::elementwise, Fn::erf},
    {OpId::sin, OpKind::elementwise, Fn::sin},
    {OpId::cos, OpKind::elementwise, Fn::cos},
    {OpId::tan, OpKind::elementwise, Fn::tan},
    {OpId::atan2, OpKind::elementwise, Fn::atan2},
    {OpId::powf, OpKind::elementwise, Fn::pow},
    {OpId::logistic, OpKind::elementwise, Fn::logistic},
    {OpId::ceil, OpKind::elementwise, Fn::ceil},
    {OpId::floor, OpKind::elementwise, Fn::floor},
    {OpId::trunc, OpKind::elementwise, Fn::floor},
    {OpId::round, OpKind::elementwise, Fn::round},
    {OpId::roundeven, OpKind::elementwise, Fn::round_even},
    {OpId::ctpop, OpKind::elementwise, Fn::popcount},
    {OpId::ctlz, OpKind::elementwise, Fn::count_leading_zeros},
    {OpId::is_weird, OpKind::elementwise, Fn::is_finite},
    {OpId::reciprocal, OpKind::elementwise, Fn::reciprocal},
    {OpId::cmpf, OpKind::compare},
    {OpId::cmpi, OpKind::compare},
    {OpId::select, OpKind::select},
    {OpId::extf, OpKind::convert},
    {OpId::truncf, OpKind::convert},
    {OpId::fptosi, OpKind::convert},
    {OpId::fptoui, OpKind::convert, Fn::none, true},
    {OpId::sitofp, OpKind::convert},
    {OpId::uitofp, OpKind::convert, Fn::none, true},
    {OpId::extsi, OpKind::convert},
    {OpId::extui, OpKind::convert, Fn::none, true},
    {OpId::trunci, OpKind::convert},
    {OpId::stochastic_convert, OpKind::convert},
    {OpId::bitcast, OpKind::bitcast},
    {OpId::pack_elementwise, OpKind::pack},
    {OpId::unpack_elementwise, OpKind::unpack},
    {OpId::broadcast, OpKind::broadcast},
    {OpId::reshape, OpKind::reshape},
    {OpId::transpose, OpKind::transpose},
    {OpId::concatenate, OpKind::concatenate},
    {OpId::repeat, OpKind::concatenate},
    {OpId::slice, OpKind::slice},
    {OpId::iota, OpKind::iota},
    {OpId::rotate, OpKind::rotate},
    {OpId::gather, OpKind::gather},
    {OpId::reduce_add, OpKind::reduce, Fn::add},
    {OpId::reduce_mul, OpKind::reduce, Fn::mul},
    {OpId::reduce_max, OpKind::reduce, Fn::max},
    {OpId::reduce_min, OpKind::reduce, Fn::min},
    {OpId::reduce_maxu, OpKind::reduce, Fn::max, true},
    {OpId::reduce_minu, OpKind::reduce, Fn::min, true},
    {OpId::reduce_and, OpKind::reduce, Fn::bit_and},
    {OpId::reduce_or, OpKind::reduce, Fn::bit_or},
    {OpId::reduce_xor, OpKind::reduce, Fn::bit_xor},
    {OpId::argmax, OpKind::reduce_index, Fn::argmax},
    {OpId::argmin, OpKind::reduce_index, Fn::argmin},
    {OpId::matmul, OpKind::matmul},
};

const std::array<const Entry*, kOpCount> kByOp = [] {
  std::array<const Entry*, kOpCount> table{};
  for (const Entry& entry : kEntries) table[static_cast<size_t>(entry.op)] = &entry;
  return table;
}();

}  // namespace

std::optional<NamedKind> named_kind(OpId op) {
  const Entry* entry = kByOp[static_cast<size_t>(op)];
  return entry ? std::optional(entry->is) : std::nullopt;
}

Fn compare_fn(Predicate predicate) {
  switch (predicate) {
    case Predicate::oeq:
    case Predicate::ueq:
    case Predicate::eq:
      return Fn::eq;
    case Predicate::one:
    case Predicate::une:
    case Predicate::ne:
      return Fn::ne;
    case Predicate::olt:
    case Predicate::ult:
    case Predicate::slt:
    case Predicate::iult:
      return Fn::lt;
    case Predicate::ole:
    case Predicate::ule:
    case Predicate::sle:
    case Predicate::iule:
      return Fn::le;
    case Predicate::ogt:
    case Predicate::ugt:
    case Predicate::sgt:
    case Predicate::iugt:
      return Fn::gt;
    case Predicate::oge:
    case Predicate::uge:
    case Predicate::sge:
    case Predicate::iuge:
      return Fn::ge;
    default:
      return Fn::other;
  }
}

namespace {

MatmulDims matmul_dims(const OpCall& call, const Shape& lhs, const Shape& rhs) {
  const auto product = [](const Shape& shape, const Dims& which) {
    int64_t n = 1;
    for (int64_t d : which) n *= shape[static_cast<int>(d)];
    return n;
  };
  const DotDims& dot = call.dot;
  MatmulDims m;
  m.batch = product(lhs, dot.lhs_batch);
  m.m = product(lhs, dot.lhs_keep);
  m.k = product(lhs, dot.lhs_contract);
  m.n = product(rhs, dot.rhs_keep);
  m.lhs_transposed = !dot.lhs_contract.empty() && dot.lhs_contract.back() != lhs.rank() - 1;
  m.rhs_transposed = !dot.rhs_contract.empty() && dot.rhs_contract.back() == rhs.rank() - 1;
  m.precision = call.precision == tilecheck::Precision::highest  ? Precision::highest
                : call.precision == tilecheck::Precision::bf16x3 ? Precision::bf16x3
                                                                 : Precision::normal;
  return m;
}

}  // namespace

bool stretches_scalars(OpKind kind) { return kind == OpKind::elementwise || kind == OpKind::compare; }

Op recorded_op(const OpCall& call, std::span<const Tile> operands) {
  Op op;
  op.name = info(call.op).name;
  const std::optional<NamedKind> is = named_kind(call.op);
  if (!is) {
    op.kind = info(call.op).elementwise ? OpKind::elementwise : OpKind::opaque;
    op.fn = op.kind == OpKind::opaque ? Fn::none : Fn::other;
    return op;
  }
  op.kind = is->kind;
  op.fn = is->fn;
  op.is_unsigned = is->is_unsigned;
  switch (op.kind) {
    case OpKind::elementwise:
      if (call.op == OpId::reciprocal && call.approx) op.fn = Fn::approx_reciprocal;
      break;
    case OpKind::compare:
      op.fn = compare_fn(call.predicate);
      op.is_unsigned = is_unsigned(call.predicate);
      break;
    case OpKind::iota:
    case OpKind::transpose:
    case OpKind::reduce:
    case OpKind::gather:
      op.axes = call.dims;
      break;
    case OpKind::reduce_index:
    case OpKind::concatenate:
    case OpKind::rotate:
      op.axes = {call.axis};
      break;
    case OpKind::slice:
      for (int64_t start : call.dims) op.starts.push_back({kNone, start});
      if (std::ranges::any_of(call.strides, [](int64_t s) { return s != 1; })) op.strides = call.strides;
      break;
    case OpKind::matmul:
      op.matmul = matmul_dims(call, operands[0].shape(), operands[1].shape());
      break;
    default:
      break;
  }
  return op;
}

}  // namespace tilecheck::fit
