#include "sim/types/float_formats.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>

namespace tilecheck {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Every encoding of a 16-bit format: to f32 and back gives the same bits (NaNs become quiet), the value is what
// sign * 2^(e - bias) * 1.m says, and halfway points to the next encoding round to even.
void check_16_bit(DType dtype, int mantissa_bits, int bias) {
  const int exponent_bits = 15 - mantissa_bits;
  const int max_exponent = (1 << exponent_bits) - 1;
  for (uint32_t i = 0; i < 65536; ++i) {
    const auto bits = static_cast<uint16_t>(i);
    const float value = dtype == DType::bf16 ? bf16_to_f32(bits) : f16_to_f32(bits);
    const uint16_t back = dtype == DType::bf16 ? f32_to_bf16(value) : f32_to_f16(value);
    const int e = (bits & 0x7fff) >> mantissa_bits, m = bits & ((1 << mantissa_bits) - 1);
    if (e == max_exponent && m) {
      ASSERT_TRUE(std::isnan(value)) << i;
      ASSERT_EQ(back, bits | (1 << (mantissa_bits - 1))) << i;
      continue;
    }
    ASSERT_EQ(back, bits) << i;
    ASSERT_EQ(std::signbit(value), (bits & 0x8000) != 0) << i;
    uint16_t from_double = 0;
    store_from_double(dtype, &from_double, load_as_double(dtype, &bits));
    ASSERT_EQ(from_double, bits) << i;
    if (e == max_exponent) {
      ASSERT_TRUE(std::isinf(value)) << i;
      continue;
    }
    const double expected = std::ldexp(e ? (1 << mantissa_bits) + m : m, (e ? e : 1) - bias - mantissa_bits);
    ASSERT_EQ(std::abs(static_cast<double>(value)), expected) << i;
    ASSERT_EQ(load_as_double(dtype, &bits), static_cast<double>(value)) << i;
    if (bits & 0x8000) continue;
    // Between this encoding and the next (beyond the largest: where the next would be).
    const double gap = std::ldexp(1.0, (e ? e : 1) - bias - mantissa_bits);
    const double half = expected + gap / 2;
    const auto next = static_cast<uint16_t>(bits + 1);
    const uint16_t even = bits & 1 ? next : bits;
    store_from_double(dtype, &from_double, half);
    ASSERT_EQ(from_double, even) << i;
    store_from_double(dtype, &from_double, std::nextafter(half, 0.0));
    ASSERT_EQ(from_double, bits) << i;
    store_from_double(dtype, &from_double, std::nextafter(half, INFINITY));
    ASSERT_EQ(from_double, next) << i;
    const auto half_float = static_cast<float>(half);
    ASSERT_EQ(static_cast<double>(half_float), half) << i;
    ASSERT_EQ(dtype == DType::bf16 ? f32_to_bf16(half_float) : f32_to_f16(half_float), even) << i;
    ASSERT_EQ(dtype == DType::bf16 ? f32_to_bf16(-half_float) : f32_to_f16(-half_float), even | 0x8000) << i;
  }
}

TEST(FloatFormats, EveryBf16) { check_16_bit(DType::bf16, 7, 127); }
TEST(FloatFormats, EveryF16) { check_16_bit(DType::f16, 10, 15); }

TEST(FloatFormats, DoubleToF32RoundsAsTheCpuDoes) {
  const std::array<double, 14> values = {
      0.0,   -0.0,     1.0,   0.1, -0.1, 1e-40, -1e-45, 7e-46, 7.1e-46, 3.4028235677973366e38, 3.4028235677973362e38,
      -1e39, INFINITY, 1e-300};
  for (double value : values) {
    uint32_t bits = 0;
    store_from_double(DType::f32, &bits, value);
    EXPECT_EQ(bits, std::bit_cast<uint32_t>(static_cast<float>(value))) << value;
  }
  float nan = 0;
  store_from_double(DType::f32, &nan, std::nan(""));
  EXPECT_TRUE(std::isnan(nan));
}

TEST(FloatFormats, SubnormalF32LoadsExactly) {
  const float tiny = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(load_as_double(DType::f32, &tiny), 0x1p-149);
}

TEST(FloatFormats, OneRoundingFromDouble) {
  // Just above the middle between two bf16 (f16) numbers by less than an f32 can say: twice rounded gives 1.
  const double above = 1.0 + 0x1p-8 + 0x1p-40, above16 = 1.0 + 0x1p-11 + 0x1p-40;
  uint16_t bits = 0;
  store_from_double(DType::bf16, &bits, above);
  EXPECT_EQ(bits, 0x3f81);
  store_from_double(DType::f16, &bits, above16);
  EXPECT_EQ(bits, 0x3c01);
}

struct IntCase {
  DType dtype;
  double in, out;
};

TEST(FloatFormats, IntegersRoundToEvenAndSaturate) {
  for (const IntCase& c : std::initializer_list<IntCase>{{DType::i8, 2.5, 2},
                                                         {DType::i8, 3.5, 4},
                                                         {DType::i8, -2.5, -2},
                                                         {DType::i8, 300, 127},
                                                         {DType::i8, -300, -128},
                                                         {DType::i4, 9, 7},
                                                         {DType::i4, -9, -8},
                                                         {DType::i2, 5, 1},
                                                         {DType::i2, -5, -2},
                                                         {DType::u4, 16, 15},
                                                         {DType::u2, 4, 3},
                                                         {DType::u8, -1, 0},
                                                         {DType::u8, 255.5, 255},
                                                         {DType::i16, 1e9, 32767},
                                                         {DType::u16, 1e9, 65535},
                                                         {DType::i32, 1e10, 2147483647},
                                                         {DType::u32, 1e10, 4294967295},
                                                         {DType::i64, -1e30, -0x1p63},
                                                         {DType::i64, 1e30, 0x1p63},
                                                         {DType::u64, 1e30, 0x1p64},
                                                         {DType::i32, kNan, 0},
                                                         {DType::i32, -kInf, -2147483648.0},
                                                         {DType::b1, 0.5, 1},
                                                         {DType::b1, 0, 0},
                                                         {DType::semaphore, 7, 7},
                                                         {DType::dma_semaphore, 4294967296.0, 4294967296.0}}) {
    uint64_t storage = 0;
    store_from_double(c.dtype, &storage, c.in);
    EXPECT_EQ(load_as_double(c.dtype, &storage), c.out) << name(c.dtype) << " from " << c.in;
  }
}

}  // namespace
}  // namespace tilecheck
