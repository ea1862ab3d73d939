// Finds custom calls in StableHLO text, as jax.jit(f).lower(...).as_text() prints it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/spec/kernel_spec.h"
#include "sim/types/dtype.h"
#include "sim/types/shape.h"

namespace tilecheck::mosaic {

// An array type at the boundary of a kernel: `tensor<8x128xf32>`. Unsigned integers keep their sign here (ui32 is u32).
struct ArrayType {
  DType dtype = DType::f32;
  Shape shape;
  friend bool operator==(const ArrayType&, const ArrayType&) = default;
};
// "f32[8,128]".
std::string to_string(const ArrayType& type);
// The same, read: "f32[8,128]", "bfloat16[1024]", "i32[]". InputError (at `where`) for anything else.
ArrayType parse_array_type(std::string_view text, std::string_view where);

struct CustomCall {
  std::string target;       // "tpu_custom_call"
  std::string kernel_name;  // empty where the call has none
  int api_version = 1;
  std::string backend_config;   // unescaped; as written where it is no string
  std::string kernel_metadata;  // JSON in mhlo.frontend_attributes; may be empty
  std::vector<ArrayType> operands, results;
  std::vector<Alias> aliases;  // input: an operand's number, output: a result's
  bool has_side_effect = false;
  std::string function;  // the func.func that holds the call
  int line = 0;          // of the text, 1-based
};

// Every custom call, in the order of the text. Operand and result types, aliases and layouts are read of
// tpu_custom_call alone. Throws InputError with the line: text cut short, an unknown element type, a layout that is not
// row-major.
std::vector<CustomCall> scan_stablehlo(std::string_view text, std::string_view name);

// The tpu_custom_calls among `calls`. If there is none, an Incomplete that names the GPU kernel met instead, or an
// InputError that says what the module may be and how to lower it for a TPU.
std::vector<CustomCall> tpu_calls(std::vector<CustomCall> calls, std::string_view name);

}  // namespace tilecheck::mosaic
