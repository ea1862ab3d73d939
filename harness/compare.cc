#include "harness/compare.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

#include "sim/machine/fp_control.h"
#include "sim/types/error.h"
#include "sim/types/float_formats.h"

namespace tilecheck {
namespace {

constexpr int64_t kBlock = 1024;
constexpr double kInf = std::numeric_limits<double>::infinity();

template <typename T>
void widen(const T* from, int64_t count, double* to) {
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<double>(from[i]);
}

// Elements [begin, begin + count) as doubles.
void read_doubles(const HostArray& array, int64_t begin, int64_t count, double* to) {
  switch (array.dtype()) {
    case DType::f64:
      return widen(array.as<double>() + begin, count, to);
    case DType::f32:
      return widen(array.as<float>() + begin, count, to);
    case DType::bf16:
      for (int64_t i = 0; i < count; ++i) to[i] = static_cast<double>(bf16_to_f32(array.as<uint16_t>()[begin + i]));
      return;
    case DType::i32:
      return widen(array.as<int32_t>() + begin, count, to);
    case DType::i8:
      return widen(array.as<int8_t>() + begin, count, to);
    default:
      for (int64_t i = 0; i < count; ++i) to[i] = array.at(begin + i);
  }
}

// The exact distance of two 64-bit integers of one type, which doubles may not hold.
double distance_64_bit(const HostArray& a, const HostArray& b, int64_t i) {
  const uint64_t x = a.as<uint64_t>()[i], y = b.as<uint64_t>()[i];
  const bool less = a.dtype() == DType::u64 ? x < y : static_cast<int64_t>(x) < static_cast<int64_t>(y);
  return static_cast<double>(less ? y - x : x - y);
}

// How many steps of a type lie between two values, each rounded to it once.
class Steps {
 public:
  explicit Steps(DType dtype)
      : dtype_(dtype),
        is_whole_(!is_floating(dtype)),
        is_power_(dtype == DType::f8e8m0fnu),
        sign_(uint64_t{1} << (bits(dtype) - 1)) {}

  double between(double value, double expected) const {
    if (std::isnan(value) || std::isnan(expected)) return std::isnan(value) && std::isnan(expected) ? 0 : kInf;
    if (is_whole_) return std::abs(value - expected);
    return std::abs(static_cast<double>(place(value)) - static_cast<double>(place(expected)));
  }

 private:
  // A value's place among all values of its type, in order: neighbours differ by 1. Not for NaN.
  int64_t place(double value) const {
    if (is_power_) return static_cast<int64_t>(value);
    const uint64_t whole = stored(value);
    const auto magnitude = static_cast<int64_t>(whole & (sign_ - 1));
    return whole & sign_ ? -magnitude : magnitude;
  }
  uint64_t stored(double value) const {
    const auto single = static_cast<float>(value);
    if (dtype_ == DType::f32) return std::bit_cast<uint32_t>(single);
    if (dtype_ == DType::bf16 && static_cast<double>(single) == value) return f32_to_bf16(single);
    alignas(8) std::array<std::byte, 8> element{};
    store_from_double(dtype_, element.data(), value);
    return std::bit_cast<uint64_t>(element);
  }

