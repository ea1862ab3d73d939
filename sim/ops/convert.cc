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

// ---- All pairs: an element is read into a middle type (f32, f64 or a 64-bit integer) that loses nothing, and written
// from there with one rounding or wrap.

// n elements to or from the middle type.
using StepFn = void (*)(const void* from, void* to, int64_t n);

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

void run_pair(const StripArgs& args, StepFn read, int from_bytes, StepFn write, int to_bytes) {
  alignas(64) uint64_t middle[kChunk];
  if (args.n <= 0) return;
  if (args.splat_mask & 1) {
    uint64_t element = 0;
    read(args.operands[0], middle, 1);
    write(middle, &element, 1);
    return fill_elements(args.out, &element, to_bytes, args.n);
  }
  for (int64_t at = 0; at < args.n; at += kChunk) {
    const int64_t n = std::min(kChunk, args.n - at);
    read(static_cast<const std::byte*>(args.operands[0]) + at * from_bytes, middle, n);
    write(middle, static_cast<std::byte*>(args.out) + at * to_bytes, n);
  }
}

template <StepFn kRead, int kFromBytes, StepFn kWrite, int kToBytes>
void pair(const StripArgs& args) {
  run_pair(args, kRead, kFromBytes, kWrite, kToBytes);
}

template <class From, class To, class F>
void each(const void* from, void* to, int64_t n, F f) {
  const From* in = static_cast<const From*>(from);
  To* out = static_cast<To*>(to);
  for (int64_t i = 0; i < n; ++i) out[i] = f(in[i]);
}

template <class T>
void same(const void* from, void* to, int64_t n) {
  std::copy_n(static_cast<const T*>(from), n, static_cast<T*>(to));
}

// Floats: the middle is f64 for f64, else f32.
template <DType kFrom>
void read_float(const void* from, void* to, int64_t n) {
  if constexpr (kFrom == DType::f64)
    same<double>(from, to, n);
  else if constexpr (kFrom == DType::f32)
    same<float>(from, to, n);
  else
    widen_fn(kFrom)(from, static_cast<float*>(to), n);
}

template <DType kTo>
void write_from_f32(const void* from, void* to, int64_t n) {
  if constexpr (kTo == DType::f64)
    each<float, double>(from, to, n, [](float x) { return static_cast<double>(x); });
  else if constexpr (kTo == DType::f32)
    same<float>(from, to, n);
  else
    narrow_fn(kTo)(static_cast<const float*>(from), to, n);
}

template <DType kTo>
void write_from_f64(const void* from, void* to, int64_t n) {
  const double* in = static_cast<const double*>(from);
  for (int64_t i = 0; i < n; ++i) store_from_double(kTo, static_cast<std::byte*>(to) + i * bytes_of(kTo), in[i]);
}

// Integers: the middle is the number as the operation reads it.
template <DType kFrom, bool kUnsigned>
void read_int(const void* from, void* to, int64_t n) {
  using Traits = IntTraits<kFrom>;
  each<typename Traits::Signed, int64_t>(from, to, n, [](auto stored) {
    if constexpr (kUnsigned)
      return static_cast<int64_t>(Traits::read_unsigned(stored));
    else
      return static_cast<int64_t>(Traits::read_signed(stored));
  });
}

template <DType kTo>
void write_int(const void* from, void* to, int64_t n) {
  using Traits = IntTraits<kTo>;
  each<int64_t, typename Traits::Signed>(
      from, to, n, [](int64_t value) { return Traits::write(static_cast<typename Traits::Signed>(value)); });
}

// A double that rounds to any narrower float as the integer does: below 2^53 exact, above with a sticky last bit.
template <class I>
double sticky_double(I value) {
  const bool negative = std::is_signed_v<I> && value < 0;
  const uint64_t magnitude = negative ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  if (magnitude >> 53 == 0) return static_cast<double>(value);
  const uint64_t sticky = (magnitude & 0x7ff) != 0 ? 0x800 : 0;
  const double rounded = static_cast<double>((magnitude & ~uint64_t{0x7ff}) | sticky);
  return negative ? -rounded : rounded;
}

