#include "sim/machine/parallel.h"

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>

#include "sim/machine/counters.h"
#include "sim/machine/fp_control.h"
#include "sim/machine/pipeline.h"
#include "sim/machine/smem_prefetch.h"
#include "sim/spec/place_block.h"
#include "sim/spec/planned_traffic.h"
#include "sim/spec/traffic.h"
#include "sim/types/error.h"

namespace tilecheck {
namespace {

// Parts per thread: enough to even out steps of different cost (causal masks), few enough to keep memories few.
constexpr int64_t kPartsPerThread = 4;
// Of index maps, to count the windows' traffic without a walk over all steps.
constexpr int64_t kMaxEvaluations = 100'000;

bool may_run_in_parts(const KernelSpec& spec, const LaunchOptions& options) {
  if (options.threads < 2 || options.devices != 1 || options.cores != 1 || options.record_steps) return false;
  if (!options.check_definedness) return false;  // stale memory of another part could pass unseen
  if (!spec.aliases.empty() || spec.has_communication) return false;
  for (const Window& w : spec.in)
    if (!w.pipelined()) return false;
  for (const Window& w : spec.out)
    if (!w.pipelined() || w.revisit == Revisit::any || w.block.empty()) return false;
  for (const Scratch& s : spec.scratch)
    if (is_semaphore(s.dtype)) return false;
  return true;
}

// The grid cut along parallel axes that every output block depends on, outermost first, until there are enough parts.
std::vector<GridPart> cut(const KernelSpec& spec, int64_t wanted) {
  std::vector<GridPart> parts{GridPart::whole(spec.grid)};
  for (int axis = 0; axis < spec.grid.rank() && static_cast<int64_t>(parts.size()) < wanted; ++axis) {
    const bool parallel = static_cast<size_t>(axis) < spec.semantics.size() &&
                          spec.semantics[static_cast<size_t>(axis)] == Semantics::parallel;
    if (!parallel) break;  // an inner cut under an outer serial axis would interleave
    const bool separates = std::all_of(spec.out.begin(), spec.out.end(), [&](const Window& w) {
      return w.index.dependence(spec.grid.rank()).grid_axes >> axis & 1u;
    });
    if (!separates || spec.grid[axis] < 2) continue;
    const int64_t pieces = std::min(
        spec.grid[axis], (wanted + static_cast<int64_t>(parts.size()) - 1) / static_cast<int64_t>(parts.size()));
    std::vector<GridPart> finer;
    for (const GridPart& part : parts)
      for (int64_t i = 0; i < pieces; ++i) {
        GridPart p = part;
        p.lo[axis] = spec.grid[axis] * i / pieces;
        p.extents[axis] = spec.grid[axis] * (i + 1) / pieces - p.lo[axis];
        finer.push_back(p);
      }
    parts = std::move(finer);
  }
  return parts;
}

// Whether the linear indices of an output keep each two of the parts apart: those of some dimension, at least, do not
// meet. False: who walks them may see that they do.
bool bounds_disjoint(const KernelSpec& spec, const Window& window, const std::vector<GridPart>& parts) {
  const auto written_out = window.index.expression(spec.grid.rank());
  const Dims counts = block_counts(window);
  if (!written_out || written_out->results.size() != static_cast<size_t>(counts.rank())) return false;
  std::vector<BoundIndexExpr> bounds;
  for (const GridPart& part : parts) {
    auto bound = BoundIndexExpr::over(*written_out, part.lo, part.extents);
    if (!bound) return false;
    for (int d = 0; d < counts.rank(); ++d) {
      const auto [lo, hi] = bound->range(static_cast<size_t>(d));
      if (lo < 0 || hi >= counts[d]) return false;
    }
    bounds.push_back(std::move(*bound));
  }
  const auto apart = [&](const BoundIndexExpr& a, const BoundIndexExpr& b) {
    for (size_t d = 0; d < a.result_count(); ++d)
      if (a.range(d).hi < b.range(d).lo || b.range(d).hi < a.range(d).lo) return true;
    return false;
  };
  for (size_t p = 0; p < bounds.size(); ++p)
    for (size_t q = 0; q < p; ++q)
      if (!apart(bounds[p], bounds[q])) return false;
  return true;
}

// No block of an output belongs to two parts. Each part is walked along the axes that move the block.
bool blocks_disjoint(const KernelSpec& spec, const Window& window, const std::vector<GridPart>& parts,
                     const PrefetchReader* prefetch, const GoOn& go_on) {
  KernelSpec output = spec;
  output.in.clear();
  output.out = {window};
  const Dims counts = block_counts(window);
  if (element_count(counts) > kMaxTrackedBlocks) return false;
  std::vector<uint16_t> owners(static_cast<size_t>(element_count(counts)));  // 1 + the part that enters it; 0: none
  const uint32_t moving = window.index.moving_axes(spec.grid.rank());
  for (size_t p = 0; p < parts.size(); ++p) {
    const auto number_of_part = static_cast<uint16_t>(p + 1);
    GridPart part = parts[p];
    for (int axis = 0; axis < part.extents.rank(); ++axis)
      if ((moving >> axis & 1u) == 0) part.extents[axis] = std::min<int64_t>(1, part.extents[axis]);
    PlanCursor cursor(output, part, prefetch);
    while (cursor.advance()) {
      if (cursor.number() % kStepsBetweenQuestions == 0 && !go_on()) return false;
      const Visit& visit = cursor.visits()[0];
      if (!visit.enter || !visit.first) continue;
      const int64_t number = block_number(visit.block, counts);
      if (number < 0) return false;  // the serial run names it
      uint16_t& owner = owners[static_cast<size_t>(number)];
      if (owner != 0 && owner != number_of_part) return false;
      owner = number_of_part;
    }
  }
  return true;
}

// No output block belongs to two parts.
bool outputs_disjoint(const KernelSpec& spec, const std::vector<GridPart>& parts, const PrefetchReader* prefetch,
                      const GoOn& go_on) {
  for (const Window& w : spec.out)
    for (const BlockDim& d : w.block)
      if (d.kind == BlockDim::Kind::element) return false;  // blocks may overlap partly
  return std::ranges::all_of(spec.out, [&](const Window& w) {
    return bounds_disjoint(spec, w, parts) || blocks_disjoint(spec, w, parts, prefetch, go_on);
  });
}

// Pools of parts that have ended, for parts to come: what they hold is in the caches, and nothing more is asked of the
// system. No more pools than threads come into being.
class IdlePools {
 public:
  std::shared_ptr<TilePool> take() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return std::make_shared<TilePool>();
    std::shared_ptr<TilePool> pool = std::move(idle_.back());
    idle_.pop_back();
    return pool;
  }
  void give(std::shared_ptr<TilePool> pool) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(pool));
  }

 private:
  std::mutex mutex_;
  std::vector<std::shared_ptr<TilePool>> idle_;
};

