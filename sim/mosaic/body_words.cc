#include "sim/mosaic/body_words.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/types/float_formats.h"

namespace tilecheck::mosaic {

std::string dims_text(const Shape& shape) {
  std::string out = "[";
  for (int i = 0; i < shape.rank(); ++i)
    out.append(i ? "," : "").append(shape[i] == kDynamic ? "?" : std::to_string(shape[i]));
  return out + "]";
}

std::string_view integer_predicate(int64_t p) {
  static constexpr std::array<std::string_view, 10> kNames{"==", "!=", "<", "<=", ">", ">=", "u<", "u<=", "u>", "u>="};
  return p >= 0 && p < 10 ? kNames[static_cast<size_t>(p)] : "?";
}
std::string_view float_predicate(int64_t p) {
  static constexpr std::array<std::string_view, 16> kNames{"false", "==",  ">",   ">=",  "<",   "<=", "one", "ord",
                                                           "ueq",   "ugt", "uge", "ult", "ule", "!=", "uno", "true"};
  return p >= 0 && p < 16 ? kNames[static_cast<size_t>(p)] : "?";
}

std::string_view infix(OpCode code) {
  switch (code) {
    case OpCode::arith_addi:
    case OpCode::arith_addf:
      return "+";
    case OpCode::arith_subi:
    case OpCode::arith_subf:
      return "-";
    case OpCode::arith_muli:
    case OpCode::arith_mulf:
      return "*";
    case OpCode::arith_divsi:
    case OpCode::arith_divf:
      return "/";
    case OpCode::arith_remsi:
      return "%";
    case OpCode::arith_andi:
      return "&";
    case OpCode::arith_ori:
      return "|";
    case OpCode::arith_xori:
      return "^";
    default:
      return {};
  }
}

std::string constant_text(const Attr& value) {
  double number = value.floating;
  if (value.kind == AttrKind::dense_elements && value.splat && is_floating(value.type->dtype))
    number = load_as_double(value.type->dtype, value.data.data());
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
  std::string text = to_string(value);
  if (value.kind == AttrKind::dense_elements) {
    const size_t end = text.rfind("> : ");
    std::string inner = text.substr(6, end - 6);
    if (value.splat) return inner;
    return inner.size() <= kMaxInline ? inner : inner.substr(0, kMaxInline - 3) + "...";
  }
  const size_t colon = text.find(" : ");
  return text.substr(0, colon);
}

std::string without_dialect(std::string_view name) {
  for (std::string_view dialect : {"arith.", "math.", "vector.", "tpu.", "memref.", "scf.", "func."})
    if (name.starts_with(dialect)) return std::string(name.substr(dialect.size()));
  return std::string(name);
}

namespace {

bool is_default(const NamedAttr& a) {
  const Attr& v = *a.value;
  switch (a.id) {
    case AttrName::operand_segment_sizes:
    case AttrName::predicate:
    case AttrName::value:
    case AttrName::level:
      return true;
    case AttrName::fastmath:
    case AttrName::overflow_flags:
      return v.body == "none";
    case AttrName::add:
    case AttrName::strict_ordering:
    case AttrName::transpose_lhs:
    case AttrName::transpose_rhs:
    case AttrName::transpose_lhs_hint:
    case AttrName::priority:
      return v.kind == AttrKind::integer && v.integer == 0;
    case AttrName::dimension_numbers:
      return v.body == "[1], [0], [0], [1], [0, 0, 1, 1], [], []";
    case AttrName::strides:
      return v.kind == AttrKind::dense_array &&
             std::all_of(v.integers.begin(), v.integers.end(), [](int64_t s) { return s == 1; });
    default:
      return false;
  }
}

std::string attr_text(const Attr& value) {
  switch (value.kind) {
    case AttrKind::integer:
      return std::to_string(value.integer);
    case AttrKind::dialect:
      return std::string(value.body);
    case AttrKind::dense_array:
    case AttrKind::array: {
      std::string out = "[";
      const bool dense = value.kind == AttrKind::dense_array;
      const size_t n = dense ? value.integers.size() : value.elements.size();
      for (size_t i = 0; i < n; ++i)
        out.append(i ? "," : "").append(dense ? std::to_string(value.integers[i]) : attr_text(*value.elements[i]));
      return out + "]";
    }
    default:
      return to_string(value);
  }
}

}  // namespace

std::string attrs_text(const Op& op) {
  std::string out;
  for (const NamedAttr& a : op.attrs) {
    if (is_default(a)) continue;
    out.append(out.empty() ? "  {" : ", ").append(a.name);
    if (a.value->kind != AttrKind::unit) out.append(" ").append(attr_text(*a.value));
  }
  return out.empty() ? out : out + "}";
}

}  // namespace tilecheck::mosaic
