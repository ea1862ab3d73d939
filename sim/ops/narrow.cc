// f32 to and from the narrow float types, n elements at a time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sim/ops/narrow.cc"
#include <immintrin.h>

#include <algorithm>
#include <bit>

#include "sim/ops/simd.h"
#include "sim/ops/strips.h"
#include "sim/types/float_formats.h"

HWY_BEFORE_NAMESPACE();
namespace tilecheck {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using U32 = hn::RebindToUnsigned<D>;
using U16 = hn::Rebind<uint16_t, D>;  // as many as floats
using U8 = hn::Rebind<uint8_t, D>;
constexpr D d;
constexpr U32 u32;
constexpr U16 u16;
constexpr U8 u8;

// Whole vectors in place, the rest through a padded copy. piece(from, to) does one vector.
template <class From, class To, class Piece>
HWY_INLINE void each_vector(const void* from, void* to, int64_t n, Piece piece) {
  const From* in = static_cast<const From*>(from);
  To* out = static_cast<To*>(to);
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) piece(in + i, out + i);
  if (i == n) return;
  From in_rest[16] = {};
  To out_rest[16];
  std::copy_n(in + i, n - i, in_rest);
  piece(in_rest, out_rest);
  std::copy_n(out_rest, n - i, out + i);
}

void widen_bf16(const void* from, float* to, int64_t n) {
  each_vector<uint16_t, float>(from, to, n, [](const uint16_t* in, float* out) HWY_ATTR {
    hn::StoreU(hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(u32, hn::LoadU(u16, in)))), d, out);
  });
}

void narrow_bf16(const float* from, void* to, int64_t n) {
  each_vector<float, uint16_t>(from, to, n, [](const float* in, uint16_t* out) HWY_ATTR {
    const auto x = hn::LoadU(d, in);
    const auto bits = hn::BitCast(u32, x);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(u32, 1u));
    const auto rounded = hn::Add(bits, hn::Add(odd, hn::Set(u32, 0x7fffu)));
    const auto quiet = hn::Or(bits, hn::Set(u32, 0x400000u));
    const auto kept = hn::IfThenElse(hn::RebindMask(u32, hn::IsNaN(x)), quiet, rounded);
    hn::StoreU(hn::DemoteTo(u16, hn::BitCast(hn::RebindToSigned<U32>(), hn::ShiftRight<16>(kept))), u16, out);
  });
}

void widen_f16(const void* from, float* to, int64_t n) {
  each_vector<uint16_t, float>(from, to, n, [](const uint16_t* in, float* out) HWY_ATTR {
    for (size_t i = 0; i < hn::Lanes(d); i += 8)
      _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i))));
  });
}

void narrow_f16(const float* from, void* to, int64_t n) {
  each_vector<float, uint16_t>(from, to, n, [](const float* in, uint16_t* out) HWY_ATTR {
    for (size_t i = 0; i < hn::Lanes(d); i += 8)
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i),
                       _mm256_cvtps_ph(_mm256_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT));
  });
}

