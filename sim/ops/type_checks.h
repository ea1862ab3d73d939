// What the type rules share: checks that throw InputError naming the operation, its operands and what was expected. For
// the .cc files of this folder.
#pragma once

#include <string>

#include "sim/ops/ops.h"
#include "sim/types/error.h"

namespace tilecheck {

using Operands = std::span<const OperandType>;

inline std::string text_of(const OperandType& operand) {
  std::string text(name(operand.dtype));
  return operand.shape->empty() ? text : text + "[" + to_string(*operand.shape) + "]";
}

[[noreturn]] inline void fail(const OpCall& call, const std::string& what) {
  throw InputError(std::string(info(call.op).name), what);
}

inline std::string list_of(Operands operands) {
  std::string text;
  for (const OperandType& operand : operands) text += (text.empty() ? "" : ", ") + text_of(operand);
  return text;
}

enum class Wanted : uint8_t { any, floating, integer };

inline bool fits(DType dtype, Wanted wanted) {
  switch (wanted) {
    case Wanted::any:
      return !is_semaphore(dtype);
    case Wanted::floating:
      return is_floating(dtype);
    case Wanted::integer:
      return is_int(dtype) || dtype == DType::b1;
  }
  return false;
}

inline void check_operand(const OpCall& call, const OperandType& operand, Wanted wanted) {
  if (fits(operand.dtype, wanted)) return;
  fail(call, "operand is " + text_of(operand) + ", expected " +
                 (wanted == Wanted::floating  ? "a float type"
                  : wanted == Wanted::integer ? "an integer type or bool"
                                              : "an element type with arithmetic"));
}

inline void check_result(const OpCall& call, Wanted wanted) {
  if (fits(call.dtype, wanted)) return;
  fail(call, "result type is " + std::string(name(call.dtype)) + ", expected " +
                 (wanted == Wanted::floating ? "a float type" : "an integer type or bool"));
}

inline int checked_axis(const OpCall& call, int64_t axis, const Shape& shape) {
  if (axis < 0 || axis >= shape.rank())
    fail(call, "axis " + std::to_string(axis) + " of a tile of shape " + to_tuple(shape) + ": expected 0 to " +
                   std::to_string(shape.rank() - 1));
  return static_cast<int>(axis);
}

inline void check_shape(const OpCall& call, const Shape& shape) {
  if (checked_element_count(shape, 8) < 0) fail(call, "shape " + to_tuple(shape) + " is negative or too large");
}

// Rules of operations that move, reduce or contract whole tiles.
TypeAndShape whole_tile_type(const OpCall& call, Operands operands);

}  // namespace tilecheck