// Where parts run, one for each number of threads and as long as the process: threads that have worked in it are found
// awake by a launch that follows soon.
tbb::task_arena& arena_of(int threads) {
  static std::mutex mutex;
  static auto* const arenas = new std::map<int, tbb::task_arena>;  // not destroyed: TBB may have ended before
  const std::lock_guard lock(mutex);
  return arenas->try_emplace(threads, threads).first->second;
}

}  // namespace

std::optional<ParallelRun> run_parallel(const KernelSpec& spec, const Body& body, DeviceMemory& memory,
                                        const LaunchOptions& options) {
  if (!may_run_in_parts(spec, options)) return std::nullopt;
  const std::vector<GridPart> parts = cut(spec, options.threads * kPartsPerThread);
  if (parts.size() < 2 || parts.size() >= UINT16_MAX) return std::nullopt;

  // What the parts share must not change shape under them. Fresh garbage is not laid out: a run that leaves an element
  // undefined makes a finding, which discards the parts.
  for (auto& out : memory.out) {
    out->overwritten();
    out->shadow.bytes();
  }
  std::vector<Counters> counters(parts.size());
  std::atomic<bool> failed{false};
  std::atomic<int64_t> done{0};
  const int64_t total = spec.step_count();
  bool checked = false;
  std::vector<WindowCounters> traffic;
  IdlePools pools;
  const auto run_in = [&](size_t p, const std::shared_ptr<TilePool>& pool) {
    const FpControl fp;
    std::vector<Finding> findings;
    FindingSink sink(findings);
    ScopeSites sites;
    MachineState state;
    state.spec = &spec;
    state.options = &options;
    state.findings = &sink;
    state.sites = &sites;
    state.memory = &memory;
    state.pool = pool;
    state.ops.pool = pool.get();
    state.ops.numerics = options.numerics;
    state.ops.observer = &state.work;
    try {
      allocate(state, false);
      run_part(state, body, parts[p], false, [&] {
        ++done;
        return !failed.load(std::memory_order_relaxed) && state.go_on();
      });
      if (!findings.empty()) failed = true;
    } catch (const StopRun&) {
      failed = true;
    } catch (const NeedsSerialRun&) {
      failed = true;
    } catch (const Incomplete&) {
      failed = true;
    }
    counters[p] = state.counters;
  };
  const auto run = [&](size_t p) {
    if (failed) return;
    std::shared_ptr<TilePool> pool = pools.take();
    run_in(p, pool);
    pools.give(std::move(pool));
  };
  // The plan of the whole grid (traffic, disjoint outputs) is looked at beside the parts, no longer than they run.
  const auto plan = [&] {
    std::vector<Finding> findings;
    FindingSink sink(findings);
    MachineState state;
    state.spec = &spec;
    state.options = &options;
    state.findings = &sink;
    state.memory = &memory;
    state.ops.numerics = options.numerics;
    for (size_t i = 0; i < spec.prefetch.size(); ++i) state.prefetch.push_back(smem_copy(state, i));
    const SmemPrefetch prefetch(state);
    const GoOn go_on = [&] { return !failed.load(std::memory_order_relaxed) && state.go_on(); };
    try {
      PlannedTraffic planned = planned_traffic(spec, &prefetch, kMaxEvaluations);
      std::optional<std::vector<WindowCounters>> counted = std::move(planned.windows);
      if (!planned.complete()) counted = count_traffic(spec, GridPart::whole(spec.grid), &prefetch, go_on);
      checked = counted && findings.empty() && outputs_disjoint(spec, parts, &prefetch, go_on);
      if (counted) traffic = std::move(*counted);
    } catch (const StopRun&) {
      checked = false;
    }
    if (!checked) failed = true;
  };
  // TBB orders what its threads do, but in code that the thread sanitizer does not see: said once more for it.
  std::atomic<size_t> ended{0};
  ended.store(0, std::memory_order_release);
  arena_of(options.threads).execute([&] {
    tbb::parallel_for(
        size_t{0}, parts.size() + 1,
        [&](size_t i) {
          ended.load(std::memory_order_acquire);
          if (i == 0) {
            plan();
          } else {
            run(i - 1);
            if (options.progress && i == 1) options.progress(done, total);
          }
          ended.fetch_add(1, std::memory_order_acq_rel);
        },
        tbb::simple_partitioner());
  });
  ended.load(std::memory_order_acquire);
  if (failed || !checked) return std::nullopt;
  ParallelRun result;
  for (const Counters& c : counters) add_counters(result.counters, c);
  result.counters.windows = std::move(traffic);
  return result;
}

}  // namespace tilecheck
