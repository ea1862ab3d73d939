#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "sim/types/float_formats.h"

namespace tilecheck {
namespace {

struct Digest {
  const char* jax_name;
  int encodings;
  uint64_t decoded, encoded;
};

constexpr Digest kMlDtypes[] = {
#include "tests/unit/types/small_float_tables.inc"
};

// As probes() in small_float_tables.py.
std::vector<uint32_t> probes() {
  std::vector<uint32_t> bits;
  for (uint32_t exponent = 0; exponent < 256; ++exponent)
    for (uint32_t mantissa : {0x0u,      0x1u,      0x080000u, 0x0fffffu, 0x100000u, 0x100001u, 0x180000u,
                              0x200000u, 0x2fffffu, 0x300000u, 0x300001u, 0x3fffffu, 0x400000u, 0x400001u,
                              0x500000u, 0x580000u, 0x600000u, 0x680000u, 0x700000u, 0x780000u, 0x7fffffu})
      if (exponent > 0 || mantissa <= 0x400000u || mantissa >= 0x600000u) bits.push_back(exponent << 23 | mantissa);
  const size_t n = bits.size();
  for (size_t i = 0; i < n; ++i) bits.push_back(bits[i] | 0x80000000u);
  return bits;
}

uint64_t fnv1a(uint64_t digest, uint8_t byte) { return (digest ^ byte) * 0x100000001b3u; }

TEST(SmallFloats, DecodeAndEncodeAsMlDtypes) {
  for (const Digest& expected : kMlDtypes) {
    const DType dtype = parse_dtype(expected.jax_name).value();
    uint64_t decoded = 0xcbf29ce484222325u, encoded = decoded;
    for (int i = 0; i < expected.encodings; ++i) {
      const float value = small_float_to_f32(dtype, static_cast<uint8_t>(i));
      const uint32_t bits = std::isnan(value) ? 0x7fc00000u : std::bit_cast<uint32_t>(value);
      for (int byte = 0; byte < 4; ++byte) decoded = fnv1a(decoded, static_cast<uint8_t>(bits >> (8 * byte)));
    }
    for (uint32_t bits : probes()) encoded = fnv1a(encoded, f32_to_small_float(dtype, std::bit_cast<float>(bits)));
    EXPECT_EQ(decoded, expected.decoded) << expected.jax_name;
    EXPECT_EQ(encoded, expected.encoded) << expected.jax_name;
  }
}

TEST(SmallFloats, EveryEncodingComesBack) {
  for (const Digest& format : kMlDtypes) {
    const DType dtype = parse_dtype(format.jax_name).value();
    for (int i = 0; i < format.encodings; ++i) {
      const auto bits = static_cast<uint8_t>(i);
      const float value = small_float_to_f32(dtype, bits);
      const uint8_t back = f32_to_small_float(dtype, value);
      uint8_t from_double = 0;
      store_from_double(dtype, &from_double, load_as_double(dtype, &bits));
      EXPECT_EQ(back, from_double) << format.jax_name << " " << i;
      if (std::isnan(value)) {
        EXPECT_TRUE(std::isnan(small_float_to_f32(dtype, back))) << format.jax_name << " " << i;
      } else {
        EXPECT_EQ(back, bits) << format.jax_name << " " << i;
      }
    }
  }
}

TEST(SmallFloats, OneRoundingFromDouble) {
  // Just above the middle between 1 and the next number: an f32 in between would round it away.
  uint8_t bits = 0;
  store_from_double(DType::f8e4m3fn, &bits, 1.0 + 0x1p-4 + 0x1p-40);
  EXPECT_EQ(small_float_to_f32(DType::f8e4m3fn, bits), 1.125f);
  store_from_double(DType::f8e5m2, &bits, 1.0 + 0x1p-3 + 0x1p-40);
  EXPECT_EQ(small_float_to_f32(DType::f8e5m2, bits), 1.25f);
}

struct Known {
  DType dtype;
  float value;
  uint8_t bits;
};

TEST(SmallFloats, KnownEncodings) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (const Known& c : std::initializer_list<Known>{{DType::f8e4m3fn, 448, 0x7e},
                                                     {DType::f8e4m3fn, 464, 0x7e},
                                                     {DType::f8e4m3fn, 465, 0x7f},
                                                     {DType::f8e4m3fn, -kInf, 0xff},
                                                     {DType::f8e4m3fn, -0.0f, 0x80},
                                                     {DType::f8e5m2, 57344, 0x7b},
                                                     {DType::f8e5m2, 61440, 0x7c},
                                                     {DType::f8e5m2, kInf, 0x7c},
                                                     {DType::f8e4m3b11fnuz, 30, 0x7f},
                                                     {DType::f8e4m3b11fnuz, kInf, 0x80},
                                                     {DType::f8e4m3b11fnuz, -0.0f, 0},
                                                     {DType::f8e8m0fnu, 1.5f, 0x80},
                                                     {DType::f8e8m0fnu, 0, 0xff},
                                                     {DType::f8e8m0fnu, 0x1p-149f, 0},
                                                     {DType::f4e2m1fn, 100, 7},
                                                     {DType::f4e2m1fn, -kInf, 0xf},
                                                     {DType::f4e2m1fn, 0.75f, 2},
                                                     {DType::f4e2m1fn, kNan, 8}})
    EXPECT_EQ(f32_to_small_float(c.dtype, c.value), c.bits) << name(c.dtype) << " from " << c.value;
}

}  // namespace
}  // namespace tilecheck
