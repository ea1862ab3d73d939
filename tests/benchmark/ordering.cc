// What ordering costs a kernel: copies checked, not checked, and by memcpy; window copies beside own ones; many
// accesses beside copies in flight; grids of many steps. docs/performance.md keeps the ratios.
#include <benchmark/benchmark.h>
#include <malloc.h>

#include <cstring>
#include <vector>

#include "sim/machine/launch.h"

namespace tilecheck {
namespace {

constexpr int64_t kLanes = 1024;

Window whole(const char* name, const Shape& array) {
  Window w;
  w.name = name;
  w.array = array;
  w.space = Space::hbm;
  return w;
}

Window blocked(const char* name, const Shape& array, int64_t rows) {
  Window w;
  w.name = name;
  w.array = array;
  w.block = {rows, kLanes};
  w.index = [](Index i) { return Indices{i, 0}; };
  return w;
}

HostArray zeros(const Shape& shape) { return HostArray(DType::f32, shape); }

LaunchResult run(benchmark::State& state, const KernelSpec& spec, const Body& body, const DeviceArgs& args,
                 bool checks) {
  LaunchOptions options;
  options.sync.check_races = checks;
  LaunchResult r = launch(spec, body, {&args, 1}, options);
  if (!r.report.findings.empty() || !r.report.incomplete.empty()) state.SkipWithError("findings");
  return r;
}

// ---- Copy-bound: 64 blocks from HBM through two slots back to HBM, nothing computed. range(0): rows of a block.

constexpr int64_t kBlocks = 64;

KernelSpec copy_spec(int64_t rows) {
  KernelSpec s;
  s.name = "copy";
  s.in = {whole("x", {kBlocks * rows, kLanes})};
  s.out = {whole("o", {kBlocks * rows, kLanes})};
  s.scratch = {{"slots", DType::f32, {2, rows, kLanes}, Space::vmem},
               {"loaded", DType::dma_semaphore, {2}, Space::semaphore},
               {"stored", DType::dma_semaphore, {2}, Space::semaphore}};
  return s;
}

Body copy_body(int64_t rows) {
  return [rows](Core& core, std::span<const Ref> refs) {
    const Ref &x = refs[0], &o = refs[1], &loaded = refs[3], &stored = refs[4];
    const auto slot = [&](int64_t i) { return refs[2]({i % 2}); };
    const auto block = [rows](const Ref& of, int64_t i) { return of({ds(i * rows, rows)}); };
    core.start_copy(block(x, 0), slot(0), loaded({0}));
    for (int64_t i = 0; i < kBlocks; ++i) {
      if (i > 0) core.wait_bytes_of(stored({(i + 1) % 2}), slot(i + 1));
      if (i + 1 < kBlocks) core.start_copy(block(x, i + 1), slot(i + 1), loaded({(i + 1) % 2}));
      core.wait_bytes_of(loaded({i % 2}), slot(i));
      core.start_copy(slot(i), block(o, i), stored({i % 2}));
    }
    core.wait_bytes_of(stored({(kBlocks + 1) % 2}), slot(1));
  };
}

void copies(benchmark::State& state, bool checks) {
  const int64_t rows = state.range(0);
  const KernelSpec s = copy_spec(rows);
  const Body body = copy_body(rows);
  const DeviceArgs args{{}, {zeros({kBlocks * rows, kLanes})}};
  for (auto _ : state) run(state, s, body, args, checks);
  state.SetBytesProcessed(state.iterations() * 2 * kBlocks * rows * kLanes * 4);
}
BENCHMARK_CAPTURE(copies, checked, true)->Arg(1)->Arg(8)->Arg(64)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(copies, unchecked, false)->Arg(1)->Arg(8)->Arg(64)->Unit(benchmark::kMicrosecond);

void copies_by_memcpy(benchmark::State& state) {
  const int64_t rows = state.range(0);
  const auto bytes = static_cast<size_t>(rows * kLanes * 4);
  const HostArray x = zeros({kBlocks * rows, kLanes});
  std::vector<std::byte> slots(2 * bytes);
  for (auto _ : state) {
    std::vector<std::byte> o(kBlocks * bytes);
    for (size_t i = 0; i < kBlocks; ++i) {
      std::memcpy(slots.data() + i % 2 * bytes, x.data() + i * bytes, bytes);
      std::memcpy(o.data() + i * bytes, slots.data() + i % 2 * bytes, bytes);
    }
    benchmark::DoNotOptimize(o.data());
  }
  state.SetBytesProcessed(state.iterations() * 2 * kBlocks * rows * kLanes * 4);
}
BENCHMARK(copies_by_memcpy)->Arg(1)->Arg(8)->Arg(64)->Unit(benchmark::kMicrosecond);

// ---- A grid of blocks of 8 rows. `own`: the body also keeps a row by a copy of its own, so window copies are ordered.

void windows(benchmark::State& state, bool own) {
  const int64_t steps = 256, rows = 8;
  KernelSpec s;
  s.name = "windows";
  s.grid = {steps};
  s.in = {blocked("x", {steps * rows, kLanes}, rows)};
  s.out = {blocked("o", {steps * rows, kLanes}, rows), whole("kept", {1, kLanes})};
  s.scratch = {{"sem", DType::dma_semaphore, {}, Space::semaphore}};
  const Body body = [own](Core& core, std::span<const Ref> refs) {
    core.store(refs[1], core.load(refs[0]));
    if (own || core.program_id(0) == core.num_programs(0) - 1)
      core.wait(core.start_copy(refs[0]({ds(0, 1)}), refs[2], refs[3]));
  };
  const DeviceArgs args{{}, {zeros({steps * rows, kLanes})}};
  for (auto _ : state) run(state, s, body, args, true);
  state.SetItemsProcessed(state.iterations() * steps);
}
BENCHMARK_CAPTURE(windows, without_own_copies, false)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(windows, beside_own_copies, true)->Unit(benchmark::kMicrosecond);

// ---- range(0) loads of a buffer that a copy in flight writes elsewhere: time per load does not rise.

void accesses(benchmark::State& state) {
  const int64_t n = state.range(0);
  KernelSpec s;
  s.name = "accesses";
  s.in = {whole("x", {64, 128})};
  s.out = {whole("o", {1, 128})};
  s.scratch = {{"slots", DType::f32, {64, 128}, Space::vmem}, {"sem", DType::dma_semaphore, {}, Space::semaphore}};
  const Body body = [n](Core& core, std::span<const Ref> refs) {
    core.store(refs[2], 0.0);
    const CopyHandle copy = core.start_copy(refs[0]({ds(0, 8)}), refs[2]({ds(0, 8)}), refs[3]);
    for (int64_t i = 0; i < n; ++i) core.load(refs[2]({ds(8 + i % 56, 1)}));
    core.wait(copy);
    core.sync_copy(refs[2]({ds(8, 1)}), refs[1]);
  };
  const DeviceArgs args{{}, {zeros({64, 128})}};
  for (auto _ : state) run(state, s, body, args, true);
  state.SetItemsProcessed(state.iterations() * n);
}
BENCHMARK(accesses)->Arg(1000)->Arg(10000)->Arg(100000)->Unit(benchmark::kMicrosecond);

// ---- range(0) copies in flight on one semaphore, awaited one by one: time per copy rises with a logarithm.

void in_flight(benchmark::State& state) {
  const int64_t n = state.range(0);
  KernelSpec s;
  s.name = "in_flight";
  s.in = {whole("x", {n, 128})};
  s.out = {whole("o", {n, 128})};
  s.scratch = {{"sem", DType::dma_semaphore, {}, Space::semaphore}};
  const Body body = [n](Core& core, std::span<const Ref> refs) {
    const auto row = [](const Ref& of, int64_t i) { return of({ds(i, 1)}); };
    for (int64_t i = 0; i < n; ++i) core.start_copy(row(refs[0], i), row(refs[1], i), refs[2]);
    for (int64_t i = 0; i < n; ++i) core.wait_bytes_of(refs[2], row(refs[1], i));
  };
  const DeviceArgs args{{}, {zeros({n, 128})}};
  for (auto _ : state) run(state, s, body, args, true);
  state.SetItemsProcessed(state.iterations() * n);
}
BENCHMARK(in_flight)->Arg(1000)->Arg(4000)->Arg(16000)->Arg(64000)->Unit(benchmark::kMillisecond);

// ---- range(0) steps of a grid whose body copies: time per step and heap do not rise.

void steps(benchmark::State& state) {
  const int64_t n = state.range(0);
  KernelSpec s;
  s.name = "steps";
  s.grid = {n};
  Window x = blocked("x", {8, kLanes}, 8);
  x.index = [](Index) { return Indices{0, 0}; };
  s.in = {x};
  s.out = {whole("kept", {1, kLanes})};
  s.scratch = {{"sem", DType::dma_semaphore, {}, Space::semaphore}};
  size_t begin = 0, end = 0;
  const Body body = [&](Core& core, std::span<const Ref> refs) {
    core.wait(core.start_copy(refs[0]({ds(0, 1)}), refs[1], refs[2]));
    if (core.program_id(0) == n / 10) begin = mallinfo2().uordblks;
    if (core.program_id(0) == n - 1) end = mallinfo2().uordblks;
  };
  const DeviceArgs args{{}, {zeros({8, kLanes})}};
  for (auto _ : state) run(state, s, body, args, true);
  state.SetItemsProcessed(state.iterations() * n);
  state.counters["grown_bytes"] = end > begin ? static_cast<double>(end - begin) : 0;
}
BENCHMARK(steps)->Arg(10000)->Arg(100000)->Arg(1000000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tilecheck
