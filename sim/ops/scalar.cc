#include <array>
#include <cassert>
#include <string>

#include "sim/ops/elements.h"
#include "sim/ops/strips.h"
#include "sim/types/error.h"

namespace tilecheck {

uint64_t apply_scalar(const OpCall& call, DType operand, std::span<const uint64_t> operands) {
  assert(operands.size() <= 3);
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
