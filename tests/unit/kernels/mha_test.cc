#include "harness/reference_array.h"
#include "reference/attention.h"
#include "tests/unit/kernels/run_kernel.h"

namespace tilecheck::testing_kernels {
namespace {

struct Case {
  const char* kernel;
  const char* set;
};

class MhaKernels : public testing::TestWithParam<Case> {};

TEST_P(MhaKernels, AreRightAndClean) { expect_clean(run_kernel(GetParam().kernel, parse_set(GetParam().set)).outcome); }

constexpr const char* kUneven =
    "batch=2 heads=3 len=70 kv_len=50 head_dim=64 block_q=32 block_k=16 block_q_dkv=32 block_kv_dkv=16 block_q_dq=16 "
    "block_kv_dq=32 dtype=f32";
constexpr const char* kCausal =
    "batch=1 heads=2 len=100 head_dim=80 block_q=32 block_k=64 block_q_dkv=64 block_kv_dkv=32 block_q_dq=32 "
    "block_kv_dq=64 dtype=f32 causal=1 return_residuals=1";
constexpr const char* kSegments =
    "batch=2 heads=2 len=70 head_dim=64 block_q=32 block_k=32 block_q_dkv=32 block_kv_dkv=32 block_q_dq=32 "
    "block_kv_dq=32 dtype=bf16 segment_ids=1 return_residuals=1";
constexpr const char* kUnseenKeys =
    "batch=1 heads=1 len=40 kv_len=1 head_dim=64 block_q=32 block_k=32 block_q_dkv=32 block_kv_dkv=32 block_q_dq=32 "
    "block_kv_dq=32 dtype=f32 segment_ids=1 return_residuals=1";

INSTANTIATE_TEST_SUITE_P(Cases, MhaKernels,
                         testing::Values(Case{"mha", kUneven}, Case{"mha_dq", kUneven}, Case{"mha_dkv", kUneven},
                                         Case{"mha", kCausal}, Case{"mha_dq", kCausal}, Case{"mha_dkv", kCausal},
                                         Case{"mha", kSegments}, Case{"mha_dq", kSegments}, Case{"mha_dkv", kSegments},
                                         Case{"mha", kUnseenKeys}, Case{"mha_dq", kUnseenKeys},
                                         Case{"mha_dkv", kUnseenKeys}));

TEST(Mha, GridIsQueryBlocksByBatchByHeads) {
  for (const char* kernel : {"mha", "mha_dq", "mha_dkv"}) {
    const RunResult run = run_kernel(kernel, parse_set("dtype=f16"));
    expect_clean(run.outcome);
    EXPECT_EQ(run.outcome.report.grid, (Dims{4, 2, 4})) << kernel;
    EXPECT_EQ(run.operands[0][0].shape(), (Shape{2, 512, 4, 64}));
    EXPECT_EQ(run.operands[0][0].dtype(), DType::f16);
  }
}

// The operands that the backward kernels are given by default belong together: the gradients are those of the forward
// computation itself.
TEST(Mha, GradientsAreThoseOfTheForwardPass) {
  const Set set =
      parse_set("len=40 heads=2 batch=1 block_q_dq=32 block_kv_dq=32 block_q_dkv=32 block_kv_dkv=32 dtype=f32");
  const RunResult dq = run_kernel("mha_dq", set), dkv = run_kernel("mha_dkv", set);
  const auto heads_first = [&](size_t i) { return permute(to_reference(dq.operands[0][i]), {0, 2, 1, 3}); };
  const reference::AttentionGradients g =
      reference::attention_backward(heads_first(0), heads_first(1), heads_first(2), heads_first(3), {.scale = 0.125});
  const struct {
    const HostArray& result;
    const reference::Array& expected;
  } pairs[] = {{dq.devices[0].out[0], g.dq}, {dkv.devices[0].out[0], g.dk}, {dkv.devices[0].out[1], g.dv}};
  for (const auto& pair : pairs) {
    const Comparison c = compare(pair.result, from_reference(permute(pair.expected, {0, 2, 1, 3})), {.atol = 1e-5});
    EXPECT_TRUE(c.pass()) << to_text(c, "gradient");
  }
}

}  // namespace
}  // namespace tilecheck::testing_kernels
