#include "harness/kernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/types/error.h"

namespace tilecheck {
namespace {

using testing::HasSubstr;

std::vector<Param> params() {
  return {int_param("block_q", 128, ""), number_param("sm_scale", 1.5, ""), bool_param("causal", false, ""),
          dtype_param("dtype", DType::f32, {DType::f32, DType::bf16}),
          choice_param("pass", "forward", {"forward", "dq", "dkv"}, "")};
}

TEST(ParamValues, DefaultsAndOverrides) {
  const ParamValues d(params(), {});
  EXPECT_EQ(d.integer("block_q"), 128);
  EXPECT_EQ(d.number("sm_scale"), 1.5);
  EXPECT_FALSE(d.flag("causal"));
  EXPECT_EQ(d.dtype("dtype"), DType::f32);
  EXPECT_EQ(d.choice("pass"), "forward");
  const ParamValues v(
      params(), {{"block_q", "256"}, {"sm_scale", "-1e-3"}, {"causal", "true"}, {"dtype", "bfloat16"}, {"pass", "dq"}});
  EXPECT_EQ(v.integer("block_q"), 256);
  EXPECT_EQ(v.number("sm_scale"), -1e-3);
  EXPECT_TRUE(v.flag("causal"));
  EXPECT_EQ(v.dtype("dtype"), DType::bf16);
  EXPECT_EQ(v.choice("pass"), "dq");
  EXPECT_EQ(v.texts()[2], (std::pair<std::string, std::string>{"causal", "1"}));
  EXPECT_EQ(v.texts()[3].second, "bf16");
}

TEST(ParamValues, BadValuesAreRefusedWithWhatWasExpected) {
  const struct {
    const char *key, *value, *says;
  } cases[] = {
      {"block", "1", "did you mean 'block_q'"},
      {"block_q", "0", "at least 1"},
      {"block_q", "-4", "at least 1"},
      {"block_q", "12x", "an integer"},
      {"block_q", "99999999999999999999", "an integer"},
      {"block_q", "9999999999999999", "at most"},
      {"sm_scale", "nan", "finite"},
      {"sm_scale", "", "finite"},
      {"sm_scale", "1e300", "f32 can hold"},
      {"sm_scale", "-1e300", "f32 can hold"},
      {"sm_scale", "1e-300", "f32 can hold"},
      {"causal", "maybe", "0 or 1"},
      {"dtype", "f16", "one of f32, bf16"},
      {"pass", "forwards", "did you mean 'forward'"},
  };
  for (const auto& c : cases) {
    try {
      const ParamValues v(params(), {{c.key, c.value}});
      ADD_FAILURE() << c.key << "=" << c.value;
    } catch (const InputError& e) {
      EXPECT_THAT(e.what(), HasSubstr(c.says));
      EXPECT_EQ(e.where(), std::string("--set ") + c.key);
    }
  }
}

TEST(Registry, FindsKernelsAndTwinsAndSuggests) {
  Kernel k{.name = "soft_relu", .summary = "s", .params = {int_param("n", 8, "")}};
  k.make = [](const ParamValues& v) {
    KernelCase c;
    c.headline = std::to_string(v.integer("n"));
    return c;
  };
  k.broken = {{.name = "late", .what = "w", .kind = Kind::race, .set = {{"n", "16"}}, .make = k.make}};
  add_kernel(k);
  EXPECT_TRUE(is_kernel_name("soft_relu"));
  EXPECT_TRUE(is_kernel_name("soft_relu/late"));
  EXPECT_FALSE(is_kernel_name("soft_relu/early"));
  EXPECT_EQ(kernel_named("soft_relu").make({}).headline, "8");
  EXPECT_EQ(kernel_named("soft_relu/late").make({}).headline, "16");
  EXPECT_EQ(kernel_named("soft_relu/late").make({{"n", "9"}}).headline, "9");
  const struct {
    const char *name, *says;
  } cases[] = {{"soft_rel", "did you mean 'soft_relu'"}, {"soft_relu/lat", "did you mean 'late'"}};
  for (const auto& c : cases) {
    try {
      kernel_named(c.name);
      ADD_FAILURE() << c.name;
    } catch (const InputError& e) {
      EXPECT_THAT(e.what(), HasSubstr(c.says));
    }
  }
}

}  // namespace
}  // namespace tilecheck
