// Float operations on f32 and f64 elements, and on the narrow types through f32 with one rounding. Sums, products, max
// and min are arithmetic.cc's, the transcendental functions of f32 math.cc's; libm's serve f64.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "sim/ops/strips.h"
#include "sim/types/float_formats.h"

namespace tilecheck {
namespace {

template <OpId kOp, class T>
T unary(T x) {
  if constexpr (kOp == OpId::negf) return -x;
  if constexpr (kOp == OpId::absf) return std::fabs(x);
  if constexpr (kOp == OpId::exp) return std::exp(x);
  if constexpr (kOp == OpId::exp2) return std::exp2(x);
  if constexpr (kOp == OpId::log) return std::log(x);
  if constexpr (kOp == OpId::log2) return std::log2(x);
  if constexpr (kOp == OpId::log1p) return std::log1p(x);
  if constexpr (kOp == OpId::expm1) return std::expm1(x);
  if constexpr (kOp == OpId::sqrt) return std::sqrt(x);
  if constexpr (kOp == OpId::rsqrt) return T{1} / std::sqrt(x);
  if constexpr (kOp == OpId::cbrt) return std::cbrt(x);
  if constexpr (kOp == OpId::tanh) return std::tanh(x);
  if constexpr (kOp == OpId::sin) return std::sin(x);
  if constexpr (kOp == OpId::cos) return std::cos(x);
  if constexpr (kOp == OpId::tan) return std::tan(x);
  if constexpr (kOp == OpId::asin) return std::asin(x);
  if constexpr (kOp == OpId::acos) return std::acos(x);
  if constexpr (kOp == OpId::atan) return std::atan(x);
  if constexpr (kOp == OpId::sinh) return std::sinh(x);
  if constexpr (kOp == OpId::cosh) return std::cosh(x);
  if constexpr (kOp == OpId::erf) return std::erf(x);
  if constexpr (kOp == OpId::erfc) return std::erfc(x);
  if constexpr (kOp == OpId::logistic) return 1 / (1 + std::exp(-x));
  if constexpr (kOp == OpId::ceil) return std::ceil(x);
  if constexpr (kOp == OpId::floor) return std::floor(x);
  if constexpr (kOp == OpId::round) return std::round(x);
  if constexpr (kOp == OpId::roundeven) return std::nearbyint(x);
  if constexpr (kOp == OpId::trunc) return std::trunc(x);
}

template <OpId kOp, class T>
T binary(T a, T b) {
  if constexpr (kOp == OpId::remf) return std::fmod(a, b);
  if constexpr (kOp == OpId::powf) return std::pow(a, b);
  if constexpr (kOp == OpId::atan2) return std::atan2(a, b);
  if constexpr (kOp == OpId::copysign) return std::copysign(a, b);
}

constexpr bool is_binary(OpId op) {
  return op == OpId::remf || op == OpId::powf || op == OpId::atan2 || op == OpId::copysign;
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

// What arithmetic_strip() has.
constexpr bool is_arithmetic(OpId op) { return op <= OpId::minnumf && op != OpId::remf; }

// The f32 functions that math_strip() has.
constexpr bool is_math(OpId op) {
  return (op >= OpId::exp && op <= OpId::logistic && op != OpId::sqrt && op != OpId::rsqrt) || op == OpId::powf ||
         op == OpId::atan2;
}

template <OpId kOp, class T>
constexpr StripFn wide_entry() {
  if constexpr (is_arithmetic(kOp) || (is_math(kOp) && sizeof(T) == 4))
    return nullptr;
  else
    return &wide_strip<kOp, T>;
}

template <class T, size_t... kOps>
constexpr Table wide_table(std::index_sequence<kOps...>) {
  return {wide_entry<static_cast<OpId>(kOps), T>()...};
}
constexpr Table kF32 = wide_table<float>(std::make_index_sequence<kFloatOps>());
constexpr Table kF64 = wide_table<double>(std::make_index_sequence<kFloatOps>());

// Operands widened to f32, the f32 operation, one rounding, a chunk at a time.
void narrow_strip(const StripArgs& args, OpId op, DType dtype) {
  const WidenFn widen = widen_fn(dtype);
  const NarrowFn narrow = narrow_fn(dtype);
  const StripFn wide = float_strip(op, DType::f32);
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
  if (is_arithmetic(op) && !is_narrow_float(repr)) return arithmetic_strip(op, repr);
  if (repr == DType::f32) return is_math(op) ? math_strip(op) : kF32[i];
  if (repr == DType::f64) return kF64[i];
  return visit_dtype(NarrowFloats{}, repr, [i]<DType kType>() { return kNarrow<kType>[i]; });
}

}  // namespace tilecheck
