#include "harness/fill.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace tilecheck {
namespace {

constexpr uint64_t kGolden = 0x9e3779b97f4a7c15u;
constexpr int64_t kFloatLow = -4, kFloatHigh = 5;  // whole numbers for floats: exact in every format, sums stay small
constexpr uint64_t kE8m0Lowest = 123;              // 2^-4

constexpr uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// The words of one array.
class Words {
 public:
  Words(uint64_t seed, uint64_t stream) : base_(mix(mix(seed) + stream)) {}
  uint64_t operator[](uint64_t n) const { return mix(base_ + (n + 1) * kGolden); }

 private:
  uint64_t base_;
};

// Uniform in [0, 1), a multiple of 2^-53.
double unit(uint64_t word) { return static_cast<double>(word >> 11) * 0x1p-53; }

double normal(const Words& words, uint64_t i) {
  double sum = -6;
  for (uint64_t j = 0; j < 6; ++j) {
    const uint64_t word = words[6 * i + j];
    sum += static_cast<double>(word >> 32) * 0x1p-32 + static_cast<double>(word & 0xffffffffu) * 0x1p-32;
  }
  return sum;
}

// How many whole numbers from 0 on the type holds without a gap.
uint64_t iota_period(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return uint64_t{1} << 53;
    case DType::f32:
      return uint64_t{1} << 24;
    case DType::bf16:
      return 256;
    case DType::f16:
      return 2048;
    case DType::f8e4m3fn:
    case DType::f8e4m3b11fnuz:
      return 16;
    case DType::f8e5m2:
      return 8;
    case DType::f4e2m1fn:
      return 4;
    case DType::b1:
      return 2;
    default:
      return uint64_t{1} << (bits(dtype) - (is_signed_int(dtype) ? 1 : 0) -
                             (bits(dtype) == 64 && !is_signed_int(dtype)));
  }
}

struct IntRange {
  int64_t low;
  uint64_t count;
};

IntRange int_range(DType dtype, const Fill& how) {
  int64_t low = how.int_low, high = how.int_high;  // [low, high)
  if (is_unsigned_int(dtype)) low = std::max<int64_t>(low, 0);
  if (bits(dtype) < 64) {
    const int64_t top = int64_t{1} << (bits(dtype) - (is_signed_int(dtype) ? 1 : 0));
    low = std::clamp(low, is_signed_int(dtype) ? -top : 0, top - 1);
    high = std::min(high, top);
  }
  high = std::max(high, low + 1);
  return {low, static_cast<uint64_t>(high) - static_cast<uint64_t>(low)};
}

void store_int(HostArray& array, int64_t i, int64_t value) {
  // Little-endian: the low bytes are the value in every width.
  std::memcpy(array.data() + i * storage_bytes(array.dtype()), &value,
              static_cast<size_t>(storage_bytes(array.dtype())));
}

double float_value(const Fill& how, const Words& words, int64_t i) {
  const auto n = static_cast<uint64_t>(i);
  switch (how.kind) {
    case FillKind::random:
      return how.low + (how.high - how.low) * unit(words[n]);
    case FillKind::normal:
      return normal(words, n);
    default:
      return static_cast<double>(kFloatLow + static_cast<int64_t>(words[n] % (kFloatHigh - kFloatLow)));
  }
}

}  // namespace

std::optional<FillKind> parse_fill(std::string_view text) {
  if (text == "random") return FillKind::random;
  if (text == "normal") return FillKind::normal;
  if (text == "zeros") return FillKind::zeros;
  if (text == "iota") return FillKind::iota;
  if (text == "int") return FillKind::integers;
  return std::nullopt;
}

uint64_t random_word(uint64_t seed, uint64_t stream, uint64_t n) { return Words(seed, stream)[n]; }

void fill(HostArray& array, const Fill& how) {
  const DType dtype = array.dtype();
  const Words words(how.seed, how.stream);
  if (how.kind == FillKind::zeros || is_semaphore(dtype)) {
    if (array.size() > 0) std::memset(array.data(), 0, static_cast<size_t>(array.size_bytes()));
  } else if (dtype == DType::f8e8m0fnu) {
    for (int64_t i = 0; i < array.size(); ++i) {
      const auto n = static_cast<uint64_t>(i);
      array.as<uint8_t>()[i] = static_cast<uint8_t>(kE8m0Lowest + (how.kind == FillKind::iota ? n : words[n]) % 8);
    }
  } else if (how.kind == FillKind::iota) {
    const uint64_t period = iota_period(dtype);
    for (int64_t i = 0; i < array.size(); ++i) {
      const auto value = static_cast<int64_t>(static_cast<uint64_t>(i) % period);
      if (is_floating(dtype)) {
        array.set(i, static_cast<double>(value));
      } else {
        store_int(array, i, value);
      }
    }
  } else if (is_floating(dtype)) {
    for (int64_t i = 0; i < array.size(); ++i) array.set(i, float_value(how, words, i));
  } else if (dtype == DType::b1) {
    for (int64_t i = 0; i < array.size(); ++i) store_int(array, i, words[static_cast<uint64_t>(i)] >> 63);
  } else {
    const IntRange range = int_range(dtype, how);
    for (int64_t i = 0; i < array.size(); ++i)
      store_int(array, i, range.low + static_cast<int64_t>(words[static_cast<uint64_t>(i)] % range.count));
  }
}

HostArray filled(DType dtype, const Shape& shape, const Fill& how) {
  HostArray array(dtype, shape);
  fill(array, how);
  return array;
}

}  // namespace tilecheck
