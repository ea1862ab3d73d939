// Every broken twin is named by its kind, and the kernel beside it is clean at the same parameters.
#include "kernels/flash_attention_twins.h"
#include "tests/unit/kernels/run_kernel.h"

namespace tilecheck::testing_kernels {
namespace {

struct Pair {
  std::string kernel, twin;
};

std::vector<Pair> pairs() {
  std::vector<Pair> all;
  for (const Kernel& k : built_in_kernels())
    for (const BrokenTwin& t : k.broken) all.push_back({k.name, t.name});
  return all;
}

std::string title(const testing::TestParamInfo<Pair>& info) { return info.param.kernel + "_" + info.param.twin; }

class Twins : public testing::TestWithParam<Pair> {};

TEST_P(Twins, BrokenIsNamedAndRightIsClean) {
  const BrokenTwin& twin = *choice(GetParam().kernel + "/" + GetParam().twin).twin;
  const Outcome broken = run_kernel(GetParam().kernel + "/" + GetParam().twin, {}).outcome;
  const auto& findings = broken.report.findings;
  EXPECT_TRUE(std::ranges::any_of(findings, [&](const Finding& f) { return f.kind == twin.kind; }))
      << "expected " << name(twin.kind) << "\n"
      << describe(broken);
  // Where nothing is an error, `tilecheck list` says so beside the kind.
  if (broken.verdict() == Verdict::clean) {
    EXPECT_NE(info(twin.kind).severity, Severity::error) << describe(broken);
  }
  expect_clean(run_kernel(GetParam().kernel, twin.set).outcome);
}

INSTANTIATE_TEST_SUITE_P(All, Twins, testing::ValuesIn(pairs()), title);

// The body that carries flash attention's flaws is the kernel's own but for them.
TEST(Twins, FlawlessBodyHasTheKernelsBits) {
  for (const char* set : {"len=100 heads=1 head_dim=64 block_q=32 block_kv=32 causal=1 residuals=1",
                          "len=100 heads=1 head_dim=64 block_q=32 block_kv=64 segments=1 soft_cap=2 dtype=bf16"}) {
    const Kernel& kernel = *choice("flash_attention").kernel;
    const FlashAttention problem(ParamValues(kernel.params, parse_set(set)));
    const RunResult right = run_kernel("flash_attention", parse_set(set));
    const RunResult flawless = run_subject(subject_of(flash_attention_with(FlashFlaw::none, problem), "flawless"), {});
    for (size_t i = 0; i < right.devices[0].out.size(); ++i) {
      const Comparison c = compare(flawless.devices[0].out[i], right.devices[0].out[i], {.bit_equal = true});
      EXPECT_TRUE(c.pass()) << set << "\n" << to_text(c, "result " + std::to_string(i));
    }
  }
}

TEST(Twins, ThereAreEnough) { EXPECT_GE(pairs().size(), 40u); }

}  // namespace
}  // namespace tilecheck::testing_kernels
