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
#include "sim/spec/traffic.h"
#include "sim/types/error.h"

namespace tilecheck {
namespace {

// Parts per thread: enough to even out steps of different cost (causal masks), few enough to keep memories few.
constexpr int64_t kPartsPerThread = 4;

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

// No output block belongs to two parts.
bool outputs_disjoint(const KernelSpec& spec, const std::vector<GridPart>& parts, const PrefetchReader* prefetch) {
  KernelSpec outputs = spec;
  outputs.in.clear();
  std::vector<Dims> counts;
  std::vector<std::vector<uint16_t>> owners;  // of each block: 1 + the part that enters it; 0: none so far
  for (const Window& w : spec.out) {
    for (const BlockDim& d : w.block)
      if (d.kind == BlockDim::Kind::element) return false;  // blocks may overlap partly
    counts.push_back(block_counts(w));
    if (element_count(counts.back()) > kMaxTrackedBlocks) return false;
    owners.emplace_back(static_cast<size_t>(element_count(counts.back())));
  }
  for (size_t p = 0; p < parts.size(); ++p) {
    const auto part = static_cast<uint16_t>(p + 1);
    PlanCursor cursor(outputs, parts[p], prefetch);
    while (cursor.advance())
      for (size_t w = 0; w < spec.out.size(); ++w) {
        const Visit& visit = cursor.visits()[w];
        if (!visit.enter || !visit.first) continue;
        const int64_t number = block_number(visit.block, counts[w]);
        if (number < 0) return false;  // the serial run names it
        uint16_t& owner = owners[w][static_cast<size_t>(number)];
        if (owner != 0 && owner != part) return false;
        owner = part;
      }
  }
  return true;
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
  // The plan of the whole grid (traffic, disjoint outputs) is walked beside the parts.
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
    try {
      traffic = count_traffic(spec, GridPart::whole(spec.grid), &prefetch);
      checked = findings.empty() && outputs_disjoint(spec, parts, &prefetch);
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
