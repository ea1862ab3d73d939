// The strip functions behind strip_fn(), by group. For the .cc files of this folder.
#pragma once

#include <type_traits>

#include "sim/ops/elements.h"
#include "sim/ops/ops.h"

namespace tilecheck {

// Elements that a strip through another type holds on the stack.
inline constexpr int64_t kChunk = 256;

StripFn float_strip(OpId op, DType repr);       // addf .. is_weird
StripFn math_strip(OpId op);                    // transcendental functions of f32; null for others
StripFn arithmetic_strip(OpId op, DType repr);  // addf .. minnumf of f32 and f64
StripFn int_strip(OpId op, DType repr);         // addi .. mului_high
StripFn compare_strip(OpId op, DType repr);     // cmpf, cmpi
StripFn select_strip(DType repr);
StripFn convert_strip(OpId op, DType operand, DType result);  // extf .. trunci, stochastic_convert, equal-width bitcast

// n elements of a float type of 16 bits or less to f32, and back (one rounding).
using WidenFn = void (*)(const void* from, float* to, int64_t n);
using NarrowFn = void (*)(const float* from, void* to, int64_t n);
WidenFn widen_fn(DType dtype);
NarrowFn narrow_fn(DType dtype);

inline bool is_narrow_float(DType dtype) { return is_floating(dtype) && dtype != DType::f32 && dtype != DType::f64; }

// Calls visit.operator()<DType>() for the run-time type; `none` for a type it is not asked for.
template <DType... kTypes>
struct DTypeList {};
using NarrowFloats = DTypeList<DType::bf16, DType::f16, DType::f8e4m3fn, DType::f8e5m2, DType::f8e4m3b11fnuz,
                               DType::f8e8m0fnu, DType::f4e2m1fn>;
using Integers = DTypeList<DType::i64, DType::i32, DType::i16, DType::i8, DType::i4, DType::i2, DType::u64, DType::u32,
                           DType::u16, DType::u8, DType::u4, DType::u2, DType::b1>;

template <DType... kTypes, class Visit>
StripFn visit_dtype(DTypeList<kTypes...>, DType dtype, Visit&& visit) {
  StripFn found = nullptr;
  ((dtype == kTypes ? (found = visit.template operator()<kTypes>(), 0) : 0), ...);
  return found;
}

// Types of eight bits and more share one strip for both signs.
inline DType signless(DType dtype) {
  switch (dtype) {
    case DType::u64:
      return DType::i64;
    case DType::u32:
      return DType::i32;
    case DType::u16:
      return DType::i16;
    case DType::u8:
      return DType::i8;
    default:
      return dtype;
  }
}

// The storage of the integer types, and how their elements are read and written.
template <DType kType>
struct IntTraits {
  static constexpr bool kSigned = kType == DType::i64 || kType == DType::i32 || kType == DType::i16 ||
                                  kType == DType::i8 || kType == DType::i4 || kType == DType::i2;
  static constexpr int kBits = [] {
    switch (kType) {
      case DType::i64:
      case DType::u64:
        return 64;
      case DType::i32:
      case DType::u32:
        return 32;
      case DType::i16:
      case DType::u16:
        return 16;
      case DType::i8:
      case DType::u8:
        return 8;
      case DType::i4:
      case DType::u4:
        return 4;
      case DType::i2:
      case DType::u2:
        return 2;
      default:
        return 1;
    }
  }();
  static constexpr int kStorageBits = kBits < 8 ? 8 : kBits;
  template <int kWidth>
  static auto storage_of() {
    if constexpr (kWidth == 64)
      return int64_t{};
    else if constexpr (kWidth == 32)
      return int32_t{};
    else if constexpr (kWidth == 16)
      return int16_t{};
    else
      return int8_t{};
  }
  using Signed = decltype(storage_of<kStorageBits>());
  using Unsigned = std::make_unsigned_t<Signed>;
  // Whatever the sign of the declared type, an operation reads the bits as it needs them.
  static Signed read_signed(Signed stored) {
    if constexpr (kBits == kStorageBits)
      return stored;
    else
      return static_cast<Signed>(static_cast<Signed>(static_cast<unsigned>(stored) << (8 - kBits)) >> (8 - kBits));
  }
  static Unsigned read_unsigned(Signed stored) {
    if constexpr (kBits == kStorageBits)
      return static_cast<Unsigned>(stored);
    else
      return static_cast<Unsigned>(static_cast<unsigned>(stored) & ((1u << kBits) - 1));
  }
  // The stored form of the low kBits of a value.
  static Signed write(Signed value) {
    if constexpr (kBits == kStorageBits)
      return value;
    else if constexpr (kSigned)
      return read_signed(value);
    else
      return static_cast<Signed>(read_unsigned(value));
  }
};

// Loops over n elements; a splat operand is read once.
template <class In, class Out, class F>
void map_unary(const StripArgs& args, F f) {
  const In* a = static_cast<const In*>(args.operands[0]);
  Out* out = static_cast<Out*>(args.out);
  if (args.n <= 0) return;
  if (args.splat_mask & 1) {
    const Out value = f(a[0]);
    return fill_elements(out, &value, sizeof(Out), args.n);
  }
#ifndef __clang__
#pragma GCC ivdep
#endif
  for (int64_t i = 0; i < args.n; ++i) out[i] = f(a[i]);
}

template <class In, class Out, class F>
void map_binary(const StripArgs& args, F f) {
  const In* a = static_cast<const In*>(args.operands[0]);
  const In* b = static_cast<const In*>(args.operands[1]);
  Out* out = static_cast<Out*>(args.out);
  const int64_t n = args.n;
  if (n <= 0) return;
  const uint32_t mask = args.splat_mask & 3;
  if (mask == 0) {
#ifndef __clang__
#pragma GCC ivdep
#endif
    for (int64_t i = 0; i < n; ++i) out[i] = f(a[i], b[i]);
  } else if (mask == 1) {
    const In x = a[0];
#ifndef __clang__
#pragma GCC ivdep
#endif
    for (int64_t i = 0; i < n; ++i) out[i] = f(x, b[i]);
  } else if (mask == 2) {
    const In y = b[0];
#ifndef __clang__
#pragma GCC ivdep
#endif
    for (int64_t i = 0; i < n; ++i) out[i] = f(a[i], y);
  } else {
    const Out value = f(a[0], b[0]);
    fill_elements(out, &value, sizeof(Out), n);
  }
}

}  // namespace tilecheck