// An 8-bit format with a sign bit, by its mantissa bits and the exponent of its smallest normal number; magnitudes
// above max_finite, infinity among them, become `over`.
template <int kMantissa, int kMinExponent>
HWY_INLINE void narrow_format(const float* from, void* to, int64_t n, uint32_t max_finite, uint32_t over,
                              uint32_t nan) {
  each_vector<float, uint8_t>(from, to, n, [=](const float* in, uint8_t* out) HWY_ATTR {
    constexpr int kDropped = 23 - kMantissa;
    constexpr int kBias = 1 - kMinExponent;
    const auto x = hn::LoadU(d, in);
    const auto bits = hn::BitCast(u32, x);
    const auto sign = hn::And(hn::ShiftRight<24>(bits), hn::Set(u32, 0x80u));
    const auto magnitude = hn::And(bits, hn::Set(u32, 0x7fffffffu));
    // Normal results: round the mantissa in place, then move the exponent over.
    const auto odd = hn::And(hn::ShiftRight<kDropped>(magnitude), hn::Set(u32, 1u));
    const auto rounded = hn::Add(magnitude, hn::Add(odd, hn::Set(u32, (1u << (kDropped - 1)) - 1)));
    const auto normal = hn::Sub(hn::ShiftRight<kDropped>(rounded), hn::Set(u32, uint32_t{127 - kBias} << kMantissa));
    // Subnormal results: adding this number rounds to their step and leaves the count in the low bits.
    constexpr uint32_t kMagic = static_cast<uint32_t>(kMinExponent - kMantissa + 23 + 127) << 23;
    const auto shifted = hn::Add(hn::BitCast(d, magnitude), hn::BitCast(d, hn::Set(u32, kMagic)));
    const auto subnormal = hn::Sub(hn::BitCast(u32, shifted), hn::Set(u32, kMagic));
    const auto is_small = hn::Lt(magnitude, hn::Set(u32, static_cast<uint32_t>(kMinExponent + 127) << 23));
    auto result = hn::IfThenElse(is_small, subnormal, normal);
    result = hn::IfThenElse(hn::Gt(result, hn::Set(u32, max_finite)), hn::Set(u32, over), result);
    result = hn::IfThenElse(hn::Gt(magnitude, hn::Set(u32, 0x7f7fffffu)), hn::Set(u32, over), result);
    result = hn::IfThenElse(hn::Gt(magnitude, hn::Set(u32, 0x7f800000u)), hn::Set(u32, nan), result);
    hn::StoreU(hn::DemoteTo(u8, hn::BitCast(hn::RebindToSigned<U32>(), hn::Or(result, sign))), u8, out);
  });
}

void narrow_f8e4m3fn(const float* from, void* to, int64_t n) { narrow_format<3, -6>(from, to, n, 0x7e, 0x7f, 0x7f); }
void narrow_f8e5m2(const float* from, void* to, int64_t n) { narrow_format<2, -14>(from, to, n, 0x7b, 0x7c, 0x7e); }

WidenFn widen_of(DType dtype) {
  return dtype == DType::bf16 ? &widen_bf16 : dtype == DType::f16 ? &widen_f16 : nullptr;
}

NarrowFn narrow_of(DType dtype) {
  switch (dtype) {
    case DType::bf16:
      return &narrow_bf16;
    case DType::f16:
      return &narrow_f16;
    case DType::f8e4m3fn:
      return &narrow_f8e4m3fn;
    case DType::f8e5m2:
      return &narrow_f8e5m2;
    default:
      return nullptr;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tilecheck
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tilecheck {
namespace {

HWY_EXPORT(widen_of);
HWY_EXPORT(narrow_of);

// The rare formats, and reading 8 bits: one table look-up an element.
template <DType kType>
void widen_small(const void* from, float* to, int64_t n) {
  const uint8_t* in = static_cast<const uint8_t*>(from);
  for (int64_t i = 0; i < n; ++i) to[i] = small_float_to_f32(kType, in[i]);
}

template <DType kType>
void narrow_small(const float* from, void* to, int64_t n) {
  uint8_t* out = static_cast<uint8_t*>(to);
  for (int64_t i = 0; i < n; ++i) out[i] = f32_to_small_float(kType, from[i]);
}

}  // namespace

WidenFn widen_fn(DType dtype) {
  switch (dtype) {
    case DType::f8e4m3fn:
      return &widen_small<DType::f8e4m3fn>;
    case DType::f8e5m2:
      return &widen_small<DType::f8e5m2>;
    case DType::f8e4m3b11fnuz:
      return &widen_small<DType::f8e4m3b11fnuz>;
    case DType::f8e8m0fnu:
      return &widen_small<DType::f8e8m0fnu>;
    case DType::f4e2m1fn:
      return &widen_small<DType::f4e2m1fn>;
    default:
      return HWY_DYNAMIC_DISPATCH(widen_of)(dtype);
  }
}

NarrowFn narrow_fn(DType dtype) {
  switch (dtype) {
    case DType::f8e4m3b11fnuz:
      return &narrow_small<DType::f8e4m3b11fnuz>;
    case DType::f8e8m0fnu:
      return &narrow_small<DType::f8e8m0fnu>;
    case DType::f4e2m1fn:
      return &narrow_small<DType::f4e2m1fn>;
    default:
      return HWY_DYNAMIC_DISPATCH(narrow_of)(dtype);
  }
}

}  // namespace tilecheck
#endif
