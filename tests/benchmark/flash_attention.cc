// Flash attention, simulated with all checks, against the same loop written by hand on plain memory with the same
// micro-kernels. Ratios from one run are what counts: docs/performance.md keeps them.
#include "kernels/flash_attention.h"

#include <benchmark/benchmark.h>

#include <cmath>
#include <limits>
#include <vector>

#include "harness/fill.h"
#include "kernels/list.h"
#include "sim/machine/launch.h"
#include "sim/ops/gemm.h"
#include "sim/ops/reduce.h"

namespace tilecheck {
namespace {

constexpr int64_t kLength = 2048, kDim = 128, kBlockQ = 256, kBlockKv = 256;

KernelCase simulated_case(int64_t heads, const char* dtype = "f32") {
  const std::map<std::string, std::string> set{
      {"heads", std::to_string(heads)},     {"len", std::to_string(kLength)},       {"head_dim", std::to_string(kDim)},
      {"block_q", std::to_string(kBlockQ)}, {"block_kv", std::to_string(kBlockKv)}, {"dtype", dtype}};
  return flash_attention_case(FlashAttention(ParamValues(FlashAttention::params(), set)));
}

Arrays operands(const KernelCase& c) {
  Arrays all;
  for (const Window& w : c.spec.in) all.push_back(filled(w.dtype, w.array, {.stream = all.size()}));
  return all;
}

void flops(benchmark::State& state, int64_t heads) {
  const double per_iteration = 4.0 * static_cast<double>(heads * kLength * kLength * kDim);
  state.counters["GFLOPS"] =
      benchmark::Counter(per_iteration * 1e-9 * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

void simulated(benchmark::State& state, bool checks, int threads, const char* dtype) {
  const int64_t heads = state.range(0);
  const KernelCase c = simulated_case(heads, dtype);
  const DeviceArgs args{{}, operands(c)};
  LaunchOptions options;
  options.threads = threads;
  options.check_definedness = checks;
  options.sync.check_races = checks;
  for (auto _ : state) {
    const LaunchResult result = launch(c.spec, c.body, std::span(&args, 1), options);
    if (!result.report.findings.empty()) state.SkipWithError("findings");
    benchmark::DoNotOptimize(result.devices[0].out[0].data());
  }
  flops(state, heads);
}

// ---- By hand: the kernel's loops over one head, each step's logits kept in one buffer, rows done one after another
// while they are in the first-level cache.

float* as_floats(const HostArray& array) { return reinterpret_cast<float*>(const_cast<std::byte*>(array.data())); }

GemmOperand operand(const float* data, int64_t row_stride, int64_t column_stride) {
  return {reinterpret_cast<const std::byte*>(data), row_stride, column_stride};
}

class ByHand {
 public:
  explicit ByHand(TilePool& pool)
      : pool_(pool),
        s_(static_cast<size_t>(kBlockQ * kBlockKv)),
        acc_(static_cast<size_t>(kBlockQ * kDim)),
        m_(kBlockQ),
        l_(kBlockQ) {}

  void head(const float* q, const float* k, const float* v, float* o) {
    for (int64_t i = 0; i < kLength; i += kBlockQ) {
      std::fill(m_.begin(), m_.end(), -std::numeric_limits<float>::infinity());
      std::fill(l_.begin(), l_.end(), 0.0f);
      std::fill(acc_.begin(), acc_.end(), 0.0f);
      for (int64_t j = 0; j < kLength; j += kBlockKv) step(q + i * kDim, k + j * kDim, v + j * kDim);
      for (int64_t r = 0; r < kBlockQ; ++r) {
        const float* from = acc_.data() + r * kDim;
        for (int64_t c = 0; c < kDim; ++c) o[(i + r) * kDim + c] = from[c] / l_[static_cast<size_t>(r)];
      }
    }
  }

 private:
  void step(const float* q, const float* k, const float* v) {
    gemm({DType::f32, kBlockQ, kBlockKv, kDim, operand(q, kDim, 1), operand(k, 1, kDim),
          reinterpret_cast<std::byte*>(s_.data()), false, &pool_});
    for (int64_t r = 0; r < kBlockQ; ++r) {
      float* row = s_.data() + r * kBlockKv;
      for (int64_t c = 0; c < kBlockKv; ++c) row[c] *= scale_;
      const auto at = static_cast<size_t>(r);
      float largest = 0, sum = 0;
      max_(row, &largest, {1, kBlockKv, 1});
      const float m_new = std::max(m_[at], largest);
      for (int64_t c = 0; c < kBlockKv; ++c) row[c] -= m_new;
      const void* in[] = {row};
      exp_({in, 0, row, kBlockKv, &exp_call_});
      add_(row, &sum, {1, kBlockKv, 1});
      const float rescale = std::exp(m_[at] - m_new);
      m_[at] = m_new;
      l_[at] = l_[at] * rescale + sum;
      float* out = acc_.data() + r * kDim;
      for (int64_t c = 0; c < kDim; ++c) out[c] *= rescale;
    }
    gemm({DType::f32, kBlockQ, kDim, kBlockKv, operand(s_.data(), kBlockKv, 1), operand(v, kDim, 1),
          reinterpret_cast<std::byte*>(acc_.data()), true, &pool_});
  }

  TilePool& pool_;
  std::vector<float> s_, acc_, m_, l_;
  const float scale_ = 1 / std::sqrt(static_cast<float>(kDim));
  const OpCall exp_call_{.op = OpId::exp};
  const StripFn exp_ = strip_fn(OpId::exp, DType::f32, DType::f32);
  const ReduceFn max_ = float_reduce(OpId::reduce_max, DType::f32);
  const ReduceFn add_ = float_reduce(OpId::reduce_add, DType::f32);
};

void by_hand(benchmark::State& state) {
  const int64_t heads = state.range(0);
  const Arrays in = operands(simulated_case(heads));
  HostArray out(DType::f32, in[0].shape());
  TilePool pool;
  for (auto _ : state) {
    ByHand loop(pool);
    for (int64_t h = 0; h < heads; ++h) {
      const int64_t at = h * kLength * kDim;
      loop.head(as_floats(in[0]) + at, as_floats(in[1]) + at, as_floats(in[2]) + at, as_floats(out) + at);
    }
    benchmark::DoNotOptimize(out.data());
  }
  flops(state, heads);
}

BENCHMARK(by_hand)->Arg(1)->Arg(4)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(simulated, checks_on, true, 1, "f32")->Arg(1)->Arg(4)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(simulated, checks_off, false, 1, "f32")->Arg(1)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(simulated, checks_on_two_threads, true, 2, "f32")
    ->Arg(1)
    ->Arg(4)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(simulated, bf16_checks_on, true, 1, "bf16")->Arg(1)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace tilecheck
