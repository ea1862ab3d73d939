// Conversions between element types: f32, f64 and 64-bit integers are the middle through which all pairs go.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "sim/ops/elements.h"
#include "sim/ops/strips.h"
#include "sim/types/float_formats.h"

namespace tilecheck {
namespace {

// ---- narrow floats and f32

template <DType kType>
void widen(const void* from, float* to, int64_t n) {
  if constexpr (kType == DType::bf16) {
    const uint16_t* p = static_cast<const uint16_t*>(from);
    for (int64_t i = 0; i < n; ++i) to[i] = bf16_to_f32(p[i]);
  } else if constexpr (kType == DType::f16) {
    const uint16_t* p = static_cast<const uint16_t*>(from);
    for (int64_t i = 0; i < n; ++i) to[i] = f16_to_f32(p[i]);
  } else {
    const uint8_t* p = static_cast<const uint8_t*>(from);
    for (int64_t i = 0; i < n; ++i) to[i] = small_float_to_f32(kType, p[i]);
  }
}

template <DType kType>
void narrow(const float* from, void* to, int64_t n) {
  if constexpr (kType == DType::bf16) {
    uint16_t* p = static_cast<uint16_t*>(to);
    for (int64_t i = 0; i < n; ++i) p[i] = f32_to_bf16(from[i]);
  } else if constexpr (kType == DType::f16) {
    uint16_t* p = static_cast<uint16_t*>(to);
    for (int64_t i = 0; i < n; ++i) p[i] = f32_to_f16(from[i]);
  } else {
    uint8_t* p = static_cast<uint8_t*>(to);
    for (int64_t i = 0; i < n; ++i) p[i] = f32_to_small_float(kType, from[i]);
  }
}

// ---- float to float

template <DType kFrom, DType kTo>
void float_to_float(const float* from, void* to, int64_t n) {
  static_assert(kFrom == DType::f32);
  if constexpr (kTo == DType::f32)
    std::copy_n(from, n, static_cast<float*>(to));
  else if constexpr (kTo == DType::f64)
    std::copy_n(from, n, static_cast<double*>(to));
  else
    narrow<kTo>(from, to, n);
}

template <DType kFrom, DType kTo>
void convert_float(const StripArgs& args) {
  std::byte* out = static_cast<std::byte*>(args.out);
  const std::byte* in = static_cast<const std::byte*>(args.operands[0]);
  const int from_bytes = storage_bytes(kFrom), to_bytes = storage_bytes(kTo);
  if constexpr (kFrom == DType::f64) {
    const double* p = static_cast<const double*>(args.operands[0]);
    for (int64_t i = 0; i < args.n; ++i) store_from_double(kTo, out + i * to_bytes, p[i]);
  } else if constexpr (kFrom == DType::f32) {
    float_to_float<DType::f32, kTo>(static_cast<const float*>(args.operands[0]), out, args.n);
  } else {
    alignas(64) float chunk[kChunk];
    for (int64_t at = 0; at < args.n; at += kChunk) {
      const int64_t n = std::min(kChunk, args.n - at);
      widen<kFrom>(in + at * from_bytes, chunk, n);
      float_to_float<DType::f32, kTo>(chunk, out + at * to_bytes, n);
    }
  }
}

// ---- float to integer: truncates, saturates, NaN gives 0

template <class Wide, class T>
T saturate(Wide value, T low, T high) {
  if (!(value == value)) return T{0};
  if (value <= static_cast<Wide>(low)) return low;
  if (value >= static_cast<Wide>(high)) return high;
  return static_cast<T>(value);
}

template <DType kTo, bool kUnsigned, class Wide>
typename IntTraits<kTo>::Signed float_to_int(Wide value) {
  using Traits = IntTraits<kTo>;
  using S = typename Traits::Signed;
  if constexpr (kTo == DType::b1) return static_cast<S>(value != 0);
  if constexpr (kUnsigned) {
    using U = typename Traits::Unsigned;
    constexpr U kMax = static_cast<U>(~uint64_t{0} >> (64 - Traits::kBits));
    return Traits::write(static_cast<S>(saturate<Wide, U>(value, U{0}, kMax)));
  } else {
    constexpr S kMax = static_cast<S>((uint64_t{1} << (Traits::kBits - 1)) - 1);
    return Traits::write(saturate<Wide, S>(value, static_cast<S>(-kMax - 1), kMax));
  }
}

template <DType kFrom, DType kTo, bool kUnsigned>
void convert_to_int(const StripArgs& args) {
  using S = typename IntTraits<kTo>::Signed;
  S* out = static_cast<S*>(args.out);
  if constexpr (kFrom == DType::f64) {
    const double* p = static_cast<const double*>(args.operands[0]);
    for (int64_t i = 0; i < args.n; ++i) out[i] = float_to_int<kTo, kUnsigned>(p[i]);
  } else if constexpr (kFrom == DType::f32) {
    const float* p = static_cast<const float*>(args.operands[0]);
    for (int64_t i = 0; i < args.n; ++i) out[i] = float_to_int<kTo, kUnsigned>(p[i]);
  } else {
    alignas(64) float chunk[kChunk];
    const std::byte* in = static_cast<const std::byte*>(args.operands[0]);
    for (int64_t at = 0; at < args.n; at += kChunk) {
      const int64_t n = std::min(kChunk, args.n - at);
      widen<kFrom>(in + at * storage_bytes(kFrom), chunk, n);
      for (int64_t i = 0; i < n; ++i) out[at + i] = float_to_int<kTo, kUnsigned>(chunk[i]);
    }
  }
}

// ---- integer to float: one rounding

// A double that rounds to any narrower float as the integer does: below 2^53 exact, above with a sticky last bit.
template <class I>
double sticky_double(I value) {
  if constexpr (sizeof(I) < 8) {
    return static_cast<double>(value);
  } else {
    const bool negative = std::is_signed_v<I> && value < 0;
    const uint64_t magnitude = negative ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
    if (magnitude >> 53 == 0) return static_cast<double>(value);
    const uint64_t sticky = (magnitude & 0x7ff) != 0 ? 0x800 : 0;
    const double rounded = static_cast<double>((magnitude & ~uint64_t{0x7ff}) | sticky);
    return negative ? -rounded : rounded;
  }
}

template <DType kFrom, DType kTo, bool kUnsigned>
void convert_from_int(const StripArgs& args) {
  using Traits = IntTraits<kFrom>;
  const typename Traits::Signed* in = static_cast<const typename Traits::Signed*>(args.operands[0]);
  const auto read = [](typename Traits::Signed stored) {
    if constexpr (kUnsigned)
      return Traits::read_unsigned(stored);
    else
      return Traits::read_signed(stored);
  };
  if constexpr (kTo == DType::f64) {
    double* out = static_cast<double*>(args.out);
    for (int64_t i = 0; i < args.n; ++i) out[i] = static_cast<double>(read(in[i]));
  } else if constexpr (kTo == DType::f32) {
    float* out = static_cast<float*>(args.out);
    for (int64_t i = 0; i < args.n; ++i) out[i] = static_cast<float>(read(in[i]));
  } else {
    std::byte* out = static_cast<std::byte*>(args.out);
    const int bytes = storage_bytes(kTo);
    for (int64_t i = 0; i < args.n; ++i) store_from_double(kTo, out + i * bytes, sticky_double(read(in[i])));
  }
}

// ---- integer to integer: wraps

template <DType kFrom, DType kTo, bool kUnsigned>
void convert_int(const StripArgs& args) {
  using From = IntTraits<kFrom>;
  using To = IntTraits<kTo>;
  const typename From::Signed* in = static_cast<const typename From::Signed*>(args.operands[0]);
  typename To::Signed* out = static_cast<typename To::Signed*>(args.out);
#pragma GCC ivdep
  for (int64_t i = 0; i < args.n; ++i) {
    if constexpr (kUnsigned)
      out[i] = To::write(static_cast<typename To::Signed>(From::read_unsigned(in[i])));
    else
      out[i] = To::write(static_cast<typename To::Signed>(From::read_signed(in[i])));
  }
}

// ---- all pairs

using Floats = DTypeList<DType::f64, DType::f32, DType::bf16, DType::f16, DType::f8e4m3fn, DType::f8e5m2,
                         DType::f8e4m3b11fnuz, DType::f8e8m0fnu, DType::f4e2m1fn>;

// A splat operand is converted once and copied.
template <StripFn kFn, int kBytes>
void with_splat(const StripArgs& args) {
  if (!(args.splat_mask & 1)) return kFn(args);
  if (args.n <= 0) return;
  uint64_t element = 0;
  kFn({args.operands, 0, &element, 1, args.call});
  fill_elements(args.out, &element, kBytes, args.n);
}

constexpr int bytes_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
    case DType::i64:
    case DType::u64:
      return 8;
    case DType::f32:
    case DType::i32:
    case DType::u32:
      return 4;
    case DType::bf16:
    case DType::f16:
    case DType::i16:
    case DType::u16:
      return 2;
    default:
      return 1;
  }
}

