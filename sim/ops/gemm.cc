#include "sim/ops/gemm.h"

#include <cassert>
#include <cmath>
#include <vector>

#include "sim/ops/ops.h"
#include "sim/ops/strips.h"
#include "sim/types/float_formats.h"

namespace tilecheck {
namespace {

template <class T>
std::vector<T> packed(const GemmOperand& operand, int64_t rows, int64_t columns, DType chain, bool is_signed) {
  std::vector<T> out(static_cast<size_t>(rows * columns));
  const OpId op = is_floating(chain)                  ? OpId::extf
                  : bits(operand.dtype) > bits(chain) ? OpId::trunci
                  : is_signed                         ? OpId::extsi
                                                      : OpId::extui;
  const StripFn fn = strip_fn(op, operand.dtype, chain);
  const OpCall call{.op = op};
  const int bytes = storage_bytes(operand.dtype);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns;) {
      const int64_t n = operand.column_stride == 1 ? columns : 1;
      const void* pointer = operand.data + (r * operand.row_stride + c * operand.column_stride) * bytes;
      fn({&pointer, 0, out.data() + r * columns + c, n, &call});
      c += n;
    }
  return out;
}

template <class T>
T multiply_add(T a, T b, T c) {
  if constexpr (std::is_floating_point_v<T>)
    return std::fma(a, b, c);
  else
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) * static_cast<std::make_unsigned_t<T>>(b) +
                          static_cast<std::make_unsigned_t<T>>(c));
}

template <class T>
void multiply(const T* a, const T* b, T* out, int64_t m, int64_t n, int64_t k) {
  for (int64_t i = 0; i < m; ++i)
    for (int64_t p = 0; p < k; ++p) {
      const T x = a[i * k + p];
      T* row = out + i * n;
      const T* other = b + p * n;
      for (int64_t j = 0; j < n; ++j) row[j] = multiply_add(x, other[j], row[j]);
    }
}

template <class T>
void run(const GemmCall& call) {
  const std::vector<T> a = packed<T>(call.lhs, call.m, call.k, call.chain, call.is_signed);
  const std::vector<T> b = packed<T>(call.rhs, call.k, call.n, call.chain, call.is_signed);
  multiply(a.data(), b.data(), reinterpret_cast<T*>(call.out), call.m, call.n, call.k);
}

float high(float x) { return bf16_to_f32(f32_to_bf16(x)); }

void run_split(const GemmCall& call) {
  std::vector<float> a = packed<float>(call.lhs, call.m, call.k, call.chain, true);
  std::vector<float> b = packed<float>(call.rhs, call.k, call.n, call.chain, true);
  std::vector<float> a_low = a, b_low = b;
  for (size_t i = 0; i < a.size(); ++i) a[i] = high(a[i]), a_low[i] = high(a_low[i] - a[i]);
  for (size_t i = 0; i < b.size(); ++i) b[i] = high(b[i]), b_low[i] = high(b_low[i] - b[i]);
  float* out = reinterpret_cast<float*>(call.out);
  if (call.passes == Passes::bf16x3) {
    multiply(a_low.data(), b.data(), out, call.m, call.n, call.k);
    multiply(a.data(), b_low.data(), out, call.m, call.n, call.k);
  }
  multiply(a.data(), b.data(), out, call.m, call.n, call.k);
}

}  // namespace

void gemm(const GemmCall& call) {
  switch (call.chain) {
    case DType::f32:
      return call.passes == Passes::plain ? run<float>(call) : run_split(call);
    case DType::f64:
      return run<double>(call);
    case DType::i32:
      return run<int32_t>(call);
    default:
      return run<int64_t>(call);
  }
}

}  // namespace tilecheck
