// Type rules of arithmetic, control and the rest that is neither vector nor memory.
#include <algorithm>
#include <string>

#include "sim/mosaic/verifier_rules.h"
#include "sim/types/error.h"

namespace tilecheck::mosaic {

bool is_integer(const Type& type) {
  if (type.kind == TypeKind::index) return true;
  return (type.kind == TypeKind::scalar || type.is_vector()) && (is_int(type.dtype) || type.dtype == DType::b1);
}
bool is_float(const Type& type) {
  return (type.kind == TypeKind::scalar || type.is_vector()) && is_floating(type.dtype);
}
bool is_integer_scalar(const Type& type) { return type.is_scalar() && is_integer(type); }
bool same_shape(const Type& a, const Type& b) {
  if (a.is_scalar() && b.is_scalar()) return true;
  return a.is_vector() && b.is_vector() && a.shape == b.shape;
}

// An attribute that must be a list of at most kMaxRank integers.
Dims OpCheck::integers(AttrName id) const {
  const Attr* attr = op.find(id);
  const bool dense = attr && attr->kind == AttrKind::dense_array && attr->integers.size() <= kMaxRank &&
                     !is_floating(attr->type->dtype);
  bool array = attr && attr->kind == AttrKind::array && attr->elements.size() <= kMaxRank;
  if (array)
    for (const Attr* e : attr->elements) array = array && e->kind == AttrKind::integer;
  if (!dense && !array) fail("an attribute `" + std::string(mosaic::name(id)) + "` of integers");
  return op.dims(id);
}

int64_t OpCheck::integer(AttrName id) const {
  const Attr* attr = op.find(id);
  if (!attr || attr->kind != AttrKind::integer) fail("an integer attribute `" + std::string(mosaic::name(id)) + "`");
  return attr->integer;
}

int OpCheck::axis(AttrName id, int rank) const {
  const int64_t value = integer(id);
  if (value < 0 || value >= rank) fail("`" + std::string(mosaic::name(id)) + "` to be a dimension of the operand");
  return static_cast<int>(value);
}

DType OpCheck::element_type(AttrName id) const {
  const Attr* attr = op.find(id);
  if (!attr || attr->kind != AttrKind::type || attr->type->kind != TypeKind::scalar)
    fail("an element type `" + std::string(mosaic::name(id)) + "`");
  return attr->type->dtype;
}

namespace {

bool is_bool(const Type& type) { return is_integer(type) && type.dtype == DType::b1; }

void check_rule(const OpCheck& c, TypeRule rule) {
  const auto all_equal = [&] {
    for (size_t i = 0; i < c.op.operands.size(); ++i)
      if (!(c.operand(i) == c.result())) return false;
    return true;
  };
  const auto cast = [&](bool from, bool to) {
    c.require(from && to && same_shape(c.operand(0), c.result()),
              "operand and result of one shape and of types that it converts");
  };
  switch (rule) {
    case TypeRule::own:
      return;
    case TypeRule::float_unary:
    case TypeRule::float_binary:
    case TypeRule::float_ternary:
      c.require(is_float(c.result()) && all_equal(), "operands and result of one float type");
      return;
    case TypeRule::int_unary:
    case TypeRule::int_binary:
      c.require(is_integer(c.result()) && all_equal(), "operands and result of one integer type");
      return;
    case TypeRule::float_test:
      c.require(is_float(c.operand(0)) && is_bool(c.result()) && same_shape(c.operand(0), c.result()),
                "a float operand and an i1 result of its shape");
      return;
    case TypeRule::compare_int:
    case TypeRule::compare_float: {
      const bool ints = rule == TypeRule::compare_int;
      const Type& a = c.operand(0);
      c.require((ints ? is_integer(a) : is_float(a)) && a == c.operand(1), "two operands of one type");
      c.require(is_bool(c.result()) && same_shape(a, c.result()), "an i1 result of the operands' shape");
      const int64_t p = c.integer(AttrName::predicate);
      c.require(p >= 0 && p < (ints ? 10 : 16), "a known predicate");
      return;
    }
    case TypeRule::float_to_float:
      return cast(is_float(c.operand(0)), is_float(c.result()));
    case TypeRule::float_to_wider_float:
      return cast(is_float(c.operand(0)), is_float(c.result()) && bits(c.result().dtype) > bits(c.operand(0).dtype));
    case TypeRule::float_to_narrower_float:
      return cast(is_float(c.operand(0)), is_float(c.result()) && bits(c.result().dtype) < bits(c.operand(0).dtype));
    case TypeRule::int_to_wider_int:
      return cast(is_integer(c.operand(0)),
                  is_integer(c.result()) && bits(c.result().dtype) > bits(c.operand(0).dtype));
    case TypeRule::int_to_narrower_int:
      return cast(is_integer(c.operand(0)),
                  is_integer(c.result()) && bits(c.result().dtype) < bits(c.operand(0).dtype));
    case TypeRule::int_to_float:
      return cast(is_integer(c.operand(0)), is_float(c.result()));
    case TypeRule::float_to_int:
      return cast(is_float(c.operand(0)), is_integer(c.result()));
    case TypeRule::index_cast:
      return cast(is_integer(c.operand(0)), is_integer(c.result()) && (c.operand(0).kind == TypeKind::index) !=
                                                                          (c.result().kind == TypeKind::index));
    case TypeRule::same_width_cast:
      return cast(c.operand(0).kind != TypeKind::index && (is_integer(c.operand(0)) || is_float(c.operand(0))),
                  c.result().kind != TypeKind::index && (is_integer(c.result()) || is_float(c.result())) &&
                      bits(c.operand(0).dtype) == bits(c.result().dtype));
  }
}

void check_constant(const OpCheck& c) {
  const Attr* value = c.op.find(AttrName::value);
  c.require(value && (value->kind == AttrKind::integer || value->kind == AttrKind::floating ||
                      value->kind == AttrKind::dense_elements),
            "a number or dense elements as `value`");
  c.require(*value->type == c.result(), "a value of the result's type");
  c.require(!c.result().is_memref(), "a scalar or a vector");
}

void check_own(const OpCheck& c) {
  switch (c.op.code) {
    case OpCode::arith_constant:
      return check_constant(c);
    case OpCode::arith_select: {
      const Type& condition = c.operand(0);
      c.require(is_bool(condition) && (condition.is_scalar() || same_shape(condition, c.result())),
                "an i1 condition, scalar or of the result's shape");
      c.require(c.operand(1) == c.result() && c.operand(2) == c.result(), "two values of the result's type");
      return;
    }
    case OpCode::arith_addui_extended:
    case OpCode::arith_subui_extended:
      c.require(is_integer(c.operand(0)) && c.operand(0) == c.operand(1) && c.operand(0) == c.result() &&
                    is_bool(c.result(1)) && same_shape(c.result(), c.result(1)),
                "two integers, giving one of their type and an i1");
      return;
    case OpCode::arith_mulsi_extended:
    case OpCode::arith_mului_extended:
      c.require(is_integer(c.operand(0)) && c.operand(0) == c.operand(1) && c.operand(0) == c.result() &&
                    c.result() == c.result(1),
                "two integers, giving two of their type");
      return;
    case OpCode::math_fpowi:
      c.require(is_float(c.operand(0)) && c.operand(0) == c.result() && is_integer(c.operand(1)) &&
                    same_shape(c.operand(0), c.operand(1)),
                "a float base and an integer exponent");
      return;
    case OpCode::math_sincos:
      c.require(is_float(c.operand(0)) && c.operand(0) == c.result() && c.result() == c.result(1),
                "a float, giving two of its type");
      return;
    case OpCode::scf_for:
      c.require(is_integer_scalar(c.operand(0)) && c.operand(0) == c.operand(1) && c.operand(0) == c.operand(2),
                "bounds and step of one integer type");
      return;
    case OpCode::scf_if:
      c.require(c.operand(0).is_scalar() && is_bool(c.operand(0)), "an i1 condition");
      return;
    case OpCode::scf_condition:
      c.require(c.operand(0).is_scalar() && is_bool(c.operand(0)), "an i1 condition");
      return;
    case OpCode::scf_index_switch:
      c.require(c.operand(0).kind == TypeKind::index, "an index");
      return;
    case OpCode::cf_assert:
      c.require(c.operand(0).is_scalar() && is_bool(c.operand(0)), "an i1 condition");
      return;
    case OpCode::tpu_assume_multiple:
      c.require(is_integer(c.operand(0)) && c.operand(0) == c.result() && c.integer(AttrName::multiple) > 0,
                "an integer and a positive multiple");
      return;
    case OpCode::tpu_device_id:
    case OpCode::tpu_core_id:
    case OpCode::tpu_subcore_id:
      c.require(is_integer_scalar(c.result()), "an integer result");
      return;
    case OpCode::tpu_iteration_bound:
      c.require(is_integer_scalar(c.result()), "an integer result");
      c.axis(AttrName::dim, kMaxRank);
      return;
    case OpCode::tpu_delay:
      c.require(is_integer_scalar(c.operand(0)), "an integer");
      return;
    case OpCode::tpu_trace_value:
      c.require(c.operand(0).is_scalar(), "a scalar");
      return;
    case OpCode::tpu_prng_set_seed_32:
      for (size_t i = 0; i < c.op.operands.size(); ++i) c.require(is_integer_scalar(c.operand(i)), "integer seeds");
      return;
    case OpCode::tpu_prng_random_bits:
      c.require(c.result().is_vector() && is_integer(c.result()), "an integer vector");
      return;
    case OpCode::tpu_log:
      c.require(c.op.has(AttrName::tag), "a tag");
      return;
    default:
      return check_vector_types(c);
  }
}

}  // namespace

void check_types(const OpCheck& check) {
  check_rule(check, info(check.op.code).rule);
  if (info(check.op.code).rule == TypeRule::own) check_own(check);
}

}  // namespace tilecheck::mosaic