StripFn float_pair(DType from, DType to) {
  return visit_dtype(Floats{}, from, [to]<DType kFrom>() {
    return visit_dtype(Floats{}, to,
                       []<DType kTo>() -> StripFn { return &with_splat<&convert_float<kFrom, kTo>, bytes_of(kTo)>; });
  });
}

template <bool kUnsigned>
StripFn to_int_pair(DType from, DType to) {
  return visit_dtype(Floats{}, from, [to]<DType kFrom>() {
    return visit_dtype(Integers{}, to, []<DType kTo>() -> StripFn {
      return &with_splat<&convert_to_int<kFrom, kTo, kUnsigned>, bytes_of(kTo)>;
    });
  });
}

template <bool kUnsigned>
StripFn from_int_pair(DType from, DType to) {
  return visit_dtype(Integers{}, from, [to]<DType kFrom>() {
    return visit_dtype(Floats{}, to, []<DType kTo>() -> StripFn {
      return &with_splat<&convert_from_int<kFrom, kTo, kUnsigned>, bytes_of(kTo)>;
    });
  });
}

template <bool kUnsigned>
StripFn int_pair(DType from, DType to) {
  return visit_dtype(Integers{}, from, [to]<DType kFrom>() {
    return visit_dtype(Integers{}, to, []<DType kTo>() -> StripFn {
      return &with_splat<&convert_int<kFrom, kTo, kUnsigned>, bytes_of(kTo)>;
    });
  });
}

