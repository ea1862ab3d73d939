#include "sim/fit/compile_types.h"

#include <algorithm>

#include "sim/fit/compile_facts.h"
#include "sim/fit/compile_table.h"
#include "sim/fit/register_grid.h"

namespace tilecheck::fit {
namespace {

bool is_vector(const TileType& type) { return type.shape.rank() > 0; }
bool is_fp8(DType dtype) { return is_floating(dtype) && bits(dtype) <= 8; }
bool is_half_only(DType dtype) { return dtype == DType::f16; }

Refusal dtype_refusal(std::string message, std::string help) {
  return {Kind::dtype_unsupported, std::move(message), std::move(help)};
}
Refusal operation_refusal(std::string message, std::string help) {
  return {Kind::operation_unsupported, std::move(message), std::move(help)};
}

bool is_transcendental(Fn fn) {
  switch (fn) {
    case Fn::exp:
    case Fn::exp2:
    case Fn::log:
    case Fn::log1p:
    case Fn::sqrt:
    case Fn::rsqrt:
    case Fn::tanh:
    case Fn::logistic:
    case Fn::erf:
    case Fn::sin:
    case Fn::cos:
    case Fn::tan:
    case Fn::pow:
    case Fn::atan2:
      return true;
    default:
      return false;
  }
}

// The scalar core computes on i1, i32 and f32; narrower scalars can be loaded, stored and converted only (libtpu
// 0.0.42.1 says so for v4 to v7x).
std::optional<Refusal> refuse_scalar(const std::string& what, DType dtype) {
  if (bits(dtype) >= 32 || dtype == DType::b1) return std::nullopt;
  const bool is_float = is_floating(dtype);
  return dtype_refusal(what + ": the scalar core computes on " + (is_float ? "f32" : "i1 and i32") + " only",
                       is_float ? "convert to f32 first, or compute on a vector" : "convert to int32 first");
}

// Vector arithmetic on integers narrower than 32 bits, and on 8-bit floats.
std::optional<Refusal> refuse_elementwise(const Op& op, const Body& body, const Target& target) {
  const TileType& type = type_of(body, op.out[0]);
  const std::string what = std::string(name(op.fn)) + " of " + type_text(type);
  const int width = bits(type.dtype);
  if (!is_vector(type)) {
    if (is_floating(type.dtype) && width < 32 && is_transcendental(op.fn))
      return operation_refusal(
          what + ": the scalar core has no such function on " + std::string(tilecheck::name(type.dtype)),
          "compute it in f32, or on a vector");
    return op.fn == Fn::copy ? std::nullopt : refuse_scalar(what, type.dtype);
  }
  const bool is_identity = op.in.size() == 2 && op.in[0] == op.in[1] && (op.fn == Fn::min || op.fn == Fn::max);
  if (op.fn == Fn::copy || is_identity || type.dtype == DType::b1) return std::nullopt;
  if (is_fp8(type.dtype))
    return dtype_refusal(what + ": 8-bit floats have no arithmetic", "convert to bf16 or f32 first");
  if (is_floating(type.dtype)) return std::nullopt;
  if ((op.fn == Fn::min || op.fn == Fn::max) && (op.is_unsigned || is_unsigned_int(type.dtype)))
    return dtype_refusal(what + ": minimum and maximum of unsigned integers are not implemented",
                         "compare as signed integers, or as f32");
  if (width >= 32) return std::nullopt;
  switch (op.fn) {
    case Fn::add:
    case Fn::sub:
    case Fn::mul:
    case Fn::neg:
      if (width <= 8)
        return dtype_refusal(what + ": vector arithmetic has 16- and 32-bit integers only",
                             "convert to int32 (or int16) first");
      return std::nullopt;
    case Fn::div:
    case Fn::rem:
    case Fn::min:
    case Fn::max:
    case Fn::shift_left:
    case Fn::shift_right_logical:
    case Fn::shift_right_arithmetic:
    case Fn::popcount:
    case Fn::count_leading_zeros:
    case Fn::pow:
      return dtype_refusal(what + ": not implemented below 32 bits", "convert to int32 first");
    case Fn::abs:
      if (width <= 8 || target.generation() < 4)
        return dtype_refusal(what + ": not implemented for " + std::string(tilecheck::name(type.dtype)),
                             "convert to int32 first");
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

std::optional<Refusal> refuse_compare(const Op& op, const Body& body, const Target& target) {
  const TileType& type = type_of(body, op.in[0]);
  const std::string what = "comparison of " + type_text(type);
  if (!is_vector(type)) return refuse_scalar(what, type.dtype);
  const int width = bits(type.dtype);
  const std::string help = "convert to int32 (or f32) first";
  if (is_fp8(type.dtype))
    return dtype_refusal(what + ": 8-bit floats have no comparison", "convert to bf16 or f32 first");
  if (is_floating(type.dtype) || type.dtype == DType::b1 || width >= 32) return std::nullopt;
  const bool is_equality = op.fn == Fn::eq || op.fn == Fn::ne;
  if (width < 8) return dtype_refusal(what + ": not implemented", help);
  if (width == 8 && (!is_equality || target.generation() < 5))
    return dtype_refusal(what + ": " + target.name + " does not support this comparison", help);
  if (width == 16 && target.generation() < 4)
    return dtype_refusal(what + ": " + target.name + " has no 16-bit comparison", help);
  if (width == 16 && !is_equality && (op.is_unsigned || is_unsigned_int(type.dtype)))
    return dtype_refusal(what + ": unsigned 16-bit order is not implemented", help);
  return std::nullopt;
}

std::optional<Refusal> refuse_reduce(const Op& op, const Body& body, const CompileOptions& options) {
  const TileType& type = type_of(body, op.in[0]);
  const std::string what = "reduction of " + type_text(type);
  if (is_fp8(type.dtype) || is_half_only(type.dtype))
    return dtype_refusal(what + ": unsupported element type", "convert to f32 first");
  if (op.kind == OpKind::reduce && op.fn == Fn::mul && !options.lowered_by_jax)
    return operation_refusal("product of " + type_text(type) + ": reductions are sums, minima and maxima",
                             "multiply slices in a loop, or sum logarithms");
  if (options.lowered_by_jax) return std::nullopt;
  if (op.kind == OpKind::reduce_index && type.dtype != DType::f32)
    return dtype_refusal("argmax of " + type_text(type) + ": only f32 is supported", "convert to f32 first");
  if (is_int(type.dtype) && (bits(type.dtype) < 32 || is_unsigned_int(type.dtype)))
    return dtype_refusal(what + ": reductions take f32, bf16 and int32", "convert to int32 or f32 first");
  return std::nullopt;
}

std::optional<Refusal> refuse_convert(const Op& op, const Body& body, const CompileOptions& options) {
  const TileType& from = type_of(body, op.in[0]);
  const TileType& to = type_of(body, op.out[0]);
  if (is_half_only(from.dtype) || (is_half_only(to.dtype) && !options.lowered_by_jax))
    return dtype_refusal("conversion of " + type_text(from) + " to " + std::string(tilecheck::name(to.dtype)) +
                             ": f16 is not a type of the vector unit",
                         "use bf16 or f32");
  if (is_fp8(from.dtype) && is_fp8(to.dtype) && from.dtype != to.dtype && !options.lowered_by_jax)
    return dtype_refusal(
        "conversion of " + type_text(from) + " to " + std::string(tilecheck::name(to.dtype)) + " is not implemented",
        "convert through f32");
  return std::nullopt;
}

}  // namespace

std::optional<Refusal> refuse_type(const Op& op, const Body& body, const Target& target,
                                   const CompileOptions& options) {
  if (op.out.empty()) return std::nullopt;
  switch (op.kind) {
    case OpKind::elementwise:
      return refuse_elementwise(op, body, target);
    case OpKind::compare:
      return refuse_compare(op, body, target);
    case OpKind::select: {
      const TileType& type = type_of(body, op.out[0]);
      return is_vector(type) ? std::nullopt : refuse_scalar("select of " + type_text(type), type.dtype);
    }
    case OpKind::reduce:
    case OpKind::reduce_index:
      return refuse_reduce(op, body, options);
    case OpKind::convert:
      return refuse_convert(op, body, options);
    case OpKind::iota: {
      const TileType& type = type_of(body, op.out[0]);
      const int width = bits(type.dtype);
      if (!is_vector(type) || (width != 4 && width != 16)) return std::nullopt;
      if (width == 16 && target.generation() >= 4) return std::nullopt;
      return dtype_refusal("iota of " + type_text(type) + ": " + target.name + " counts in 8" +
                               (target.generation() >= 4 ? ", 16" : "") + " and 32 bits",
                           "make it int32 and convert");
    }
    default:
      return std::nullopt;
  }
}

std::optional<Refusal> refuse_matmul(const Op& op, const Body& body, const Target& target,
                                     const CompileOptions& options) {
  const TileType& lhs = type_of(body, op.in[0]);
  const TileType& rhs = type_of(body, op.in[1]);
  const DType result = type_of(body, op.out[0]).dtype;
  const DType l = lhs.dtype, r = rhs.dtype;
  const int64_t generation = target.generation();
  const std::string what = "matmul of " + type_text(lhs) + " with " + type_text(rhs);
  const auto unsupported = [&](const TileType& type, const std::string& side) {
    std::string list;
    for (DType t : target.matmul_types) list += (list.empty() ? "" : ", ") + std::string(tilecheck::name(t));
    return dtype_refusal(what + ": " + target.name + " has no matmul with a " +
                             std::string(tilecheck::name(type.dtype)) + " " + side + " (E2001)",
                         "convert the operands; " + target.name + " takes " + list);
  };
  if (!options.lowered_by_jax) {
    for (DType t : {l, r})
      if (is_unsigned_int(t))
        return dtype_refusal(what + ": matmul reads integers as signed; unsigned operands are refused",
                             "convert to int8 or bf16");
    if (lhs.shape.rank() > 3 || rhs.shape.rank() > 3)
      return operation_refusal(what + ": one batch dimension is supported",
                               "merge the batch dimensions, or loop over one");
    if (op.matmul.precision == Precision::bf16x3)
      return operation_refusal(what + ": precision HIGH (bf16x3) is not supported", "use DEFAULT or HIGHEST");
  }
  if (bits(result) != 32)
    return operation_refusal(
        what + ": the accumulator is " + std::string(tilecheck::name(result)) + ", it must have 32 bits",
        "accumulate in f32 (or int32) and convert the result");
  for (const TileType* type : {&lhs, &rhs}) {
    const DType t = type->dtype;
    if (is_half_only(t) || (is_int(t) && bits(t) >= 16))
      return unsupported(*type, type == &lhs ? "left side" : "right side");
  }
  if (generation < 4) {
    if (r != DType::f32) return unsupported(rhs, "right side");
    if (l != DType::f32) return unsupported(lhs, "left side");
  } else if (generation == 4) {
    if (is_fp8(r) || (is_int(r) && is_int(l))) return unsupported(rhs, "right side");
    if (is_fp8(l) || is_int(l)) return unsupported(lhs, "left side");
  } else {
    if (l == r && !target.accepts_matmul(l) && !is_unsigned_int(l)) return unsupported(rhs, "right side");
    if (generation < 7 && is_int(l) && is_int(r) && bits(l) != bits(r))
      return dtype_refusal(what + ": integers of two widths are not implemented", "convert both to int8");
    if (generation < 7 && is_int(l) && is_floating(result))
      return dtype_refusal(what + ": an integer left side needs an int32 accumulator",
                           "accumulate in int32 and convert");
  }
  if (op.matmul.precision == Precision::highest && l != DType::f32)
    return operation_refusal(
        what + ": precision HIGHEST splits f32 operands; the left side is " + std::string(tilecheck::name(l)),
        "leave the precision out for types that are exact already");
  return std::nullopt;
}

std::optional<Refusal> refuse_reshape(const TileType& from, const TileType& to, bool lanes_alike,
                                      const Target& target) {
  const Shape &a = from.shape, &b = to.shape;
  if (a.rank() == 0 || b.rank() == 0 || from.dtype == DType::b1) return std::nullopt;
  const int64_t generation = target.generation();
  const bool is_packed = bits(from.dtype) < 32;
  const int64_t m0 = a.back(), m1 = b.back();
  const auto refuse = [&](const std::string& why) {
    return operation_refusal("reshape of " + type_text(from) + " to " + to_string(b) + ": unsupported shape cast" + why,
                             "keep the last dimension, or split and merge it in multiples of 128");
  };
  if (m0 == m1) return std::nullopt;
  if (same_without_ones(a, b)) {
    if (lanes_alike) return std::nullopt;
    if (m1 == 1 && is_packed && generation < 6)
      return refuse(" (lanes to rows of a packed type, on " + target.name + ")");
    if (m0 == 1 && generation < 5) return refuse(" (rows to lanes, on " + target.name + ")");
    return std::nullopt;
  }
  if (m0 % 128 == 0 && m1 % 128 == 0) {
    // From one row into several with a dimension of 1 between.
    if (a.rank() == 1 && b.rank() >= 3 && b[b.rank() - 2] == 1 && b[b.rank() - 3] != 1 && (is_packed || generation < 4))
      return refuse("");
    return std::nullopt;
  }
  // `whole` has as its last dimension what `parts` has as its last few; the dimensions in front agree.
  const auto merges = [](const Shape& parts, const Shape& whole) {
    if (whole.rank() < 2) return false;
    int64_t product = 1;
    int i = parts.rank();
    while (i > 0 && product < whole.back()) product *= parts[--i];
    if (product != whole.back() || i == 0) return false;
    int64_t front = 1, whole_front = 1;
    for (int k = 0; k < i; ++k) front *= parts[k];
    for (int k = 0; k + 1 < whole.rank(); ++k) whole_front *= whole[k];
    return front == whole_front;
  };
  if (m1 > m0 && merges(a, b)) return std::nullopt;
  if (m0 > m1 && merges(b, a))
    return generation >= 5 ? std::nullopt
                           : std::optional(refuse(" (splitting the last dimension, on " + target.name + ")"));
  // The last two dimensions changing places, whatever is in front.
  if (a.rank() >= 2 && b.rank() >= 2 && a[a.rank() - 2] == m1 && b[b.rank() - 2] == m0 && generation >= 5)
    return std::nullopt;
  return refuse("");
}

}  // namespace tilecheck::fit
