#include "harness/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "sim/types/error.h"

namespace tilecheck {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

HostArray array(DType dtype, std::initializer_list<double> values) {
  HostArray a(dtype, {static_cast<int64_t>(values.size())});
  int64_t i = 0;
  for (double v : values) a.set(i++, v);
  return a;
}

struct Case {
  const char* what;
  std::initializer_list<double> result, expected;
  CompareRule rule;
  int64_t wrong;
  bool nothing = false;
};

TEST(Compare, Rules) {
  const CompareRule near = {.atol = 0.1, .rtol = 0.01};
  for (const Case& c : std::initializer_list<Case>{
           {"equal", {1, 2}, {1, 2}, {}, 0},
           {"beyond no tolerance", {1, 2.5}, {1, 2}, {}, 1},
           {"within atol", {1.05}, {1}, near, 0},
           {"within rtol", {101}, {100}, near, 0},
           {"beyond both", {1.2, 102}, {1, 100}, near, 2},
           {"NaN meets NaN", {kNan, 1}, {kNan, 1}, {}, 0},
           {"NaN for a number", {kNan, 1}, {0, 1}, near, 1},
           {"number for NaN", {0, 1}, {kNan, 1}, near, 1},
           {"expected NaN skipped", {0, 1}, {kNan, 1}, {.skip_expected_nan = true}, 0},
           {"unexpected NaN not skipped", {kNan, 1}, {0, 1}, {.skip_expected_nan = true}, 1},
           {"infinities alike", {kInf, -kInf, 1}, {kInf, -kInf, 1}, near, 0},
           {"nothing finite", {kInf, kNan}, {kInf, kNan}, near, 0, true},
           {"infinities apart", {kInf}, {-kInf}, near, 1},
           {"finite for infinite", {1e30}, {kInf}, near, 1},
           {"infinite for finite", {kInf}, {1}, near, 1},
           {"zeros alone", {0, 0}, {0, 0}, near, 0, true},
           {"zeros for values", {0, 0}, {1, 0}, near, 1},
           {"all skipped", {1}, {kNan}, {.skip_expected_nan = true}, 0, true},
           {"empty", {}, {}, near, 0, true},
           {"minus zero equals zero", {-0.0, 1}, {0.0, 1}, {}, 0},
           {"minus zero has other bits", {-0.0, 1}, {0.0, 1}, {.bit_equal = true}, 1},
           {"NaN bits do not matter", {kNan, 1}, {-kNan, 1}, {.bit_equal = true}, 0},
       }) {
    const Comparison got = compare(array(DType::f32, c.result), array(DType::f32, c.expected), c.rule);
    EXPECT_EQ(got.wrong, c.wrong) << c.what;
    EXPECT_EQ(got.nothing_compared, c.nothing) << c.what;
    EXPECT_EQ(got.pass(), c.wrong == 0 && !c.nothing) << c.what;
  }
}

TEST(Compare, NaiveErrorSetsTheGate) {
  const HostArray expected = array(DType::f64, {1, 2, 3}), naive = array(DType::f32, {1, 2.125, 3});
  const CompareRule rule = {.naive_factor = 2};
  const Comparison within = compare(array(DType::f32, {1.25, 2, 3}), expected, rule, &naive);
  EXPECT_TRUE(within.pass());
  EXPECT_EQ(within.naive_error, 0.125);
  EXPECT_EQ(within.of_allowed, 1);
  EXPECT_THAT(within.rule, HasSubstr("2x naive (0.12)"));
  EXPECT_FALSE(compare(array(DType::f32, {1.26f, 2, 3}), expected, rule, &naive).pass());
  // A naive overflow does not open the gate.
  const HostArray overflow = array(DType::f32, {kInf, 2.125, 3});
  EXPECT_FALSE(compare(array(DType::f32, {1.5, 2, 3}), expected, rule, &overflow).pass());
}

TEST(Compare, OneLargeValueDoesNotExcuseTheOthers) {
  const HostArray expected = array(DType::f64, {1e10, 1, -1, 0.5, 0.25}),
                  result = array(DType::f32, {1e10, 1, -1, 0.5, 0});
  EXPECT_EQ(compare(result, expected, default_rule(DType::f32, expected)).wrong, 1);
  // A naive computation that is off by 600 there, as f32 may be.
  const HostArray naive = array(DType::f32, {1e10 + 600, 1, -1, 0.5, 0.25});
  CompareRule rule = default_rule(DType::f32, expected);
  rule.naive_factor = 2;
  EXPECT_EQ(compare(result, expected, rule, &naive).wrong, 1);
  EXPECT_EQ(compare(naive, expected, rule, &naive).wrong, 0);
}

TEST(Compare, WhatTheResultsTypeCannotHold) {
  EXPECT_EQ(compare(array(DType::f16, {kInf, 1}), array(DType::f64, {70000, 1}), {}).wrong, 0);
  EXPECT_EQ(compare(array(DType::f16, {kInf, 1}), array(DType::f64, {60000, 1}), {}).wrong, 1);
  EXPECT_EQ(compare(array(DType::f16, {kInf, 1}), array(DType::f64, {-70000, 1}), {}).wrong, 1);
  EXPECT_EQ(compare(array(DType::f8e4m3fn, {kNan, 1}), array(DType::f64, {1000, 1}), {}).wrong, 0);
  const CompareRule whole = {.bit_equal = true};
  EXPECT_EQ(compare(array(DType::i8, {-56, 1}), array(DType::f64, {200, 1}), whole).wrong, 0);
  EXPECT_EQ(compare(array(DType::i8, {-57, 1}), array(DType::f64, {200, 1}), whole).wrong, 1);
  EXPECT_EQ(compare(array(DType::i32, {-2147483648.0}), array(DType::f64, {2147483648.0}), whole).wrong, 0);
  EXPECT_EQ(compare(array(DType::u8, {255}), array(DType::f64, {-1}), whole).wrong, 0);
}

TEST(Compare, WorstElementIsTheOneFurthestBeyondItsOwnAllowance) {
  HostArray result(DType::f32, {2, 3}), expected(DType::f32, {2, 3});
  for (int64_t i = 0; i < 6; ++i) {
    expected.set(i, i == 5 ? 1000 : 1);
    result.set(i, expected.at(i));
  }
  result.set(4, 1.5);   // 50 times what is allowed
  result.set(5, 1005);  // larger, but half of what is allowed
  const Comparison c = compare(result, expected, {.rtol = 0.01});
  EXPECT_EQ(c.worst, (Dims{1, 1}));
  EXPECT_EQ(c.worst_value, 1.5);
  EXPECT_EQ(c.worst_expected, 1);
  EXPECT_EQ(c.max_abs_error, 5);
  EXPECT_EQ(c.wrong, 1);
  EXPECT_DOUBLE_EQ(c.of_allowed, 50);
  EXPECT_THAT(to_text(c, "o"), HasSubstr("FAIL  1 of 6 elements wrong (16.7%), max error 5 = 50 of allowed (atol 0 + "
                                         "rtol 0.01); worst o[1,1] = 1.5, expected 1"));
}

TEST(Compare, UlpsCountStepsOfTheResultsOwnType) {
  // bf16: steps of 2^-7 from 1. The f64 reference is rounded to bf16 first: 1 + 2^-10 is 1.
  const HostArray result = array(DType::bf16, {1, 1 + 0x1p-7, 1 + 3 * 0x1p-7, -0x1p-133, kNan});
  const HostArray expected = array(DType::f64, {1 + 0x1p-10, 1, 1, 0x1p-133, 1});
  const Comparison c = compare(result, expected, {.atol = 1});
  EXPECT_EQ(c.max_ulp, kInf);  // the NaN
  ASSERT_EQ(c.ulp.size(), 65u);
  EXPECT_EQ(c.ulp[0], 1);
  EXPECT_EQ(c.ulp[1], 1);
  EXPECT_EQ(c.ulp[2], 1);  // across zero: two steps
  EXPECT_EQ(c.ulp[3], 1);
  EXPECT_EQ(c.ulp[64], 1);
  EXPECT_EQ(ulp_text(compare(array(DType::i32, {1, 5, 9, 9}), array(DType::i32, {1, 4, 6, 9}), {})),
            "0: 50%  <=1: 25%  <=4: 25%");
  // Steps between whole numbers and what is none; steps of f32, of which 5, 6, 7 and 8 count together.
  EXPECT_EQ(ulp_text(compare(array(DType::i32, {1, 5, 9, 9}), array(DType::f64, {1.5, 6.5, 9, 9.25}), {})),
            "0: 25%  <=1: 50%  <=2: 25%");
  const auto after = [](int steps) { return 1 + steps * 0x1p-23; };
  EXPECT_EQ(ulp_text(compare(array(DType::f32, {after(5), after(8), after(9), -0x1p-149, after(0)}),
                             array(DType::f64, {1, 1, 1, 0x1p-149, after(0) + 0x1p-25}), {.atol = 1})),
            "0: 20%  <=2: 20%  <=8: 40%  <=16: 20%");
}

TEST(Compare, SixtyFourBitIntegersAreExact) {
  HostArray a(DType::i64, {1}), b(DType::i64, {1});
  a.as<int64_t>()[0] = (int64_t{1} << 60) + 1;
  b.as<int64_t>()[0] = int64_t{1} << 60;
  const Comparison c = compare(a, b, default_rule(DType::i64, b));
  EXPECT_EQ(c.wrong, 1);
  EXPECT_EQ(c.max_abs_error, 1);
}

TEST(Compare, MaskSharesAndShapes) {
  const HostArray result = array(DType::f32, {0, 5, kNan, 4}), expected = array(DType::f32, {0, 5, 1, 9});
  const HostArray valid = array(DType::b1, {1, 1, 0, 0});
  const Comparison c = compare(result, expected, {}, nullptr, &valid);
  EXPECT_TRUE(c.pass());
  EXPECT_EQ(c.compared_elements, 2);
  EXPECT_EQ(c.zero_share, 0.25);
  EXPECT_EQ(c.non_finite, 1);
  EXPECT_EQ(to_text(c, "o"), "pass  exact (atol 0)");
  EXPECT_THROW(compare(result, array(DType::f32, {1}), {}), InputError);
}

TEST(Compare, DefaultRuleAllowsAFewRoundings) {
  const HostArray expected = array(DType::f64, {1.0 / 3, 100});
  for (DType dtype : {DType::f32, DType::bf16, DType::f16, DType::f8e4m3fn, DType::f8e5m2}) {
    const HostArray rounded = expected.convert(dtype);
    EXPECT_TRUE(compare(rounded, expected, default_rule(dtype, expected)).pass()) << name(dtype);
    HostArray off = rounded.clone();
    off.set(1, 100 * (1 + 12 * unit_roundoff(dtype)));
    EXPECT_FALSE(compare(off, expected, default_rule(dtype, expected)).pass()) << name(dtype);
  }
  EXPECT_TRUE(default_rule(DType::i8, expected).bit_equal);
  EXPECT_TRUE(default_rule(DType::b1, expected).bit_equal);
}

}  // namespace
}  // namespace tilecheck