// ---- stochastic rounding

// Adds the high bits of the random word to the bits that `kType` drops, then truncates: the value goes up with the
// probability of its distance. JAX's interpreters have no rule for it.
template <DType kType>
void stochastic(const StripArgs& args) {
  const float* in = static_cast<const float*>(args.operands[0]);
  const uint32_t* random = static_cast<const uint32_t*>(args.operands[1]);
  const int64_t in_step = args.splat_mask & 1 ? 0 : 1, random_step = args.splat_mask & 2 ? 0 : 1;
  std::byte* out = static_cast<std::byte*>(args.out);
  // Mantissa bits kept and the exponent of the smallest normal number.
  constexpr int kMantissa = kType == DType::bf16       ? 7
                            : kType == DType::f16      ? 10
                            : kType == DType::f8e5m2   ? 2
                            : kType == DType::f4e2m1fn ? 1
                                                       : 3;
  constexpr int kMinExponent = kType == DType::bf16            ? -126
                               : kType == DType::f16           ? -14
                               : kType == DType::f8e5m2        ? -14
                               : kType == DType::f8e4m3fn      ? -6
                               : kType == DType::f8e4m3b11fnuz ? -10
                                                               : 0;
  for (int64_t i = 0; i < args.n; ++i) {
    const float x = in[i * in_step];
    const uint32_t u = std::bit_cast<uint32_t>(x);
    const int exponent = static_cast<int>(u >> 23 & 0xff) - 127;
    float rounded = x;
    if (exponent < 128) {
      // Bits below the last kept one; more than the mantissa has where the target is subnormal.
      const int dropped = 23 - kMantissa + std::max(0, kMinExponent - std::max(exponent, -126));
      const uint32_t word = random[i * random_step];
      if (dropped <= 23) {
        rounded = std::bit_cast<float>((u + (word >> (32 - dropped))) & ~((1u << dropped) - 1));
      } else {
        // Less than the smallest step: zero or one step, by a compare in units of 2^-32 of it.
        const uint64_t significand = (exponent < -126 ? 0u : 0x800000u) | (u & 0x7fffffu);
        const int shift = dropped - 32;
        const uint64_t share = shift <= 0 ? significand << -shift : shift < 64 ? significand >> shift : 0;
        const uint64_t random_bits = shift <= 0 ? uint64_t{word >> -shift} << -shift : word;
        rounded = std::copysign((share + random_bits) >> 32 ? std::ldexp(1.0f, kMinExponent - kMantissa) : 0.0f, x);
      }
    }
    store_from_double(kType, out + i * bytes_of(kType), static_cast<double>(rounded));
  }
}

