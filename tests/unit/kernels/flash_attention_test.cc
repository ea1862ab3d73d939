#include "tests/unit/kernels/run_kernel.h"

namespace tilecheck::testing_kernels {
namespace {

class FlashAttention : public testing::TestWithParam<const char*> {};

TEST_P(FlashAttention, IsRightAndClean) { expect_clean(run_kernel("flash_attention", parse_set(GetParam())).outcome); }

INSTANTIATE_TEST_SUITE_P(
    Cases, FlashAttention,
    testing::Values("len=256 block_q=128 block_kv=64 head_dim=64",
                    // lengths that no block divides, in every head size
                    "len=200 block_q=64 block_kv=128 head_dim=64 residuals=1",
                    "len=65 block_q=32 block_kv=32 head_dim=80 heads=3",
                    "len=100 kv_len=130 block_q=64 block_kv=64 head_dim=128 batch=2",
                    "len=70 block_q=64 block_kv=32 head_dim=256 heads=1",
                    "len=1 kv_len=1 block_q=8 block_kv=128 head_dim=64",
                    // masks
                    "len=256 block_q=64 block_kv=64 head_dim=64 causal=1",
                    "len=200 block_q=64 block_kv=32 head_dim=64 causal=1 residuals=1",
                    "len=200 block_q=32 block_kv=128 head_dim=64 causal=1",
                    "len=200 kv_len=90 block_q=64 block_kv=64 head_dim=64 causal=1",
                    "len=90 kv_len=200 block_q=64 block_kv=64 head_dim=64 causal=1",
                    "len=200 block_q=64 block_kv=64 head_dim=64 segments=1 batch=2 residuals=1",
                    "len=200 block_q=64 block_kv=64 head_dim=64 segments=1 causal=1",
                    "len=130 block_q=64 block_kv=64 head_dim=64 soft_cap=0.5 sm_scale=1",
                    // narrow types
                    "len=200 block_q=64 block_kv=64 head_dim=64 dtype=bf16",
                    "len=200 block_q=64 block_kv=64 head_dim=80 dtype=f16 causal=1",
                    "len=130 block_q=64 block_kv=64 head_dim=128 dtype=bf16 segments=1 soft_cap=2"));

std::map<std::string, WindowCounters> traffic(const std::string& set) {
  std::map<std::string, WindowCounters> windows;
  for (const WindowCounters& w : run_kernel("flash_attention", parse_set(set)).outcome.report.counters.windows)
    windows[w.name] = w;
  return windows;
}

TEST(FlashAttention, SkippedBlocksAreNotFetched) {
  // 4 q blocks see 1, 2, 3 and 4 of 4 kv blocks. A q block begins with the kv block that the last skipped steps of the
  // one before already brought: 1 + 2 + 3 + 3 fetches a head, 9 for the last.
  const auto causal = traffic("heads=2 len=256 head_dim=64 block_q=64 block_kv=64 causal=1");
  EXPECT_EQ(causal.at("k").fetches, 18);
  EXPECT_EQ(causal.at("v").fetches, 18);
  EXPECT_EQ(causal.at("q").fetches, 8);
  const auto all = traffic("heads=2 len=256 head_dim=64 block_q=64 block_kv=64");
  EXPECT_EQ(all.at("k").fetches, 32);
  EXPECT_EQ(all.at("q").slots, 2);
}

}  // namespace
}  // namespace tilecheck::testing_kernels
