// Comparing a result with what it should be: elements a second. range(0): elements.
#include "harness/compare.h"

#include <benchmark/benchmark.h>

namespace tilecheck {
namespace {

// Every element is off by a little, as results of another order of sums are.
void compare_arrays(benchmark::State& state, DType dtype) {
  HostArray result(dtype, {state.range(0)}), expected(dtype, {state.range(0)});
  for (int64_t i = 0; i < result.size(); ++i) {
    const double value = 1 + static_cast<double>(i % 1000) / 512;
    expected.set(i, value);
    result.set(i, value * (1 + static_cast<double>(i % 7) * 0x1p-22));
  }
  for (auto _ : state) benchmark::DoNotOptimize(compare(result, expected, {.atol = 2e-3, .rtol = 2e-3}));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK_CAPTURE(compare_arrays, f32, DType::f32)->Arg(1 << 20);
BENCHMARK_CAPTURE(compare_arrays, bf16, DType::bf16)->Arg(1 << 20);
BENCHMARK_CAPTURE(compare_arrays, f16, DType::f16)->Arg(1 << 20);

}  // namespace
}  // namespace tilecheck