  DType dtype_;
  bool is_whole_, is_power_;
  uint64_t sign_;
};

constexpr size_t kUlpBins = 65;
// 0, 1, 2 for up to 2, 3 for up to 4, ..., 64 for all beyond. Infinite distances too.
size_t ulp_bin(double distance) {
  if (distance <= 0) return 0;
  if (!(distance <= 0x1p62)) return 64;
  return 1 + static_cast<size_t>(std::bit_width(static_cast<uint64_t>(std::ceil(distance)) - 1));
}

double error_of(double value, double expected) {
  if (value == expected || (std::isnan(value) && std::isnan(expected))) return 0;
  const double error = std::abs(value - expected);
  return std::isfinite(error) ? error : kInf;
}

// Where values begin to count as far above the rest: 16 times the median size of what is finite and not zero, of some
// thousand elements taken at even distances. Infinite when there is none.
double knee_of(const HostArray& expected) {
  constexpr int64_t kSamples = 4096;
  std::vector<double> sizes;
  const int64_t step = std::max<int64_t>(1, expected.size() / kSamples);
  for (int64_t i = 0; i < expected.size(); i += step) {
    const double size = std::abs(expected.at(i));
    if (size > 0 && std::isfinite(size)) sizes.push_back(size);
  }
  if (sizes.empty()) return kInf;
  const auto middle = sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / 2);
  std::ranges::nth_element(sizes, middle);
  return 16 * *middle;
}

// How much more error a value may have for its size.
double proportion(double expected, double knee) { return std::max(1.0, std::abs(expected) / knee); }

// The largest error of the naive computation where it and the reference are finite.
double largest_error(const HostArray& naive, const HostArray& expected, const HostArray* valid, double knee) {
  double largest = 0;
  for (int64_t i = 0; i < naive.size(); ++i) {
    if (valid && valid->at(i) == 0) continue;
    const double want = expected.at(i), error = error_of(naive.at(i), want) / proportion(want, knee);
    if (std::isfinite(error)) largest = std::max(largest, error);
  }
  return largest;
}

// What a type makes of a value that it may be unable to hold.
double held_by(DType dtype, double value) {
  if (!is_floating(dtype)) {
    if (!(std::abs(value) < 0x1p53) || bits(dtype) > 52) return value;
    const double range = std::ldexp(1.0, bits(dtype));
    const double wrapped = value - range * std::floor(value / range);  // in [0, range)
    return is_signed_int(dtype) && wrapped >= range / 2 ? wrapped - range : wrapped;
  }
  alignas(8) std::array<std::byte, 8> stored{};
  store_from_double(dtype, stored.data(), value);
  return load_as_double(dtype, stored.data());
}

void require_shape(const HostArray& array, const HostArray& result, const char* what) {
  if (array.shape() == result.shape()) return;
  throw InputError(what, "has shape " + to_tuple(array.shape()) + "; the result has " + to_tuple(result.shape()));
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2g", value);
  return text;
}

std::string rule_text(const CompareRule& rule, double naive_error) {
  if (rule.bit_equal) return "bit-equal";
  std::string text;
  if (rule.naive_factor > 0) text = number(rule.naive_factor) + "x naive (" + number(naive_error) + ")";
  if (rule.atol > 0 || text.empty()) text += (text.empty() ? "atol " : " + atol ") + number(rule.atol);
  if (rule.rtol > 0) text += " + rtol " + number(rule.rtol);
  return text;
}

Dims index_of(int64_t flat, const Shape& shape) {
  Dims index = Dims::filled(shape.rank(), 0);
  for (int d = shape.rank() - 1; d >= 0; --d) {
    index[d] = flat % shape[d];
    flat /= shape[d];
  }
  return index;
}

// One element's error and whether it is allowed.
struct Judgement {
  double error = 0;
  double of_allowed = 0;
};

class Judge {
 public:
  Judge(const HostArray& result, const HostArray& expected, const CompareRule& rule, double naive_error, double knee)
      : result_(result),
        expected_(expected),
        rule_(rule),
        naive_slack_(rule.naive_factor > 0 ? rule.naive_factor * naive_error : 0),
        knee_(knee),
        same_type_(result.dtype() == expected.dtype()),
        wide_(same_type_ && !is_floating(result.dtype()) && storage_bytes(result.dtype()) == 8) {}

  Judgement operator()(int64_t i, double value, double expected) const {
    double error = error_of(value, expected);
    if (error != 0 && !same_type_ && (!std::isfinite(value) || !is_floating(result_.dtype()))) {
      expected = held_by(result_.dtype(), expected);
      error = error_of(value, expected);
    }
    if (wide_) error = distance_64_bit(result_, expected_, i);
    if (rule_.bit_equal) {
      bool equal = error == 0;
      if (equal && same_type_ && !std::isnan(value)) {
        const int64_t bytes = storage_bytes(result_.dtype());
        equal = std::memcmp(result_.data() + i * bytes, expected_.data() + i * bytes, static_cast<size_t>(bytes)) == 0;
      }
      return {error, equal ? 0 : kInf};
    }
    if (error == 0) return {0, 0};
    const double allowed = rule_.atol + rule_.rtol * std::abs(expected) + naive_slack_ * proportion(expected, knee_);
    // An infinite expected value makes everything "allowed"; only itself is right.
    if (!std::isfinite(error) || !std::isfinite(allowed) || allowed <= 0) return {error, kInf};
    return {error, error / allowed};
  }

 private:
  const HostArray& result_;
  const HostArray& expected_;
  const CompareRule& rule_;
  double naive_slack_, knee_;
  bool same_type_;
  bool wide_;  // 64-bit integers
};

}  // namespace

double unit_roundoff(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return 0x1p-53;
    case DType::f32:
      return 0x1p-24;
    case DType::bf16:
      return 0x1p-8;
    case DType::f16:
      return 0x1p-11;
    case DType::f8e4m3fn:
    case DType::f8e4m3b11fnuz:
      return 0x1p-4;
    case DType::f8e5m2:
      return 0x1p-3;
    case DType::f8e8m0fnu:
      return 0x1p-1;
    case DType::f4e2m1fn:
      return 0x1p-2;
    default:
      return 0;
  }
}

CompareRule default_rule(DType dtype, const HostArray& expected) {
  if (!is_floating(dtype)) return {.bit_equal = true};
  double sum = 0;
  int64_t count = 0;
  const double knee = knee_of(expected);
  for (int64_t i = 0; i < expected.size(); ++i) {
    const double value = std::abs(expected.at(i));
    if (!std::isfinite(value)) continue;
    sum += std::min(value, knee);
    ++count;
  }
  const double u = unit_roundoff(dtype);
  const double mean = count == 0 ? 0 : sum / static_cast<double>(count);
  return {.atol = std::isfinite(mean) ? u * mean : 0, .rtol = 4 * u};
}

