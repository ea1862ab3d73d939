// Conversions between f32 and the small float formats, round to nearest even, NaN and subnormals kept.
#pragma once

#include <bit>
#include <cstdint>

#include "sim/types/dtype.h"

namespace tilecheck {

inline float bf16_to_f32(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
inline uint16_t f32_to_bf16(float value) {
  const uint32_t u = std::bit_cast<uint32_t>(value);
  if ((u & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((u >> 16) | 0x40u);  // NaN stays NaN, quiet
  return static_cast<uint16_t>((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
}
float f16_to_f32(uint16_t bits);
uint16_t f32_to_f16(float value);

// The 8- and 4-bit formats (f8e4m3fn, f8e5m2, f8e4m3b11fnuz, f8e8m0fnu, f4e2m1fn). Overflow: e5m2 gives infinity, the
// others NaN where the format has one, else the largest value (as ml_dtypes).
float small_float_to_f32(DType dtype, uint8_t bits);
uint8_t f32_to_small_float(DType dtype, float value);

// One element of any type to and from double, by its stored bytes. Storing rounds once from double, to nearest even.
double load_as_double(DType dtype, const void* element);
void store_from_double(DType dtype, void* element, double value);

}  // namespace tilecheck
