#include "tests/unit/kernels/run_kernel.h"

namespace tilecheck::testing_kernels {
namespace {

TEST(Relu2xPlus1, OneThreeFiveSeven) {
  RunOptions options;
  options.fill = FillKind::iota;
  const RunResult run = run_kernel("relu_2x_plus_1", {}, options);
  expect_clean(run.outcome);
  EXPECT_EQ(run.outcome.report.grid, Dims{4});
  const HostArray& y = run.devices[0].out[0];
  for (int64_t i = 0; i < 1024; ++i) ASSERT_EQ(y.at(i), 2 * static_cast<double>(i) + 1) << i;
}

struct Case {
  const char* kernel;
  const char* set;
};

class SimpleKernels : public testing::TestWithParam<Case> {};

TEST_P(SimpleKernels, AreRightAndClean) {
  expect_clean(run_kernel(GetParam().kernel, parse_set(GetParam().set)).outcome);
}

INSTANTIATE_TEST_SUITE_P(Cases, SimpleKernels,
                         testing::Values(Case{"relu_2x_plus_1", ""},
                                         Case{"relu_2x_plus_1", "n=1000 block=128 dtype=bf16"},
                                         Case{"relu_2x_plus_1", "n=1 block=8 dtype=i32"},
                                         Case{"add", "rows=100 columns=200 block_rows=64 block_columns=128"},
                                         Case{"add", "rows=64 columns=128 block_rows=8 dtype=i32"},
                                         Case{"transpose", "rows=300 columns=200"},
                                         Case{"transpose", "rows=128 columns=128 block_rows=8 dtype=bf16"},
                                         Case{"matmul", "m=128 n=128 k=256 block_m=64 block_n=128 block_k=64"},
                                         Case{"matmul", "m=100 n=70 k=130 block_m=64 block_n=32 block_k=48"},
                                         Case{"matmul", "m=100 n=70 k=130 block_m=64 block_n=32 block_k=48 dtype=bf16"},
                                         Case{"matmul", "m=65 n=33 k=17 block_m=64 block_n=32 block_k=16 dtype=f16"},
                                         Case{"matmul", "m=33 n=33 k=33 block_m=32 block_n=32 block_k=32 dtype=i8"},
                                         Case{"softmax_rows", "rows=100 columns=130 block_rows=64"},
                                         Case{"softmax_rows", "rows=64 columns=128 block_rows=8 dtype=bf16"},
                                         Case{"layer_norm", "rows=100 columns=130 block_rows=64"},
                                         Case{"layer_norm", "rows=64 columns=128 block_rows=8 dtype=f16"}));

TEST(Matmul, SmallIntegersAreExactWhateverTheBlocks) {
  for (const char* set : {"m=40 n=40 k=90 block_m=8 block_n=128 block_k=16", "m=40 n=40 k=90 block_k=90"}) {
    RunOptions options;
    options.fill = FillKind::integers;
    options.bit_equal = true;
    expect_clean(run_kernel("matmul", parse_set(set), options).outcome);
  }
}

TEST(LayerNorm, GammaAndBetaAreFetchedOnce) {
  const RunResult run = run_kernel("layer_norm", parse_set("rows=64 columns=128 block_rows=8"));
  for (const WindowCounters& w : run.outcome.report.counters.windows) {
    if (w.name == "gamma" || w.name == "beta") {
      EXPECT_EQ(w.fetches, 1) << w.name;
      EXPECT_EQ(w.slots, 1) << w.name;
    }
  }
}

}  // namespace
}  // namespace tilecheck::testing_kernels