Comparison compare(const HostArray& result, const HostArray& expected, const CompareRule& rule, const HostArray* naive,
                   const HostArray* valid) {
  require_shape(expected, result, "expected array");
  if (naive) require_shape(*naive, result, "naive array");
  if (valid) require_shape(*valid, result, "valid mask");
  const FpControl fp;
  Comparison c;
  c.elements = result.size();
  const double knee = naive && rule.naive_factor > 0 ? knee_of(expected) : kInf;
  if (naive && rule.naive_factor > 0) c.naive_error = largest_error(*naive, expected, valid, knee);
  c.rule = rule_text(rule, c.naive_error);
  const Judge judge(result, expected, rule, c.naive_error, knee);
  const Steps steps(result.dtype());
  int64_t zeros = 0, worst = -1;
  double worst_error = 0;
  bool only_zeros = true, only_non_finite = true;
  std::array<double, kBlock> values, wanted, keep;
  std::array<int64_t, kUlpBins> ulp_counts{};
  for (int64_t begin = 0; begin < result.size(); begin += kBlock) {
    const int64_t count = std::min(kBlock, result.size() - begin);
    read_doubles(result, begin, count, values.data());
    read_doubles(expected, begin, count, wanted.data());
    if (valid) read_doubles(*valid, begin, count, keep.data());
    for (int64_t j = 0; j < count; ++j) {
      const auto k = static_cast<size_t>(j);
      const double value = values[k], want = wanted[k];
      zeros += value == 0;
      c.non_finite += !std::isfinite(value);
      if (valid && keep[k] == 0) continue;
      if (rule.skip_expected_nan && std::isnan(want)) continue;
      ++c.compared_elements;
      only_zeros = only_zeros && value == 0 && want == 0;
      only_non_finite = only_non_finite && !std::isfinite(value) && !std::isfinite(want);
      const Judgement judged = judge(begin + j, value, want);
      const double ulp = judged.error == 0 ? 0 : steps.between(value, want);
      ++ulp_counts[ulp_bin(ulp)];
      c.max_ulp = std::max(c.max_ulp, ulp);
      c.max_abs_error = std::max(c.max_abs_error, judged.error);
      if (want != 0 && judged.error > 0) c.max_rel_error = std::max(c.max_rel_error, judged.error / std::abs(want));
      c.wrong += judged.of_allowed > 1;
      if (worst < 0 || judged.of_allowed > c.of_allowed ||
          (judged.of_allowed == c.of_allowed && judged.error > worst_error)) {
        worst = begin + j;
        worst_error = judged.error;
        c.of_allowed = judged.of_allowed;
        c.worst_value = value;
        c.worst_expected = want;
      }
    }
  }
  size_t bins = kUlpBins;
  while (bins > 0 && ulp_counts[bins - 1] == 0) --bins;
  c.ulp.assign(ulp_counts.begin(), ulp_counts.begin() + static_cast<std::ptrdiff_t>(bins));
  if (worst >= 0) c.worst = index_of(worst, result.shape());
  if (c.elements > 0) c.zero_share = static_cast<double>(zeros) / static_cast<double>(c.elements);
  c.nothing_compared = c.wrong == 0 && (c.compared_elements == 0 || only_zeros || only_non_finite);
  return c;
}

std::string to_text(const Comparison& c, const std::string& name) {
  if (c.nothing_compared)
    return c.compared_elements == 0     ? "nothing compared: no elements"
           : c.non_finite == c.elements ? "nothing compared: nothing finite on both sides"
                                        : "nothing compared: only zeros on both sides";
  char text[160];
  std::string line = c.pass() ? "pass  " : "FAIL  ";
  if (c.wrong > 0) {
    std::snprintf(text, sizeof text, "%lld of %lld elements wrong (%.3g%%), ", static_cast<long long>(c.wrong),
                  static_cast<long long>(c.compared_elements),
                  100.0 * static_cast<double>(c.wrong) / static_cast<double>(c.compared_elements));
    line += text;
  }
  if (c.wrong == 0 && c.max_abs_error == 0) return line + "exact (" + c.rule + ")";
  std::snprintf(text, sizeof text, "max error %.2g", c.max_abs_error);
  line += text;
  if (std::isfinite(c.of_allowed)) {
    std::snprintf(text, sizeof text, " = %.2g of allowed", c.of_allowed);
    line += text;
  }
  line += " (" + c.rule + "); worst " + name + "[";
  for (int d = 0; d < c.worst.rank(); ++d) line.append(d ? "," : "").append(std::to_string(c.worst[d]));
  std::snprintf(text, sizeof text, "] = %.9g, expected %.9g", c.worst_value, c.worst_expected);
  return line + text;
}

std::string ulp_text(const Comparison& c) {
  std::string line;
  for (size_t bin = 0; bin < c.ulp.size(); ++bin) {
    if (c.ulp[bin] == 0) continue;
    char text[64];
    std::snprintf(text, sizeof text, "%s%s%.0f: %.3g%%", line.empty() ? "" : "  ", bin ? "<=" : "",
                  bin ? std::ldexp(1.0, static_cast<int>(bin) - 1) : 0.0,
                  100.0 * static_cast<double>(c.ulp[bin]) / static_cast<double>(c.compared_elements));
    line += text;
  }
  return line;
}

}  // namespace tilecheck