// ---- bitcast of equal width

template <int kBytes>
void copy_bits(const StripArgs& args) {
  if (args.splat_mask & 1) return fill_elements(args.out, args.operands[0], kBytes, args.n);
  if (args.n > 0) std::memmove(args.out, args.operands[0], static_cast<size_t>(args.n * kBytes));
}

// The bits of a sub-byte type under another: i4 is kept sign-extended, u4 zero-extended.
StripFn bitcast_strip(DType from, DType to) {
  if (bits(from) != bits(to)) return nullptr;
  if (bits(from) < 8 && is_int(from) && is_int(to)) return int_pair<true>(from, to);
  if (bits(from) < 8 && from != to) return nullptr;  // f4: through apply
  switch (storage_bytes(to)) {
    case 1:
      return &copy_bits<1>;
    case 2:
      return &copy_bits<2>;
    case 4:
      return &copy_bits<4>;
    default:
      return &copy_bits<8>;
  }
}

}  // namespace

WidenFn widen_fn(DType dtype) {
  WidenFn found = nullptr;
  visit_dtype(NarrowFloats{}, dtype, [&]<DType kType>() -> StripFn { return found = &widen<kType>, nullptr; });
  return found;
}

NarrowFn narrow_fn(DType dtype) {
  NarrowFn found = nullptr;
  visit_dtype(NarrowFloats{}, dtype, [&]<DType kType>() -> StripFn { return found = &narrow<kType>, nullptr; });
  return found;
}

StripFn convert_strip(OpId op, DType from, DType to) {
  switch (op) {
    case OpId::extf:
    case OpId::truncf:
      return float_pair(from, to);
    case OpId::fptosi:
      return to_int_pair<false>(from, to);
    case OpId::fptoui:
      return to_int_pair<true>(from, to);
    case OpId::sitofp:
      return from_int_pair<false>(from, to);
    case OpId::uitofp:
      return from_int_pair<true>(from, to);
    case OpId::extsi:
      return int_pair<false>(from, to);
    case OpId::extui:
    case OpId::trunci:
      return int_pair<true>(from, to);
    case OpId::bitcast:
      return bitcast_strip(from, to);
    case OpId::stochastic_convert:
      if (from != DType::f32) return nullptr;
      return visit_dtype(NarrowFloats{}, to, []<DType kType>() -> StripFn { return &stochastic<kType>; });
    default:
      return nullptr;
  }
}

}  // namespace tilecheck
