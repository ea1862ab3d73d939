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
// element is one fused multiply-add chain in k order that starts at out (or 0); integers wrap. An addend[m, n]
// (row-major; not of i64, and k > 0) is added last: addend + chain.
struct GemmCall {
  DType dtype;
  int64_t m, n, k;
  GemmOperand lhs, rhs;
  std::byte* out;
  bool accumulate;
  TilePool* pool;  // for packed panels
  const std::byte* addend = nullptr;
  bool rhs_is_bf16 = false;  // rhs's storage, of an f32 product
};
void gemm(const GemmCall& call);

}  // namespace tilecheck
