// The matrix product on plain memory. For the .cc files of this folder.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sim/ops/tile.h"
#include "sim/types/dtype.h"

namespace tilecheck {

// A matrix read with two strides, in elements.
struct GemmOperand {
  const std::byte* data;
  int64_t row_stride, column_stride;
};

// out[m, n] (row-major) = (accumulate ? out : 0) + lhs[m, k] rhs[k, n], all of one type: f32, f64, i32 or i64. Each
// element is one fused multiply-add chain in k order that starts at out (or 0); integers wrap. With a factor of each
// row (factor_step elements from one to the next; 0: one of all) and an addend[m, n] (row-major), the results are
// addend + chain * factor, each rounded by itself. (Neither of i64, and k > 0.)
struct GemmCall {
  DType dtype;
  int64_t m, n, k;
  GemmOperand lhs, rhs;
  std::byte* out;
  bool accumulate;
  TilePool* pool;  // for packed panels
  const std::byte* addend = nullptr;
  const std::byte* factor = nullptr;
  int64_t factor_step = 0;
  bool rhs_is_bf16 = false;  // rhs's storage, of an f32 product
};
void gemm(const GemmCall& call);

}  // namespace tilecheck
