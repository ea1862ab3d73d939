// The matrix product on plain memory. For the .cc files of this folder.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sim/types/dtype.h"

namespace tilecheck {

// How f32 operands enter the product.
enum class Passes : uint8_t {
  plain,   // as they are
  bf16,    // rounded to bf16
  bf16x3,  // as bf16 high and low parts: high x high + high x low + low x high, each a chain of its own
};

// A matrix of any element type, read with two strides (in elements).
struct GemmOperand {
  const std::byte* data;
  DType dtype;
  int64_t row_stride, column_stride;
};

// out[m, n] (row-major, element type `chain`: f32, f64, i32 or i64) += lhs[m, k] rhs[k, n], each element a fused
// multiply-add chain in k order; integers wrap, and are read by `is_signed`.
struct GemmCall {
  int64_t m, n, k;
  GemmOperand lhs, rhs;
  std::byte* out;
  DType chain;
  Passes passes;
  bool is_signed;
};
void gemm(const GemmCall& call);

}  // namespace tilecheck