// I: int64_t, or uint64_t for the unsigned reading of 64 bits.
template <DType kTo, class I>
void write_float_from_int(const void* from, void* to, int64_t n) {
  if constexpr (kTo == DType::f64) {
    each<I, double>(from, to, n, [](I value) { return static_cast<double>(value); });
  } else if constexpr (kTo == DType::f32) {
    each<I, float>(from, to, n, [](I value) { return static_cast<float>(value); });
  } else {
    const I* in = static_cast<const I*>(from);
    for (int64_t i = 0; i < n; ++i)
      store_from_double(kTo, static_cast<std::byte*>(to) + i * bytes_of(kTo), sticky_double(in[i]));
  }
}

// Truncates, saturates, NaN gives 0.
template <class Wide, class T>
T saturate(Wide value, T low, T high) {
  if (!(value == value)) return T{0};
  if (value <= static_cast<Wide>(low)) return low;
  if (value >= static_cast<Wide>(high)) return high;
  return static_cast<T>(value);
}

template <class Wide, DType kTo, bool kUnsigned>
typename IntTraits<kTo>::Signed float_to_int(Wide value) {
  using Traits = IntTraits<kTo>;
  using S = typename Traits::Signed;
  if constexpr (kTo == DType::b1) {
    return static_cast<S>(value != 0);
  } else if constexpr (kUnsigned) {
    using U = typename Traits::Unsigned;
    constexpr U kMax = static_cast<U>(~uint64_t{0} >> (64 - Traits::kBits));
    return Traits::write(static_cast<S>(saturate<Wide, U>(value, U{0}, kMax)));
  } else {
    constexpr S kMax = static_cast<S>((uint64_t{1} << (Traits::kBits - 1)) - 1);
    return Traits::write(saturate<Wide, S>(value, static_cast<S>(-kMax - 1), kMax));
  }
}

template <class Wide, DType kTo, bool kUnsigned>
void write_int_from_float(const void* from, void* to, int64_t n) {
  each<Wide, typename IntTraits<kTo>::Signed>(from, to, n,
                                              [](Wide value) { return float_to_int<Wide, kTo, kUnsigned>(value); });
}

using Floats = DTypeList<DType::f64, DType::f32, DType::bf16, DType::f16, DType::f8e4m3fn, DType::f8e5m2,
                         DType::f8e4m3b11fnuz, DType::f8e8m0fnu, DType::f4e2m1fn>;

StripFn float_pair(DType from, DType to) {
  return visit_dtype(Floats{}, from, [to]<DType kFrom>() {
    return visit_dtype(Floats{}, to, []<DType kTo>() -> StripFn {
      constexpr StepFn kWrite = kFrom == DType::f64 ? &write_from_f64<kTo> : &write_from_f32<kTo>;
      return &pair<&read_float<kFrom>, bytes_of(kFrom), kWrite, bytes_of(kTo)>;
    });
  });
}

template <bool kUnsigned>
StripFn to_int_pair(DType from, DType to) {
  return visit_dtype(Floats{}, from, [to]<DType kFrom>() {
    return visit_dtype(Integers{}, to, []<DType kTo>() -> StripFn {
      using Wide = std::conditional_t<kFrom == DType::f64, double, float>;
      return &pair<&read_float<kFrom>, bytes_of(kFrom), &write_int_from_float<Wide, kTo, kUnsigned>, bytes_of(kTo)>;
    });
  });
}

template <bool kUnsigned>
StripFn from_int_pair(DType from, DType to) {
  return visit_dtype(Integers{}, from, [to]<DType kFrom>() {
    return visit_dtype(Floats{}, to, []<DType kTo>() -> StripFn {
      using Middle = std::conditional_t<kUnsigned && bytes_of(kFrom) == 8, uint64_t, int64_t>;
      return &pair<&read_int<kFrom, kUnsigned>, bytes_of(kFrom), &write_float_from_int<kTo, Middle>, bytes_of(kTo)>;
    });
  });
}

template <bool kUnsigned>
StripFn int_pair(DType from, DType to) {
  return visit_dtype(Integers{}, from, [to]<DType kFrom>() {
    return visit_dtype(Integers{}, to, []<DType kTo>() -> StripFn {
      return &pair<&read_int<kFrom, kUnsigned>, bytes_of(kFrom), &write_int<kTo>, bytes_of(kTo)>;
    });
  });
}

