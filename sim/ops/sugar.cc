// Operators and named functions of the C++ door over apply().
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "sim/ops/ops.h"
#include "sim/types/error.h"

namespace tilecheck {
namespace {

OpContext& context_of(OpId op, const Tile& tile) {
  if (!tile.has_value()) throw InputError(std::string(info(op).name), "operand is a tile without a value");
  return tile.context();
}

template <size_t kCount>
Tile run(const OpCall& call, std::array<Tile, kCount> operands) {
  for (const Tile& operand : operands) context_of(call.op, operand);
  return apply(operands[0].context(), call, operands);
}

// Calls without attributes, made once: they are large.
const OpCall& plain_call(OpId op) {
  static const std::array<OpCall, kOpCount> kCalls = [] {
    std::array<OpCall, kOpCount> calls;
    for (int i = 0; i < kOpCount; ++i) calls[static_cast<size_t>(i)].op = static_cast<OpId>(i);
    return calls;
  }();
  return kCalls[static_cast<size_t>(op)];
}

const OpCall& compare_call(Predicate predicate) {
  static const auto kCalls = [] {
    std::array<OpCall, static_cast<size_t>(Predicate::iuge) + 1> calls;
    for (size_t i = 0; i < calls.size(); ++i) {
      calls[i].predicate = static_cast<Predicate>(i);
      calls[i].op = calls[i].predicate < Predicate::eq ? OpId::cmpf : OpId::cmpi;
    }
    return calls;
  }();
  return kCalls[static_cast<size_t>(predicate)];
}

Tile unary(OpId op, Tile a) { return run<1>(plain_call(op), {std::move(a)}); }

// numpy's rules: trailing dimensions aligned, extents of 1 stretch. Rank-0 tiles stretch in the operation itself.
Shape common_shape(OpId op, const Shape& a, const Shape& b) {
  Shape shape = Dims::filled(std::max(a.rank(), b.rank()), 1);
  for (int i = 1; i <= shape.rank(); ++i) {
    const int64_t m = i <= a.rank() ? a[a.rank() - i] : 1, n = i <= b.rank() ? b[b.rank() - i] : 1;
    if (m != n && m != 1 && n != 1)
      throw InputError(std::string(info(op).name),
                       "operand shapes " + to_tuple(a) + " and " + to_tuple(b) + " do not broadcast");
    shape[shape.rank() - i] = m == 1 ? n : m;
  }
  return shape;
}

void stretch(Tile& tile, const Shape& shape) {
  if (tile.rank() > 0 && !(tile.shape() == shape)) tile = broadcast_to(std::move(tile), shape);
}

Tile binary(const OpCall& call, Tile a, Tile b) {
  context_of(call.op, a);
  context_of(call.op, b);
  if (!(a.shape() == b.shape()) && a.rank() > 0 && b.rank() > 0) {
    const Shape shape = common_shape(call.op, a.shape(), b.shape());
    stretch(a, shape);
    stretch(b, shape);
  }
  return run<2>(call, {std::move(a), std::move(b)});
}

// The operation for the operands' type.
Tile by_type(OpId for_float, OpId for_signed, OpId for_unsigned, Tile a, Tile b) {
  const DType dtype = a.dtype();
  const OpId op = is_floating(dtype) ? for_float : is_signed_int(dtype) ? for_signed : for_unsigned;
  return binary(plain_call(op), std::move(a), std::move(b));
}

Tile like(const Tile& tile, double value) { return Tile::scalar(tile.context(), tile.dtype(), value); }

Tile compare(Predicate for_float, Predicate for_signed, Predicate for_unsigned, Tile a, Tile b) {
  const DType dtype = a.dtype();
  const Predicate predicate = is_floating(dtype) ? for_float : is_signed_int(dtype) ? for_signed : for_unsigned;
  return binary(compare_call(predicate), std::move(a), std::move(b));
}

// Axes may be negative, counted from the end.
int axis_of(OpId op, const Tile& tile, int64_t axis) {
  const int rank = tile.rank();
  if (axis < -rank || axis >= rank)
    throw InputError(std::string(info(op).name), "axis " + std::to_string(axis) + " of a tile of shape " +
                                                     to_tuple(tile.shape()) + ": expected " + std::to_string(-rank) +
                                                     " to " + std::to_string(rank - 1));
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

Tile reduce(OpId op, Tile a, const Dims& axes, bool keep_dims) {
  context_of(op, a);
  Shape kept = a.shape();
  OpCall call{.op = op};
  for (int64_t axis : axes) {
    call.dims.push_back(axis_of(op, a, axis));
    kept[static_cast<int>(call.dims.back())] = 1;
  }
  Tile result = run<1>(call, {std::move(a)});
  return keep_dims ? reshape(std::move(result), kept) : result;
}

}  // namespace

Tile operator+(Tile a, Tile b) { return by_type(OpId::addf, OpId::addi, OpId::addi, std::move(a), std::move(b)); }
Tile operator-(Tile a, Tile b) { return by_type(OpId::subf, OpId::subi, OpId::subi, std::move(a), std::move(b)); }
Tile operator*(Tile a, Tile b) { return by_type(OpId::mulf, OpId::muli, OpId::muli, std::move(a), std::move(b)); }
Tile operator/(Tile a, Tile b) { return by_type(OpId::divf, OpId::divsi, OpId::divui, std::move(a), std::move(b)); }
Tile operator%(Tile a, Tile b) { return by_type(OpId::remf, OpId::remsi, OpId::remui, std::move(a), std::move(b)); }
Tile operator-(Tile a) {
  if (is_floating(a.dtype())) return unary(OpId::negf, std::move(a));
  Tile zero = like(a, 0);
  return binary(plain_call(OpId::subi), std::move(zero), std::move(a));
}
Tile operator&(Tile a, Tile b) { return binary(plain_call(OpId::andi), std::move(a), std::move(b)); }
Tile operator|(Tile a, Tile b) { return binary(plain_call(OpId::ori), std::move(a), std::move(b)); }
Tile operator^(Tile a, Tile b) { return binary(plain_call(OpId::xori), std::move(a), std::move(b)); }
Tile operator~(Tile a) {
  Tile ones = Tile::scalar_int(context_of(OpId::xori, a), a.dtype(), -1);
  return binary(plain_call(OpId::xori), std::move(a), std::move(ones));
}
Tile operator<<(Tile a, Tile b) { return binary(plain_call(OpId::shli), std::move(a), std::move(b)); }
Tile operator>>(Tile a, Tile b) { return by_type(OpId::shrsi, OpId::shrsi, OpId::shrui, std::move(a), std::move(b)); }

Tile operator+(Tile a, double b) {
  Tile t = like(a, b);
  return std::move(a) + std::move(t);
}
Tile operator-(Tile a, double b) {
  Tile t = like(a, b);
  return std::move(a) - std::move(t);
}
Tile operator*(Tile a, double b) {
  Tile t = like(a, b);
  return std::move(a) * std::move(t);
}
Tile operator/(Tile a, double b) {
  Tile t = like(a, b);
  return std::move(a) / std::move(t);
}
Tile operator+(double a, Tile b) {
  Tile t = like(b, a);
  return std::move(t) + std::move(b);
}
Tile operator-(double a, Tile b) {
  Tile t = like(b, a);
  return std::move(t) - std::move(b);
}
Tile operator*(double a, Tile b) {
  Tile t = like(b, a);
  return std::move(t) * std::move(b);
}
Tile operator/(double a, Tile b) {
  Tile t = like(b, a);
  return std::move(t) / std::move(b);
}

Tile eq(Tile a, Tile b) { return compare(Predicate::oeq, Predicate::eq, Predicate::eq, std::move(a), std::move(b)); }
Tile ne(Tile a, Tile b) { return compare(Predicate::une, Predicate::ne, Predicate::ne, std::move(a), std::move(b)); }
Tile lt(Tile a, Tile b) { return compare(Predicate::olt, Predicate::slt, Predicate::iult, std::move(a), std::move(b)); }
Tile le(Tile a, Tile b) { return compare(Predicate::ole, Predicate::sle, Predicate::iule, std::move(a), std::move(b)); }
Tile gt(Tile a, Tile b) { return compare(Predicate::ogt, Predicate::sgt, Predicate::iugt, std::move(a), std::move(b)); }
Tile ge(Tile a, Tile b) { return compare(Predicate::oge, Predicate::sge, Predicate::iuge, std::move(a), std::move(b)); }
Tile eq(Tile a, double b) {
  Tile t = like(a, b);
  return eq(std::move(a), std::move(t));
}
Tile ne(Tile a, double b) {
  Tile t = like(a, b);
  return ne(std::move(a), std::move(t));
}
Tile lt(Tile a, double b) {
  Tile t = like(a, b);
  return lt(std::move(a), std::move(t));
}
Tile le(Tile a, double b) {
  Tile t = like(a, b);
  return le(std::move(a), std::move(t));
}
Tile gt(Tile a, double b) {
  Tile t = like(a, b);
  return gt(std::move(a), std::move(t));
}
Tile ge(Tile a, double b) {
  Tile t = like(a, b);
  return ge(std::move(a), std::move(t));
}

Tile maximum(Tile a, Tile b) { return by_type(OpId::maximumf, OpId::maxsi, OpId::maxui, std::move(a), std::move(b)); }
Tile minimum(Tile a, Tile b) { return by_type(OpId::minimumf, OpId::minsi, OpId::minui, std::move(a), std::move(b)); }
Tile maximum(Tile a, double b) {
  Tile t = like(a, b);
  return maximum(std::move(a), std::move(t));
}
Tile minimum(Tile a, double b) {
  Tile t = like(a, b);
  return minimum(std::move(a), std::move(t));
}

Tile select(Tile condition, Tile then_tile, Tile else_tile) {
  context_of(OpId::select, condition);
  context_of(OpId::select, then_tile);
  context_of(OpId::select, else_tile);
  Shape shape = common_shape(OpId::select, then_tile.shape(), else_tile.shape());
  shape = common_shape(OpId::select, shape, condition.shape());
  stretch(condition, shape);
  stretch(then_tile, shape);
  stretch(else_tile, shape);
  return run<3>(plain_call(OpId::select), {std::move(condition), std::move(then_tile), std::move(else_tile)});
}

Tile exp(Tile a) { return unary(OpId::exp, std::move(a)); }
Tile exp2(Tile a) { return unary(OpId::exp2, std::move(a)); }
Tile log(Tile a) { return unary(OpId::log, std::move(a)); }
Tile log1p(Tile a) { return unary(OpId::log1p, std::move(a)); }
Tile tanh(Tile a) { return unary(OpId::tanh, std::move(a)); }
Tile sqrt(Tile a) { return unary(OpId::sqrt, std::move(a)); }
Tile rsqrt(Tile a) { return unary(OpId::rsqrt, std::move(a)); }
Tile erf(Tile a) { return unary(OpId::erf, std::move(a)); }
Tile sin(Tile a) { return unary(OpId::sin, std::move(a)); }
Tile cos(Tile a) { return unary(OpId::cos, std::move(a)); }
Tile abs(Tile a) {
  if (is_unsigned_int(a.dtype())) return a;
  return unary(is_floating(a.dtype()) ? OpId::absf : OpId::absi, std::move(a));
}
Tile logistic(Tile a) { return unary(OpId::logistic, std::move(a)); }
Tile floor(Tile a) { return unary(OpId::floor, std::move(a)); }
Tile ceil(Tile a) { return unary(OpId::ceil, std::move(a)); }
Tile pow(Tile a, Tile b) { return binary(plain_call(OpId::powf), std::move(a), std::move(b)); }
Tile reciprocal(Tile a, bool approx) { return run<1>({.op = OpId::reciprocal, .approx = approx}, {std::move(a)}); }
Tile is_finite(Tile a) { return ~unary(OpId::is_weird, std::move(a)); }

Tile convert(Tile a, DType to) {
  const DType from = a.dtype();
  if (from == to) return a;
  if (to == DType::b1) return ne(std::move(a), 0);
  OpId op;
  const bool is_signed = is_signed_int(from);
  if (is_floating(from))
    op = is_floating(to)     ? (bits(to) > bits(from) ? OpId::extf : OpId::truncf)
         : is_signed_int(to) ? OpId::fptosi
                             : OpId::fptoui;
  else if (is_floating(to))
    op = is_signed ? OpId::sitofp : OpId::uitofp;
  else
    op = bits(to) < bits(from) ? OpId::trunci : is_signed ? OpId::extsi : OpId::extui;
  return run<1>({.op = op, .dtype = to}, {std::move(a)});
}

Tile bitcast(Tile a, DType to) { return run<1>({.op = OpId::bitcast, .dtype = to}, {std::move(a)}); }
Tile broadcast_to(Tile a, const Shape& shape) {
  return run<1>({.op = OpId::broadcast, .shape = shape}, {std::move(a)});
}
Tile reshape(Tile a, const Shape& shape) { return run<1>({.op = OpId::reshape, .shape = shape}, {std::move(a)}); }
Tile transpose(Tile a, const Dims& permutation) {
  return run<1>({.op = OpId::transpose, .dims = permutation}, {std::move(a)});
}
Tile transpose(Tile a) { return transpose(std::move(a), {1, 0}); }
Tile concatenate(std::span<const Tile> tiles, int axis) {
  if (tiles.empty()) throw InputError("concatenate", "no tiles");
  OpContext& context = context_of(OpId::concatenate, tiles[0]);
  const OpCall call{.op = OpId::concatenate, .axis = axis_of(OpId::concatenate, tiles[0], axis)};
  std::vector<Tile> operands(tiles.begin(), tiles.end());
  return apply(context, call, operands);
}
Tile slice(Tile a, const Dims& offsets, const Shape& shape, const Dims& strides) {
  return run<1>({.op = OpId::slice, .shape = shape, .dims = offsets, .strides = strides}, {std::move(a)});
}
Tile iota(OpContext& context, DType dtype, const Shape& shape, int dimension) {
  return apply(context, {.op = OpId::iota, .dtype = dtype, .shape = shape, .dims = {dimension}}, {});
}
Tile rotate(Tile a, int64_t amount, int axis) {
  Tile scalar = Tile::scalar_int(context_of(OpId::rotate, a), DType::i32, amount);
  return rotate(std::move(a), std::move(scalar), axis);
}
Tile rotate(Tile a, Tile amount, int axis) {
  const int positive = axis_of(OpId::rotate, a, axis);
  return run<2>({.op = OpId::rotate, .axis = positive}, {std::move(a), std::move(amount)});
}
Tile repeat(Tile a, int64_t count, int axis) {
  const int positive = axis_of(OpId::repeat, a, axis);
  return run<1>({.op = OpId::repeat, .axis = positive, .amount = count}, {std::move(a)});
}
Tile take_along_axis(Tile a, Tile indices, int axis) {
  const int positive = axis_of(OpId::gather, a, axis);
  return run<2>({.op = OpId::gather, .dims = {positive}}, {std::move(a), std::move(indices)});
}

Tile reduce_sum(Tile a, const Dims& axes, bool keep_dims) {
  return reduce(OpId::reduce_add, std::move(a), axes, keep_dims);
}
Tile reduce_max(Tile a, const Dims& axes, bool keep_dims) {
  const OpId op = is_unsigned_int(a.dtype()) ? OpId::reduce_maxu : OpId::reduce_max;
  return reduce(op, std::move(a), axes, keep_dims);
}
Tile reduce_min(Tile a, const Dims& axes, bool keep_dims) {
  const OpId op = is_unsigned_int(a.dtype()) ? OpId::reduce_minu : OpId::reduce_min;
  return reduce(op, std::move(a), axes, keep_dims);
}
Tile argmax(Tile a, int axis) {
  const int positive = axis_of(OpId::argmax, a, axis);
  return run<1>({.op = OpId::argmax, .dtype = DType::i32, .axis = positive}, {std::move(a)});
}
Tile argmin(Tile a, int axis) {
  const int positive = axis_of(OpId::argmin, a, axis);
  return run<1>({.op = OpId::argmin, .dtype = DType::i32, .axis = positive}, {std::move(a)});
}

Tile matmul(Tile lhs, Tile rhs, const DotDims& dims, Tile accumulator, Precision precision) {
  OpCall call{.op = OpId::matmul, .precision = precision, .dot = dims};
  call.is_signed = !is_unsigned_int(lhs.dtype());
  if (accumulator.has_value()) {
    call.dtype = accumulator.dtype();
    return run<3>(call, {std::move(lhs), std::move(rhs), std::move(accumulator)});
  }
  call.dtype = is_floating(lhs.dtype()) ? (lhs.dtype() == DType::f64 ? DType::f64 : DType::f32) : DType::i32;
  return run<2>(call, {std::move(lhs), std::move(rhs)});
}

}  // namespace tilecheck
