#include "harness/fill.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "sim/types/error.h"

namespace tilecheck {
namespace {

// Written down once: a change of these values changes everybody's seeds.
TEST(Fills, WordsAreAlwaysTheSame) {
  EXPECT_EQ(random_word(0, 0, 0), 0xe220a8397b1dcdafu);
  EXPECT_EQ(random_word(0, 0, 1), 0x6e789e6aa1b965f4u);
  EXPECT_EQ(random_word(7, 3, 1000), 0x62c6f21c059ca9fau);
}

TEST(Fills, KindsAndTypes) {
  for (int t = 0; t < kDTypeCount; ++t) {
    const auto dtype = static_cast<DType>(t);
    for (const char* word : {"random", "normal", "zeros", "iota", "int"}) {
      const Fill how = {.kind = parse_fill(word).value(), .seed = 5, .int_low = -3, .int_high = 4};
      const HostArray a = filled(dtype, {100}, how), again = filled(dtype, {100}, how);
      EXPECT_EQ(std::memcmp(a.data(), again.data(), static_cast<size_t>(a.size_bytes())), 0);
      double least = 1e300, most = -1e300;
      for (int64_t i = 0; i < a.size(); ++i) {
        const double value = a.at(i);
        ASSERT_TRUE(std::isfinite(value)) << name(dtype) << " " << word;
        least = std::min(least, value);
        most = std::max(most, value);
        if (how.kind == FillKind::integers) {
          EXPECT_TRUE(value == std::floor(value) || dtype == DType::f8e8m0fnu);
        }
      }
      if (how.kind == FillKind::zeros || is_semaphore(dtype)) {
        EXPECT_LE(most, 1e-30);
      } else {
        EXPECT_LT(least, most) << name(dtype) << " " << word;
        EXPECT_LE(most, how.kind == FillKind::iota ? 99 : 8) << name(dtype) << " " << word;
        EXPECT_GE(least, -6) << name(dtype) << " " << word;
      }
    }
  }
}

TEST(Fills, IotaStartsAgainWhereTheTypeEnds) {
  struct Row {
    DType dtype;
    int64_t period;
  };
  for (const Row& row : std::initializer_list<Row>{{DType::bf16, 256},
                                                   {DType::f16, 2048},
                                                   {DType::f8e4m3fn, 16},
                                                   {DType::f8e5m2, 8},
                                                   {DType::i4, 8},
                                                   {DType::u4, 16},
                                                   {DType::i8, 128},
                                                   {DType::b1, 2},
                                                   {DType::f4e2m1fn, 4},
                                                   {DType::f8e4m3b11fnuz, 16}}) {
    const HostArray a = filled(row.dtype, {row.period + 2}, {.kind = FillKind::iota});
    for (int64_t i = 0; i < row.period; ++i) ASSERT_EQ(a.at(i), static_cast<double>(i)) << name(row.dtype);
    EXPECT_EQ(a.at(row.period), 0) << name(row.dtype);
    EXPECT_EQ(a.at(row.period + 1), 1) << name(row.dtype);
  }
}

TEST(Fills, SeedsAndStreamsDiffer) {
  const auto first = [](uint64_t seed, uint64_t stream) {
    return filled(DType::f64, {1}, {.seed = seed, .stream = stream}).at(0);
  };
  EXPECT_NE(first(0, 0), first(1, 0));
  EXPECT_NE(first(0, 0), first(0, 1));
  EXPECT_NE(first(0, 1), first(1, 0));
}

TEST(Fills, Moments) {
  constexpr int64_t kCount = 20000;
  for (FillKind kind : {FillKind::random, FillKind::normal}) {
    const HostArray a = filled(DType::f64, {kCount}, {.kind = kind});
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < kCount; ++i) {
      sum += a.at(i);
      squares += a.at(i) * a.at(i);
    }
    EXPECT_NEAR(sum / kCount, 0, 0.03);
    EXPECT_NEAR(squares / kCount, kind == FillKind::normal ? 1 : 1.0 / 3, 0.03);
  }
}

TEST(Fills, UnknownWord) { EXPECT_FALSE(parse_fill("ones")); }

}  // namespace
}  // namespace tilecheck