// ---- The pairs that kernels use most, in one loop each.

template <class From, class To, class F>
void direct(const StripArgs& args, F f) {
  const From* in = static_cast<const From*>(args.operands[0]);
  To* out = static_cast<To*>(args.out);
  if (args.n <= 0) return;
  if (args.splat_mask & 1) {
    const To value = f(in[0]);
    return fill_elements(out, &value, sizeof(To), args.n);
  }
#pragma GCC ivdep
  for (int64_t i = 0; i < args.n; ++i) out[i] = f(in[i]);
}

template <DType kType>
void widen_strip(const StripArgs& args) {
  const bool splat = args.splat_mask & 1;
  float* out = static_cast<float*>(args.out);
  if (args.n > 0) widen_fn(kType)(args.operands[0], out, splat ? 1 : args.n);
  if (splat && args.n > 1) std::fill_n(out + 1, args.n - 1, out[0]);
}

template <DType kType>
void narrow_strip(const StripArgs& args) {
  const bool splat = args.splat_mask & 1;
  uint16_t* out = static_cast<uint16_t*>(args.out);
  if (args.n > 0) narrow_fn(kType)(static_cast<const float*>(args.operands[0]), out, splat ? 1 : args.n);
  if (splat && args.n > 1) std::fill_n(out + 1, args.n - 1, out[0]);
}

struct DirectPair {
  OpId op;
  DType from, to;  // integers: the signless type
  StripFn fn;
};

constexpr DirectPair kDirect[] = {
    {OpId::extf, DType::bf16, DType::f32, &widen_strip<DType::bf16>},
    {OpId::extf, DType::f16, DType::f32, &widen_strip<DType::f16>},
    {OpId::truncf, DType::f32, DType::bf16, &narrow_strip<DType::bf16>},
    {OpId::truncf, DType::f32, DType::f16, &narrow_strip<DType::f16>},
    {OpId::sitofp, DType::i32, DType::f32,
     [](const StripArgs& a) { direct<int32_t, float>(a, [](int32_t x) { return static_cast<float>(x); }); }},
    {OpId::sitofp, DType::i8, DType::f32,
     [](const StripArgs& a) { direct<int8_t, float>(a, [](int8_t x) { return static_cast<float>(x); }); }},
    {OpId::uitofp, DType::b1, DType::f32,
     [](const StripArgs& a) { direct<uint8_t, float>(a, [](uint8_t x) { return static_cast<float>(x); }); }},
    {OpId::extsi, DType::i8, DType::i32,
     [](const StripArgs& a) { direct<int8_t, int32_t>(a, [](int8_t x) { return int32_t{x}; }); }},
    {OpId::extsi, DType::i16, DType::i32,
     [](const StripArgs& a) { direct<int16_t, int32_t>(a, [](int16_t x) { return int32_t{x}; }); }},
    {OpId::extui, DType::i8, DType::i32,
     [](const StripArgs& a) { direct<uint8_t, int32_t>(a, [](uint8_t x) { return int32_t{x}; }); }},
    {OpId::extui, DType::b1, DType::i32,
     [](const StripArgs& a) { direct<uint8_t, int32_t>(a, [](uint8_t x) { return int32_t{x}; }); }},
    {OpId::trunci, DType::i32, DType::i16,
     [](const StripArgs& a) { direct<int32_t, int16_t>(a, [](int32_t x) { return static_cast<int16_t>(x); }); }},
    {OpId::trunci, DType::i32, DType::i8,
     [](const StripArgs& a) { direct<int32_t, int8_t>(a, [](int32_t x) { return static_cast<int8_t>(x); }); }},
};

StripFn direct_pair(OpId op, DType from, DType to) {
  from = signless(from);
  to = signless(to);
  for (const DirectPair& pair : kDirect)
    if (pair.op == op && pair.from == from && pair.to == to) return pair.fn;
  return nullptr;
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

StripFn convert_strip(OpId op, DType from, DType to) {
  if (const StripFn fn = direct_pair(op, from, to)) return fn;
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
