#include "sim/types/float_formats.h"

#include <immintrin.h>

#include <array>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>

namespace tilecheck {
namespace {

// Everything here works on bits, so that a host's flush-to-zero mode cannot change a result.

// A number taken apart: value = significand * 2^exponent, significand < 2^53.
struct Parts {
  enum Class : uint8_t { finite, infinite, nan } value_class;
  bool negative;
  int exponent;
  uint64_t significand;
};

constexpr Parts parts_of(double value) {
  const uint64_t u = std::bit_cast<uint64_t>(value);
  const int e = static_cast<int>((u >> 52) & 0x7ff);
  const uint64_t m = u & ((uint64_t{1} << 52) - 1);
  const bool negative = u >> 63;
  if (e == 0x7ff) return {m ? Parts::nan : Parts::infinite, negative, 0, m};
  if (e == 0) return {Parts::finite, negative, -1074, m};
  return {Parts::finite, negative, e - 1075, m | (uint64_t{1} << 52)};
}

constexpr Parts parts_of(float value) {
  const uint32_t u = std::bit_cast<uint32_t>(value);
  const int e = static_cast<int>((u >> 23) & 0xff);
  const uint32_t m = u & 0x7fffffu;
  const bool negative = u >> 31;
  if (e == 0xff) return {m ? Parts::nan : Parts::infinite, negative, 0, m};
  if (e == 0) return {Parts::finite, negative, -149, m};
  return {Parts::finite, negative, e - 150, m | 0x800000u};
}

// A sign-magnitude format, by its magnitude bits (all but the sign).
struct Format {
  int mantissa_bits;
  int bias;
  uint32_t max_finite;  // the largest finite magnitude
  uint32_t infinity;    // what an infinity or an overflow becomes; the largest value where there is neither inf nor NaN
  uint32_t nan;
  uint32_t sign_bit;
  bool signed_zero;  // -0 exists
};

constexpr Format kF32 = {23, 127, 0x7f7fffff, 0x7f800000, 0x7fc00000, 0x80000000, true};
constexpr Format kBf16 = {7, 127, 0x7f7f, 0x7f80, 0x7fc0, 0x8000, true};
constexpr Format kF16 = {10, 15, 0x7bff, 0x7c00, 0x7e00, 0x8000, true};
constexpr Format kF8E4M3FN = {3, 7, 0x7e, 0x7f, 0x7f, 0x80, true};
constexpr Format kF8E5M2 = {2, 15, 0x7b, 0x7c, 0x7e, 0x80, true};
constexpr Format kF8E4M3B11FNUZ = {3, 11, 0x7f, 0x80, 0x80, 0x80, false};
constexpr Format kF4E2M1FN = {1, 1, 0x7, 0x7, 0x0, 0x8, true};

constexpr uint32_t encode(const Format& format, const Parts& parts) {
  const uint32_t sign = parts.negative ? format.sign_bit : 0;
  if (parts.value_class == Parts::nan) return format.nan | sign;
  if (parts.value_class == Parts::infinite) return format.infinity | sign;
  if (parts.significand == 0) return format.signed_zero ? sign : 0;
  const int top =
      static_cast<int>(std::bit_width(parts.significand)) - 1 + parts.exponent;  // 2^top <= |value| < 2^(top+1)
  const int min_normal = 1 - format.bias;
  const int last = (top < min_normal ? min_normal : top) - format.mantissa_bits;  // weight of the last kept bit: 2^last
  const int shift = last - parts.exponent;
  uint64_t kept = 0;
  if (shift <= 0) {
    kept = parts.significand << -shift;
  } else if (shift < 64) {
    kept = parts.significand >> shift;
    const uint64_t rest = parts.significand & ((uint64_t{1} << shift) - 1);
    const uint64_t half = uint64_t{1} << (shift - 1);
    if (rest > half || (rest == half && (kept & 1))) ++kept;
  }
  // The implied bit adds one to the exponent field; a carry out of the mantissa does the same.
  const uint64_t exponent_field = top < min_normal ? 0 : static_cast<uint64_t>(top - min_normal);
  const uint64_t magnitude = (exponent_field << format.mantissa_bits) + kept;
  if (magnitude > format.max_finite) return format.infinity | sign;
  if (magnitude == 0 && !format.signed_zero) return 0;
  return static_cast<uint32_t>(magnitude) | sign;
}

// f8e8m0fnu holds powers of two only: ties go up, zero and negative numbers become NaN, as in ml_dtypes.
constexpr uint8_t encode_e8m0(const Parts& parts) {
  if (parts.value_class != Parts::finite || parts.negative || parts.significand == 0) return 0xff;
  const int width = static_cast<int>(std::bit_width(parts.significand));
  int top = width - 1 + parts.exponent;
  if (top < -127) return 0;
  if (width >= 2 && ((parts.significand >> (width - 2)) & 1)) ++top;  // at least 1.5 * 2^top
  return top > 127 ? uint8_t{0xff} : static_cast<uint8_t>(top + 127);
}

constexpr float decode(const Format& format, uint32_t bits) {
  const bool negative = bits & format.sign_bit;
  const uint32_t magnitude = bits & (format.sign_bit - 1);
  const uint32_t sign = negative ? 0x80000000u : 0u;
  if (!format.signed_zero && bits == format.nan) return std::bit_cast<float>(0x7fc00000u | sign);
  if (magnitude > format.max_finite)
    return std::bit_cast<float>(
        (magnitude == format.infinity && format.infinity != format.nan ? 0x7f800000u : 0x7fc00000u) | sign);
  const uint32_t e = magnitude >> format.mantissa_bits;
  const uint32_t m = magnitude & ((1u << format.mantissa_bits) - 1);
  const int exponent = (e == 0 ? 1 : static_cast<int>(e)) - format.bias - format.mantissa_bits;
  const uint64_t significand = e == 0 ? m : m | (1u << format.mantissa_bits);
  return std::bit_cast<float>(encode(kF32, {Parts::finite, negative, exponent, significand}));
}

using Table = std::array<float, 256>;

constexpr Table decode_table(const Format& format) {
  Table table{};
  for (uint32_t i = 0; i < 256; ++i) table[i] = decode(format, i & (2 * format.sign_bit - 1));
  return table;
}

constexpr Table e8m0_table() {
  Table table{};
  for (uint32_t i = 0; i < 256; ++i)
    table[i] = std::bit_cast<float>(i == 0 ? 0x400000u : i == 255 ? 0x7fc00000u : i << 23);
  return table;
}

constexpr Table kF8E4M3FNTable = decode_table(kF8E4M3FN);
constexpr Table kF8E5M2Table = decode_table(kF8E5M2);
constexpr Table kF8E4M3B11FNUZTable = decode_table(kF8E4M3B11FNUZ);
constexpr Table kF8E8M0FNUTable = e8m0_table();
constexpr Table kF4E2M1FNTable = decode_table(kF4E2M1FN);

uint8_t encode_small(DType dtype, const Parts& parts) {
  switch (dtype) {
    case DType::f8e4m3fn:
      return static_cast<uint8_t>(encode(kF8E4M3FN, parts));
    case DType::f8e5m2:
      return static_cast<uint8_t>(encode(kF8E5M2, parts));
    case DType::f8e4m3b11fnuz:
      return static_cast<uint8_t>(encode(kF8E4M3B11FNUZ, parts));
    case DType::f8e8m0fnu:
      return encode_e8m0(parts);
    case DType::f4e2m1fn:
      // No NaN: ml_dtypes gives zero, with the sign turned.
      return static_cast<uint8_t>(encode(kF4E2M1FN, parts)) ^ (parts.value_class == Parts::nan ? 0x8 : 0);
    default:
      assert(false && "not a small float");
      return 0;
  }
}

// Exact also for subnormals when the host treats them as zeros.
double widen(float value) {
  const uint32_t u = std::bit_cast<uint32_t>(value);
  if ((u & 0x7f800000u) != 0) return static_cast<double>(value);
  const double magnitude = static_cast<double>(u & 0x7fffffu) * 0x1p-149;
  return u >> 31 ? -magnitude : magnitude;
}

template <typename T>
T load(const void* element) {
  T value;
  std::memcpy(&value, element, sizeof(T));
  return value;
}

template <typename T>
void store(void* element, T value) {
  std::memcpy(element, &value, sizeof(T));
}

// Rounds to nearest even and saturates to [low, high]; NaN gives 0.
template <typename T>
T to_int(double value, T low, T high) {
  if (std::isnan(value)) return 0;
  const double rounded = std::nearbyint(value);
  if (rounded <= static_cast<double>(low)) return low;
  if (rounded >= static_cast<double>(high)) return high;
  return static_cast<T>(rounded);
}

template <typename T>
void store_int(void* element, double value) {
  store(element, to_int(value, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
}

}  // namespace

// F16C: the instructions are exact, round as their immediate says and neither reads nor makes flushed subnormals.
float f16_to_f32(uint16_t bits) { return _cvtsh_ss(bits); }
uint16_t f32_to_f16(float value) { return static_cast<uint16_t>(_cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT)); }

float small_float_to_f32(DType dtype, uint8_t bits) {
  switch (dtype) {
    case DType::f8e4m3fn:
      return kF8E4M3FNTable[bits];
    case DType::f8e5m2:
      return kF8E5M2Table[bits];
    case DType::f8e4m3b11fnuz:
      return kF8E4M3B11FNUZTable[bits];
    case DType::f8e8m0fnu:
      return kF8E8M0FNUTable[bits];
    case DType::f4e2m1fn:
      return kF4E2M1FNTable[bits];
    default:
      assert(false && "not a small float");
      return 0;
  }
}

uint8_t f32_to_small_float(DType dtype, float value) { return encode_small(dtype, parts_of(value)); }

double load_as_double(DType dtype, const void* element) {
  switch (dtype) {
    case DType::f64:
      return load<double>(element);
    case DType::f32:
      return widen(load<float>(element));
    case DType::bf16:
      return widen(bf16_to_f32(load<uint16_t>(element)));
    case DType::f16:
      return static_cast<double>(f16_to_f32(load<uint16_t>(element)));
    case DType::f8e4m3fn:
    case DType::f8e5m2:
    case DType::f8e4m3b11fnuz:
    case DType::f8e8m0fnu:
    case DType::f4e2m1fn:
      return widen(small_float_to_f32(dtype, load<uint8_t>(element)));
    case DType::i64:
    case DType::dma_semaphore:
      return static_cast<double>(load<int64_t>(element));
    case DType::i32:
    case DType::semaphore:
      return load<int32_t>(element);
    case DType::i16:
      return load<int16_t>(element);
    case DType::i8:
    case DType::i4:
    case DType::i2:
      return load<int8_t>(element);
    case DType::u64:
      return static_cast<double>(load<uint64_t>(element));
    case DType::u32:
      return load<uint32_t>(element);
    case DType::u16:
      return load<uint16_t>(element);
    case DType::u8:
    case DType::u4:
    case DType::u2:
      return load<uint8_t>(element);
    case DType::b1:
      return load<uint8_t>(element) != 0;
  }
  assert(false && "unknown type");
  return 0;
}

void store_from_double(DType dtype, void* element, double value) {
  switch (dtype) {
    case DType::f64:
      return store(element, value);
    case DType::f32:
      return store(element, encode(kF32, parts_of(value)));
    case DType::bf16:
      return store(element, static_cast<uint16_t>(encode(kBf16, parts_of(value))));
    case DType::f16:
      return store(element, static_cast<uint16_t>(encode(kF16, parts_of(value))));
    case DType::f8e4m3fn:
    case DType::f8e5m2:
    case DType::f8e4m3b11fnuz:
    case DType::f8e8m0fnu:
    case DType::f4e2m1fn:
      return store(element, encode_small(dtype, parts_of(value)));
    case DType::i64:
    case DType::dma_semaphore:
      return store_int<int64_t>(element, value);
    case DType::i32:
    case DType::semaphore:
      return store_int<int32_t>(element, value);
    case DType::i16:
      return store_int<int16_t>(element, value);
    case DType::i8:
      return store_int<int8_t>(element, value);
    case DType::i4:
      return store(element, to_int<int8_t>(value, -8, 7));
    case DType::i2:
      return store(element, to_int<int8_t>(value, -2, 1));
    case DType::u64:
      return store_int<uint64_t>(element, value);
    case DType::u32:
      return store_int<uint32_t>(element, value);
    case DType::u16:
      return store_int<uint16_t>(element, value);
    case DType::u8:
      return store_int<uint8_t>(element, value);
    case DType::u4:
      return store(element, to_int<uint8_t>(value, 0, 15));
    case DType::u2:
      return store(element, to_int<uint8_t>(value, 0, 3));
    case DType::b1:
      return store(element, static_cast<uint8_t>(value != 0));
  }
  assert(false && "unknown type");
}

}  // namespace tilecheck
