// Operations on scalars without tiles, through the same strip functions.
#include <array>
#include <cassert>
#include <string>

#include "sim/ops/elements.h"
#include "sim/ops/strips.h"
#include "sim/types/error.h"

namespace tilecheck {

namespace {

// What addresses are made of, without a look at the table; false for everything else. `operand` is an integer or bool.
bool apply_common(const OpCall& call, DType operand, std::span<const uint64_t> operands, uint64_t& result) {
  if (operands.size() != 2 || is_floating(operand)) return false;
  const uint64_t a = operands[0], b = operands[1];
  const int64_t sa = static_cast<int64_t>(a), sb = static_cast<int64_t>(b);
  switch (call.op) {
    case OpId::addi:
      result = encode_int(operand, static_cast<int64_t>(a + b));
      return true;
    case OpId::subi:
      result = encode_int(operand, static_cast<int64_t>(a - b));
      return true;
    case OpId::muli:
      result = encode_int(operand, static_cast<int64_t>(a * b));
      return true;
    case OpId::andi:
      result = a & b;
      return true;
    case OpId::ori:
      result = a | b;
      return true;
    case OpId::xori:
      result = a ^ b;
      return true;
    case OpId::maxsi:
    case OpId::minsi:
      if (!is_signed_int(operand)) return false;
      result = (call.op == OpId::maxsi) == (sa > sb) ? a : b;
      return true;
    case OpId::cmpi:
      if (!is_signed_int(operand)) return false;
      switch (call.predicate) {
        case Predicate::eq:
          result = a == b;
          return true;
        case Predicate::ne:
          result = a != b;
          return true;
        case Predicate::slt:
          result = sa < sb;
          return true;
        case Predicate::sle:
          result = sa <= sb;
          return true;
        case Predicate::sgt:
          result = sa > sb;
          return true;
        case Predicate::sge:
          result = sa >= sb;
          return true;
        default:
          return false;
      }
    default:
      return false;
  }
}

}  // namespace

uint64_t apply_scalar(const OpCall& call, DType operand, std::span<const uint64_t> operands) {
  assert(operands.size() <= 3);
  uint64_t common = 0;
  if (apply_common(call, operand, operands, common)) return common;
  const TypeAndShape result = [&]() -> TypeAndShape {
    const Shape scalar;
    std::array<OperandType, 3> types;
    for (size_t i = 0; i < operands.size(); ++i)
      types[i] = {call.op == OpId::select && i == 0               ? DType::b1
                  : call.op == OpId::stochastic_convert && i == 1 ? DType::i32
                                                                  : operand,
                  &scalar};
    return result_type(call, {types.data(), operands.size()});
  }();
  const StripFn fn = strip_fn(call.op, operand, result.dtype);
  if (!fn) throw InputError(std::string(info(call.op).name), "not an operation on scalars");
  const void* pointers[3];
  for (size_t i = 0; i < operands.size(); ++i) pointers[i] = &operands[i];
  uint64_t element = 0;
  fn({pointers, (1u << operands.size()) - 1, &element, 1, &call});
  return load_bits(result.dtype, &element);
}

}  // namespace tilecheck
