// `tilecheck fit` after start-up on grids of 100,000 to a billion steps: the whole answer for one target, and HBM
// traffic alone. Maps of one axis an index, of a choice between axes (causal), of one index that takes all axes; and
// what costs most: maps that judge coordinates by themselves, as many of them as are still counted, and more.
#include "harness/fit.h"

#include <benchmark/benchmark.h>

#include <map>
#include <string>

#include "kernels/list.h"
#include "sim/spec/planned_traffic.h"
#include "sim/target/target.h"

namespace tilecheck {
namespace {

struct Case {
  const char* name;
  const char* kernel;
  std::map<std::string, std::string> set;
};

const Case kCases[] = {
    {"matmul 48x48x48",
     "matmul",
     {{"m", "6144"}, {"n", "6144"}, {"k", "6144"}, {"block_m", "128"}, {"block_n", "128"}, {"block_k", "128"}}},
    {"causal flash attention 1x24x64x64",
     "flash_attention",
     {{"heads", "24"}, {"len", "8192"}, {"block_q", "128"}, {"block_kv", "128"}, {"causal", "1"}}},
    {"causal flash attention 1x24x1024x1024",
     "flash_attention",
     {{"heads", "24"}, {"len", "131072"}, {"block_q", "128"}, {"block_kv", "128"}, {"causal", "1"}}},
    {"transpose 320x320",
     "transpose",
     {{"rows", "40960"}, {"columns", "40960"}, {"block_rows", "128"}, {"block_columns", "128"}}},
};

void fit_one(benchmark::State& state, const Case& c) {
  const Subject subject = subject_of(kernel_named(c.kernel), c.set);
  const Target& target = target_named("v5e");
  subject.facts();
  for (auto _ : state) {
    const Outcome o = fit_subject(subject, {.target = &target});
    benchmark::DoNotOptimize(o.fit->need_bytes);
    if (!o.traffic_unknown.empty()) state.SkipWithError(o.traffic_unknown.c_str());
  }
}

void traffic_of(benchmark::State& state, const KernelSpec& spec) {
  for (auto _ : state) {
    const PlannedTraffic traffic = planned_traffic(spec, nullptr, kMaxFitEvaluations);
    if (!traffic.complete()) state.SetLabel("not counted");
    benchmark::DoNotOptimize(traffic.windows.front().moved_bytes);
  }
}

KernelSpec with_map(const Dims& grid, const IndexMap& map) {
  KernelSpec spec;
  spec.name = "one window";
  spec.grid = grid;
  Window w;
  w.name = "x";
  w.array = {8 * element_count(grid), 128};
  w.block = {8, 128};
  w.index = map;
  spec.in = {w};
  spec.out = {w};
  return spec;
}

struct Map {
  const char* name;
  Dims grid;
  IndexMap map;
};
const Map kMaps[] = {
    {"one index of all axes, 50x50x40",
     {50, 50, 40},
     [](Index i, Index j, Index k) {
       return Indices{i * 2000 + j * 40 + k, 0};
     }},
    {"one index of all axes, 1000x1000x1000",
     {1000, 1000, 1000},
     [](Index i, Index j, Index k) {
       return Indices{i * 1000000 + j * 1000 + k, 0};
     }},
    {"i / 64, 1000000",
     {1000000},
     [](Index i) {
       return Indices{i / 64, 0};
     }},
    {"a map that judges by itself, 150x150",
     {150, 150},
     [](Index i, Index j) {
       return Indices{i.value() < j.value() ? i : j, 0};
     }},
    {"a map that judges by itself, 1000x1000",
     {1000, 1000},
     [](Index i, Index j) {
       return Indices{i.value() < j.value() ? i : j, 0};
     }},
};

const int kRegistered = [] {
  for (Kernel& kernel : built_in_kernels()) add_kernel(std::move(kernel));
  for (const Case& c : kCases) {
    const std::string name = c.name;
    benchmark::RegisterBenchmark(("fit " + name).c_str(), [c](benchmark::State& state) {
      fit_one(state, c);
    })->Unit(benchmark::kMillisecond);
    benchmark::RegisterBenchmark(("traffic of " + name).c_str(), [c](benchmark::State& state) {
      traffic_of(state, subject_of(kernel_named(c.kernel), c.set).spec);
    })->Unit(benchmark::kMillisecond);
  }
  for (const Map& m : kMaps)
    benchmark::RegisterBenchmark(("traffic of " + std::string(m.name)).c_str(), [&m](benchmark::State& state) {
      traffic_of(state, with_map(m.grid, m.map));
    })->Unit(benchmark::kMillisecond);
  return 0;
}();

}  // namespace
}  // namespace tilecheck
