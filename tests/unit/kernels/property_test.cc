// Random shapes, tiles, dtypes and masks. TILECHECK_SEED and TILECHECK_CASES in the environment choose others.
#include "harness/property.h"

#include <cstdlib>

#include "tests/unit/kernels/run_kernel.h"

namespace tilecheck::testing_kernels {
namespace {

int from_environment(const char* name, int fallback) {
  const char* text = std::getenv(name);
  return text ? std::atoi(text) : fallback;
}

std::vector<std::string> kernel_names() {
  std::vector<std::string> names;
  for (const Kernel& k : built_in_kernels()) names.push_back(k.name);
  return names;
}

class Property : public testing::TestWithParam<std::string> {};

TEST_P(Property, HoldsForRandomParameters) {
  PropertyOptions options;
  options.seed = static_cast<uint64_t>(from_environment("TILECHECK_SEED", 1));
  options.cases = from_environment("TILECHECK_CASES", 12);
  const PropertyResult result = property_test(choice(GetParam()), options);
  EXPECT_GT(result.run, options.cases / 2);
  if (result.failure)
    ADD_FAILURE() << result.failure->what << "\nrepeat with: " << result.failure->command(GetParam()) << "\n"
                  << describe(result.failure->outcome);
}

INSTANTIATE_TEST_SUITE_P(All, Property, testing::ValuesIn(kernel_names()), [](const auto& test) { return test.param; });

// A kernel that is wrong only for some shapes is found, and shrunk to the simplest of them.
TEST(PropertyTest, FindsAndShrinks) {
  const KernelChoice twin = choice("flash_attention/v_tail_not_zeroed");
  const PropertyResult result = property_test(twin, {.seed = 3, .cases = 50});
  ASSERT_TRUE(result.failure);
  const Set& set = result.failure->set;
  EXPECT_THAT(result.failure->what, testing::HasSubstr("undefined-output"));
  // What has no part in it is as simple as can be.
  EXPECT_EQ(set.at("dtype"), "f32");
  EXPECT_EQ(set.at("batch"), "1");
  EXPECT_EQ(set.at("heads"), "1");
  EXPECT_EQ(set.at("causal"), "0");
  EXPECT_EQ(set.at("soft_cap"), "0");
  EXPECT_EQ(set.at("head_dim"), "64");
  EXPECT_THAT(result.failure->command(twin.name()), testing::StartsWith("tilecheck run flash_attention/v_tail"));
  // The shrunk case fails by itself, and the kernel does not.
  const std::string repeat = "flash_attention/v_tail_not_zeroed";
  EXPECT_EQ(run_kernel(repeat, set).outcome.report.findings.front().kind, Kind::undefined_output);
  expect_clean(run_kernel("flash_attention", set).outcome);
}

TEST(PropertyTest, SameSeedSameCases) {
  const KernelChoice twin = choice("flash_attention/segments_ignored");
  const PropertyResult a = property_test(twin, {.seed = 5, .cases = 30}),
                       b = property_test(twin, {.seed = 5, .cases = 30});
  ASSERT_TRUE(a.failure && b.failure);
  EXPECT_EQ(a.failure->set, b.failure->set);
  EXPECT_EQ(a.run, b.run);
  EXPECT_EQ(a.failure->set.at("segments"), "1");
}

}  // namespace
}  // namespace tilecheck::testing_kernels
