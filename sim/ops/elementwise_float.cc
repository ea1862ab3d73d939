// Float operations on f32 and f64 elements, and on the narrow types through f32 with one rounding.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "sim/ops/strips.h"
#include "sim/types/float_formats.h"

namespace tilecheck {
namespace {

template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;

// Larger and smaller as IEEE 754-2019 maximum and minimum: NaN wins, -0 < +0.
template <class T>
T maximum_of(T a, T b) {
  if (std::isnan(a)) return a;
  if (std::isnan(b)) return b;
  if (a == b) return std::bit_cast<T>(std::bit_cast<BitsOf<T>>(a) & std::bit_cast<BitsOf<T>>(b));
  return a > b ? a : b;
}

template <class T>
T minimum_of(T a, T b) {
  if (std::isnan(a)) return a;
  if (std::isnan(b)) return b;
  if (a == b) return std::bit_cast<T>(std::bit_cast<BitsOf<T>>(a) | std::bit_cast<BitsOf<T>>(b));
  return a < b ? a : b;
}

// f32 goes through f64 with one rounding.
template <class T, class F>
T through_f64(T x, F f) {
  return static_cast<T>(f(static_cast<double>(x)));
}

template <OpId kOp, class T>
T unary(T x) {
  if constexpr (kOp == OpId::negf) return -x;
  if constexpr (kOp == OpId::absf) return std::fabs(x);
  if constexpr (kOp == OpId::exp) return through_f64(x, [](double v) { return std::exp(v); });
  if constexpr (kOp == OpId::exp2) return through_f64(x, [](double v) { return std::exp2(v); });
  if constexpr (kOp == OpId::log) return through_f64(x, [](double v) { return std::log(v); });
  if constexpr (kOp == OpId::log2) return through_f64(x, [](double v) { return std::log2(v); });
  if constexpr (kOp == OpId::log1p) return through_f64(x, [](double v) { return std::log1p(v); });
  if constexpr (kOp == OpId::expm1) return through_f64(x, [](double v) { return std::expm1(v); });
  if constexpr (kOp == OpId::sqrt) return std::sqrt(x);
  if constexpr (kOp == OpId::rsqrt) return T{1} / std::sqrt(x);
  if constexpr (kOp == OpId::cbrt) return through_f64(x, [](double v) { return std::cbrt(v); });
  if constexpr (kOp == OpId::tanh) return through_f64(x, [](double v) { return std::tanh(v); });
  if constexpr (kOp == OpId::sin) return through_f64(x, [](double v) { return std::sin(v); });
  if constexpr (kOp == OpId::cos) return through_f64(x, [](double v) { return std::cos(v); });
  if constexpr (kOp == OpId::tan) return through_f64(x, [](double v) { return std::tan(v); });
  if constexpr (kOp == OpId::asin) return through_f64(x, [](double v) { return std::asin(v); });
  if constexpr (kOp == OpId::acos) return through_f64(x, [](double v) { return std::acos(v); });
  if constexpr (kOp == OpId::atan) return through_f64(x, [](double v) { return std::atan(v); });
  if constexpr (kOp == OpId::sinh) return through_f64(x, [](double v) { return std::sinh(v); });
  if constexpr (kOp == OpId::cosh) return through_f64(x, [](double v) { return std::cosh(v); });
  if constexpr (kOp == OpId::erf) return through_f64(x, [](double v) { return std::erf(v); });
  if constexpr (kOp == OpId::erfc) return through_f64(x, [](double v) { return std::erfc(v); });
  if constexpr (kOp == OpId::logistic) return through_f64(x, [](double v) { return 1 / (1 + std::exp(-v)); });
  if constexpr (kOp == OpId::ceil) return std::ceil(x);
  if constexpr (kOp == OpId::floor) return std::floor(x);
  if constexpr (kOp == OpId::round) return std::round(x);
  if constexpr (kOp == OpId::roundeven) return std::nearbyint(x);
  if constexpr (kOp == OpId::trunc) return std::trunc(x);
}

template <OpId kOp, class T>
T binary(T a, T b) {
  if constexpr (kOp == OpId::addf) return a + b;
  if constexpr (kOp == OpId::subf) return a - b;
  if constexpr (kOp == OpId::mulf) return a * b;
  if constexpr (kOp == OpId::divf) return a / b;
  if constexpr (kOp == OpId::remf) return std::fmod(a, b);
  if constexpr (kOp == OpId::maximumf) return maximum_of(a, b);
  if constexpr (kOp == OpId::minimumf) return minimum_of(a, b);
  if constexpr (kOp == OpId::maxnumf) return std::isnan(a) ? b : std::isnan(b) ? a : maximum_of(a, b);
  if constexpr (kOp == OpId::minnumf) return std::isnan(a) ? b : std::isnan(b) ? a : minimum_of(a, b);
  if constexpr (kOp == OpId::powf) return static_cast<T>(std::pow(static_cast<double>(a), static_cast<double>(b)));
  if constexpr (kOp == OpId::atan2) return static_cast<T>(std::atan2(static_cast<double>(a), static_cast<double>(b)));
  if constexpr (kOp == OpId::copysign) return std::copysign(a, b);
}

constexpr bool is_binary(OpId op) {
  return op <= OpId::minnumf || op == OpId::powf || op == OpId::atan2 || op == OpId::copysign;
}

template <class T>
void reciprocal(const StripArgs& args) {
  // approx: what JAX's interpreter does for the chip's reciprocal (machine rule 26).
  if (sizeof(T) == 4 && args.call->approx)
    map_unary<T, T>(args, [](T x) {
      const float narrow = bf16_to_f32(f32_to_bf16(static_cast<float>(x)));
      return static_cast<T>(bf16_to_f32(f32_to_bf16(1.0f / narrow)));
    });
  else
    map_unary<T, T>(args, [](T x) { return T{1} / x; });
}

template <class T>
void fused_multiply_add(const StripArgs& args) {
  const T* a = static_cast<const T*>(args.operands[0]);
  const T* b = static_cast<const T*>(args.operands[1]);
  const T* c = static_cast<const T*>(args.operands[2]);
  T* out = static_cast<T*>(args.out);
  const int64_t sa = args.splat_mask & 1 ? 0 : 1, sb = args.splat_mask & 2 ? 0 : 1, sc = args.splat_mask & 4 ? 0 : 1;
  for (int64_t i = 0; i < args.n; ++i) out[i] = std::fma(a[i * sa], b[i * sb], c[i * sc]);
}

template <OpId kOp, class T>
void wide_strip(const StripArgs& args) {
  if constexpr (kOp == OpId::is_weird)
    map_unary<T, uint8_t>(args, [](T x) { return static_cast<uint8_t>(!std::isfinite(x)); });
  else if constexpr (kOp == OpId::reciprocal)
    reciprocal<T>(args);
  else if constexpr (kOp == OpId::fma)
    fused_multiply_add<T>(args);
  else if constexpr (is_binary(kOp))
    map_binary<T, T>(args, [](T a, T b) { return binary<kOp, T>(a, b); });
  else
    map_unary<T, T>(args, [](T x) { return unary<kOp, T>(x); });
}

constexpr int kFloatOps = static_cast<int>(OpId::is_weird) + 1;
using Table = std::array<StripFn, kFloatOps>;

template <class T, size_t... kOps>
constexpr Table wide_table(std::index_sequence<kOps...>) {
  return {&wide_strip<static_cast<OpId>(kOps), T>...};
}
constexpr Table kF32 = wide_table<float>(std::make_index_sequence<kFloatOps>());
constexpr Table kF64 = wide_table<double>(std::make_index_sequence<kFloatOps>());

// Operands widened to f32, the f32 operation, one rounding, a chunk at a time.
void narrow_strip(const StripArgs& args, OpId op, DType dtype) {
  const WidenFn widen = widen_fn(dtype);
  const NarrowFn narrow = narrow_fn(dtype);
  const StripFn wide = kF32[static_cast<size_t>(op)];
  const int bytes = storage_bytes(dtype);
  const int count = info(op).max_operands;
  const bool to_bool = op == OpId::is_weird;
  alignas(64) float operands[3][kChunk];
  alignas(64) float result[kChunk];
  const void* pointers[3];
  for (int k = 0; k < count; ++k) {
    pointers[k] = operands[k];
    if (args.splat_mask >> k & 1) widen(args.operands[k], operands[k], 1);
  }
  for (int64_t at = 0; at < args.n; at += kChunk) {
    const int64_t n = std::min(kChunk, args.n - at);
    for (int k = 0; k < count; ++k)
      if (!(args.splat_mask >> k & 1))
        widen(static_cast<const std::byte*>(args.operands[k]) + at * bytes, operands[k], n);
    void* out = static_cast<std::byte*>(args.out) + at * (to_bool ? 1 : bytes);
    wide({pointers, args.splat_mask, to_bool ? out : result, n, args.call});
    if (!to_bool) narrow(result, out, n);
  }
}

template <OpId kOp, DType kType>
void narrow_thunk(const StripArgs& args) {
  narrow_strip(args, kOp, kType);
}

template <DType kType, size_t... kOps>
constexpr Table narrow_table(std::index_sequence<kOps...>) {
  return {&narrow_thunk<static_cast<OpId>(kOps), kType>...};
}
template <DType kType>
constexpr Table kNarrow = narrow_table<kType>(std::make_index_sequence<kFloatOps>());

}  // namespace

StripFn float_strip(OpId op, DType repr) {
  const size_t i = static_cast<size_t>(op);
  if (i >= kFloatOps) return nullptr;
  if (repr == DType::f32) return kF32[i];
  if (repr == DType::f64) return kF64[i];
  return visit_dtype(NarrowFloats{}, repr, [i]<DType kType>() { return kNarrow<kType>[i]; });
}

}  // namespace tilecheck
