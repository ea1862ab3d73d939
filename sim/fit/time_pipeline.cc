#include "sim/fit/time_pipeline.h"

#include <algorithm>
#include <optional>

#include "sim/fit/vmem_blocks.h"

namespace tilecheck::fit {
namespace {

constexpr int64_t kExactSteps = 2048;
constexpr int64_t kSampledRuns = 24, kSampledSteps = 64, kWarmUp = 4;

int64_t product(const Dims& dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  return n;
}

}  // namespace

CoreGrid core_grid(const KernelSpec& spec, const Target& target) {
  CoreGrid grid{spec.grid, product(spec.grid)};
  const bool is_megacore = target[FigureId::cores] == 2 && (target.generation() == 4 || target.generation() == 5);
  const auto semantics = [&](int axis) {
    return static_cast<size_t>(axis) < spec.semantics.size() ? spec.semantics[static_cast<size_t>(axis)]
                                                             : Semantics::arbitrary;
  };
  for (int axis = 0; axis < grid.extents.rank(); ++axis) {
    if (semantics(axis) != Semantics::core_parallel) continue;
    grid.extents[axis] = (grid.extents[axis] + target[FigureId::cores] - 1) / target[FigureId::cores];
    grid.step_count = product(grid.extents);
    return grid;
  }
  if (!is_megacore) return grid;
  bool any = false;
  for (int axis = 0; axis < grid.extents.rank(); ++axis) {
    if (semantics(axis) != Semantics::parallel) continue;
    any = true;
    if (grid.extents[axis] % 2 != 0) continue;
    grid.extents[axis] /= 2;
    grid.step_count = product(grid.extents);
    return grid;
  }
  if (any) grid.step_count = (grid.step_count + 1) / 2;
  return grid;
}

Pipeline::Pipeline(const KernelSpec& spec, const Target& target, const TimeTable& table, BodyTimer& body,
                   std::vector<int> slots, const PrefetchReader* prefetch)
    : spec_(spec), target_(target), table_(table), body_(body), slots_(std::move(slots)), prefetch_(prefetch) {
  const auto add = [&](const Window& window, bool is_input) {
    WindowState w;
    w.window = &window;
    w.is_input = is_input;
    w.moves = slots_[windows_.size()] > 0;
    const Shape block = window.block_sizes();
    w.bytes = w.moves ? padded_bytes(window.dtype, block, target_) : 0;
    if (window.index) {
      const Dependence d = window.index.dependence(spec.grid.rank());
      w.axes = d.grid_axes;
      w.by_axes = d.prefetch && prefetch_ == nullptr;
    }
    for (int i = 0; i < block.rank(); ++i) w.has_edge |= block[i] != 0 && window.array[i] % block[i] != 0;
    windows_.push_back(w);
  };
  for (const Window& window : spec.in) add(window, true);
  for (const Window& window : spec.out) add(window, false);
}

Dims Pipeline::step_at(const CoreGrid& grid, int64_t k) const {
  Dims step = Dims::filled(grid.extents.rank(), 0);
  for (int axis = step.rank() - 1; axis >= 0; --axis) {
    step[axis] = k % grid.extents[axis];
    k /= grid.extents[axis];
  }
  return step;
}

Dims Pipeline::block_at(const WindowState& w, const Dims& step) const {
  Dims block;
  if (!w.window->index) return block;
  if (w.by_axes) {
    for (int axis = 0; axis < step.rank(); ++axis)
      if ((w.axes >> axis & 1u) != 0) block.push_back(step[axis]);
    return block;
  }
  std::array<Index, kMaxRank> grid;
  for (int axis = 0; axis < step.rank(); ++axis) grid[static_cast<size_t>(axis)] = Index::grid(axis, step[axis]);
  const Indices indices =
      w.window->index(std::span(grid).first(static_cast<size_t>(step.rank())), PrefetchRefs(prefetch_));
  for (int i = 0; i < indices.rank; ++i) block.push_back(indices.values[static_cast<size_t>(i)].value());
  return block;
}

// Edge blocks move only the rows and columns that exist.
int64_t Pipeline::bytes_at(const WindowState& w, const Dims& block) const {
  if (!w.has_edge || w.by_axes || block.rank() != w.window->array.rank()) return w.bytes;
  Shape sizes = w.window->block_sizes();
  for (int i = 0; i < sizes.rank(); ++i) {
    const bool in_elements =
        !w.window->block.empty() && w.window->block[static_cast<size_t>(i)].kind == BlockDim::Kind::element;
    const int64_t origin = in_elements ? block[i] : block[i] * sizes[i];
    sizes[i] = std::clamp<int64_t>(w.window->array[i] - origin, 0, sizes[i]);
    if (sizes[i] == 0) return 0;
  }
  return padded_bytes(w.window->dtype, sizes, target_);
}

PipelineTotals Pipeline::run_range(const CoreGrid& grid, int64_t begin, int64_t end, int64_t warm_up, CopyTimer copies,
                                   int timeline_steps) {
  const size_t n = windows_.size();
  PipelineTotals totals;
  totals.copies.resize(n);
  totals.bytes.resize(n);
  totals.body_min = -1;
  struct InFlight {
    std::optional<double> fetch;       // arrival of the block that the next body waits for
    std::optional<double> write_back;  // started after the last body
  };
  std::vector<InFlight> flight(n);
  std::vector<Dims> previous(n), current(n), next(n);  // blocks of steps s - 1, s and s + 1
  // Issuing and waiting included.
  const double overhead = table_.step + table_.window * static_cast<double>(n);
  double clock = 0, counted_from = 0;
  std::vector<double> fetch_issued(1, 0.0);
  const auto count = [&](size_t w, const Dims& block, bool counts) {
    const int64_t bytes = bytes_at(windows_[w], block);
    if (counts) {
      ++totals.copies[w];
      totals.bytes[w] += bytes;
    }
    return bytes;
  };
  const auto wait = [&](std::optional<double>& arrival, bool counts) {
    if (arrival && *arrival > clock) {
      if (counts) totals.waited += *arrival - clock;
      clock = *arrival;
    }
    arrival.reset();
  };
  for (size_t w = 0; w < n; ++w)
    if (windows_[w].moves) next[w] = block_at(windows_[w], step_at(grid, begin));
  // Iteration t prefetches step t, runs the body of step t - 1 and waits for the copy-out of step t - 2.
  std::vector<std::optional<double>> prefetched(n);
  for (int64_t t = begin; t < end + 2; ++t) {
    const int64_t s = t - 1;
    const bool has_body = s >= begin && s < end;
    const bool counts = s >= begin + warm_up || warm_up == 0;
    const Dims step = has_body ? step_at(grid, s) : Dims{};
    for (size_t w = 0; w < n; ++w) {
      if (!windows_[w].moves) continue;
      previous[w] = current[w];
      current[w] = next[w];
      if (t < end) next[w] = t == begin ? current[w] : block_at(windows_[w], step_at(grid, t));
    }
    if (t == begin)  // nothing has come before: `current` is not a step yet
      for (size_t w = 0; w < n; ++w) previous[w] = current[w];
    if (has_body)
      for (size_t w = 0; w < n; ++w) {
        const WindowState& state = windows_[w];
        const bool loads = state.is_input || state.window->revisit == Revisit::any;
        if (!state.moves || !loads || slots_[w] != 1) continue;
        if (s != begin && current[w] == previous[w]) continue;
        flight[w].fetch = copies.start(CopyDirection::in, count(w, current[w], counts), clock);
      }
    if (t < end)
      for (size_t w = 0; w < n; ++w) {
        if (!windows_[w].moves || !windows_[w].is_input || slots_[w] == 1) continue;
        if (t != begin && next[w] == current[w]) continue;
        prefetched[w] = copies.start(CopyDirection::in, count(w, next[w], t >= begin + warm_up || warm_up == 0), clock);
      }
    const double issued = clock;
    if (has_body) {
      for (size_t w = 0; w < n; ++w) wait(flight[w].fetch, counts);
      const BodyTimer::Result body = body_.run(step.span(), spec_.grid.span(), clock, copies);
      const double body_start = clock;
      clock = body.end + overhead;
      if (counts) {
        const double took = body.compute + overhead;
        totals.compute += took;
        totals.waited += body.waited;
        totals.body_min = totals.body_min < 0 ? took : std::min(totals.body_min, took);
        totals.body_max = std::max(totals.body_max, took);
      }
      if (static_cast<int64_t>(totals.timeline.size()) < timeline_steps)
        totals.timeline.push_back({step, fetch_issued.back(), body_start, clock});
    }
    // The copy-out started after the body before this one; then this body's.
    std::vector<std::optional<double>> started(n);
    if (has_body)
      for (size_t w = 0; w < n; ++w) {
        if (!windows_[w].moves || windows_[w].is_input) continue;
        if (s + 1 < end && next[w] == current[w]) continue;
        started[w] = copies.start(CopyDirection::out, count(w, current[w], counts), clock);
        if (slots_[w] == 1) wait(started[w], counts);
      }
    for (size_t w = 0; w < n; ++w) {
      wait(flight[w].write_back, counts || s >= end);
      flight[w].write_back = started[w];
      flight[w].fetch = prefetched[w];
      prefetched[w].reset();
    }
    fetch_issued.back() = issued;
    if (warm_up > 0 && s + 1 == begin + warm_up) counted_from = clock;
    if (warm_up > 0 && s + 1 == end) break;  // a sampled run: no tail
  }
  totals.cycles = clock - counted_from;
  totals.body_min = std::max(0.0, totals.body_min);
  return totals;
}

PipelineTotals Pipeline::run(const CoreGrid& grid, CopyTimer copies, int timeline_steps) {
  const int64_t steps = grid.step_count;
  body_.reset();
  if (steps <= kExactSteps) return run_range(grid, 0, steps, 0, copies, timeline_steps);
  // Evenly spread runs of steps, so that what changes along the outer axes (a causal mask) is seen in proportion.
  PipelineTotals sum = run_range(grid, 0, kSampledSteps, 0, copies, timeline_steps);
  const PipelineTotals first = sum;
  sum = {};
  sum.timeline = first.timeline;
  sum.copies.resize(windows_.size());
  sum.bytes.resize(windows_.size());
  sum.body_min = first.body_min;
  sum.body_max = first.body_max;
  const int64_t length = kSampledSteps + kWarmUp;
  for (int64_t r = 0; r < kSampledRuns; ++r) {
    const int64_t begin = (steps - length) / (kSampledRuns - 1) * r;
    body_.reset();
    const PipelineTotals part = run_range(grid, begin, begin + length, kWarmUp, copies, 0);
    sum.cycles += part.cycles;
    sum.compute += part.compute;
    sum.waited += part.waited;
    sum.body_min = std::min(sum.body_min, part.body_min);
    sum.body_max = std::max(sum.body_max, part.body_max);
    for (size_t w = 0; w < windows_.size(); ++w) {
      sum.copies[w] += part.copies[w];
      sum.bytes[w] += part.bytes[w];
    }
  }
  const double scale = static_cast<double>(steps) / static_cast<double>(kSampledRuns * kSampledSteps);
  sum.cycles *= scale;
  sum.compute *= scale;
  sum.waited *= scale;
  for (size_t w = 0; w < windows_.size(); ++w) {
    sum.copies[w] = std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(sum.copies[w]) * scale));
    sum.bytes[w] = static_cast<int64_t>(static_cast<double>(sum.bytes[w]) * scale);
    if (!windows_[w].moves) sum.copies[w] = sum.bytes[w] = 0;
  }
  // The first fetch and the last copy-out are hidden by nothing.
  double head = 0, tail = 0;
  for (const WindowState& w : windows_) {
    if (!w.moves) continue;
    double& part = w.is_input ? head : tail;
    part = std::max(part, copies.cycles(w.is_input ? CopyDirection::in : CopyDirection::out, w.bytes));
  }
  sum.cycles += head + tail;
  sum.waited += head + tail;
  return sum;
}

}  // namespace tilecheck::fit
