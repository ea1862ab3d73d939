// Same input, same bits: whatever the vector width, the number of threads and the host's floating-point mode.
#include <gtest/gtest.h>
#include <immintrin.h>

#include <cstring>
#include <map>
#include <string>

#include "sim/ops/ops.h"
#include "tests/unit/kernels/run_kernel.h"

namespace tilecheck::testing_kernels {
namespace {

struct Case {
  const char* kernel;
  std::map<std::string, std::string> set;
};

// Sets flush-to-zero and denormals-are-zero, as XLA's threads have them.
class FlushToZero {
 public:
  explicit FlushToZero(bool on) : saved_(_mm_getcsr()) {
    if (on) _mm_setcsr(saved_ | 0x8040u);
  }
  ~FlushToZero() { _mm_setcsr(saved_); }

 private:
  unsigned saved_;
};

std::vector<HostArray> results(const Case& c, VectorIsa isa, int threads, bool flush) {
  use_vector_isa(isa);
  RunOptions options;
  options.launch.threads = threads;
  options.analyse_fit = false;
  options.compare = false;
  options.seed = 3;
  const Subject subject = subject_of(choice(c.kernel), c.set);
  const FlushToZero mode(flush);
  RunResult r = run_subject(subject, options);
  EXPECT_TRUE(r.outcome.report.findings.empty()) << c.kernel;
  return r.devices.at(0).out;
}

TEST(Bits, DoNotDependOnVectorWidthThreadsOrFlushToZero) {
  const Case cases[] = {
      {"relu_2x_plus_1", {}},
      {"softmax_rows", {{"rows", "64"}, {"columns", "130"}, {"block_rows", "16"}}},
      {"layer_norm", {{"rows", "64"}, {"columns", "200"}, {"block_rows", "16"}}},
      {"matmul", {{"m", "70"}, {"n", "150"}, {"k", "200"}, {"block_m", "32"}, {"block_n", "128"}, {"block_k", "128"}}},
      {"flash_attention", {{"len", "200"}, {"head_dim", "64"}, {"block_q", "64"}, {"block_kv", "64"}, {"causal", "1"}}},
      {"flash_attention",
       {{"dtype", "bf16"}, {"len", "200"}, {"head_dim", "64"}, {"block_q", "64"}, {"block_kv", "64"}}},
  };
  for (const Case& c : cases) {
    const std::vector<HostArray> expected = results(c, VectorIsa::avx2, 1, false);
    for (const VectorIsa isa : {VectorIsa::avx2, VectorIsa::best})
      for (const int threads : {1, 2})
        for (const bool flush : {false, true}) {
          const std::vector<HostArray> got = results(c, isa, threads, flush);
          ASSERT_EQ(got.size(), expected.size());
          for (size_t i = 0; i < got.size(); ++i)
            EXPECT_EQ(std::memcmp(got[i].data(), expected[i].data(), static_cast<size_t>(got[i].size_bytes())), 0)
                << c.kernel << " result " << i << ", " << vector_isa() << ", " << threads << " threads, flush-to-zero "
                << flush;
        }
  }
  use_vector_isa(VectorIsa::best);
}

}  // namespace
}  // namespace tilecheck::testing_kernels
