#include "sim/spec/planned_traffic.h"

#include <algorithm>

#include "sim/spec/place_block.h"
#include "sim/spec/traffic.h"
#include "sim/spec/traffic_affine.h"
#include "sim/spec/traffic_walk.h"

namespace tilecheck {
namespace {

struct FactorParts {
  std::vector<FactorAxis> axes;
  std::vector<int> dims;
};

// Dimensions whose axes meet, directly or through others, belong to one factor; those of no axis to one too.
std::vector<FactorParts> factors_of(const Dims& grid, const std::vector<uint32_t>& axes_of_dims) {
  std::vector<uint32_t> groups;
  for (uint32_t axes : axes_of_dims) {
    std::erase_if(groups, [&](uint32_t group) {
      const bool meets = group == axes || (group & axes) != 0;
      if (meets) axes |= group;
      return meets;
    });
    groups.push_back(axes);
  }
  std::vector<FactorParts> factors;
  for (uint32_t group : groups) {
    FactorParts& f = factors.emplace_back();
    for (int axis = 0; axis < grid.rank(); ++axis)
      if (group >> axis & 1u) f.axes.push_back({axis, grid[axis]});
    for (size_t d = 0; d < axes_of_dims.size(); ++d)
      if (axes_of_dims[d] == group || (axes_of_dims[d] & group) != 0) f.dims.push_back(static_cast<int>(d));
  }
  return factors;
}

// A block is entered at the first step and at each step at which it differs from the step before. Between two steps one
// axis of the grid counts up by one, and those within it go from their last coordinate to 0. At each such level the
// blocks that may be entered are all combinations of what the factors show, less those that no factor changes.
class WindowTraffic {
 public:
  WindowTraffic(const KernelSpec& spec, const Window& window, const PrefetchReader* prefetch, TrafficBudget& budget)
      : spec_(spec), window_(window), prefetch_(prefetch), budget_(budget) {}

  // False when the budget does not last.
  bool count() {
    if (!fits()) return false;
    std::vector<FactorCounts> factors;
    for (const FactorParts& parts : factors_of(spec_.grid, axes_of_dims())) {
      std::optional<FactorCounts> counts = count_factor(parts);
      if (!counts) return false;
      factors.push_back(std::move(*counts));
    }
    join(factors);
    return true;
  }
  Wide entered() const { return entered_; }
  Wide bytes() const { return bytes_; }
  Wide minimum() const { return minimum_; }

 private:
  // Of each dimension, those axes of more than one point that its index is a function of.
  std::vector<uint32_t> axes_of_dims() {
    std::vector<uint32_t> axes(static_cast<size_t>(window_.array.rank()), 0);
    if (window_.index) {
      const auto written_out = window_.index.expression(spec_.grid.rank());
      if (written_out && written_out->results.size() == axes.size())
        expr_ = BoundIndexExpr::over(*written_out, Dims::filled(spec_.grid.rank(), 0), spec_.grid);
      if (expr_) {
        for (size_t d = 0; d < axes.size(); ++d) axes[d] = expr_->axes(d);
      } else {
        // A map whose ways are too many to see, or of the wrong rank, is taken to depend on everything.
        const int64_t looks = budget_.evaluations / 2;
        const auto seen = window_.index.index_axes(spec_.grid, prefetch_, looks);
        if (!seen) budget_.take(looks);
        if (seen && seen->size() == axes.size())
          axes = *seen;
        else
          std::ranges::fill(axes, window_.index.moving_axes(spec_.grid.rank()));
      }
    }
    uint32_t moving = 0;
    for (int axis = 0; axis < spec_.grid.rank(); ++axis)
      if (spec_.grid[axis] > 1) moving |= 1u << axis;
    for (uint32_t& a : axes) used_ |= a &= moving;
    return axes;
  }

  std::optional<FactorCounts> count_factor(const FactorParts& parts) {
    const FactorBlocks blocks(window_, parts.dims);
    if (expr_) {
      std::vector<BoundIndexExpr::Affine> indices;
      for (int d : parts.dims) {
        const auto affine = expr_->affine(static_cast<size_t>(d));
        if (!affine) break;
        indices.push_back(*affine);
      }
      if (indices.size() == parts.dims.size())
        if (auto counts = count_affine_factor(blocks, parts.axes, indices)) return counts;
    }
    // At the least, rows along the last axis, or each point, which index_axes may have seen once: what cannot be done
    // is not begun.
    double evaluations = 1;
    for (size_t a = 0; a < parts.axes.size(); ++a)
      if (!expr_ || a + 1 < parts.axes.size()) evaluations *= static_cast<double>(parts.axes[a].extent);
    if (evaluations > static_cast<double>(budget_.evaluations)) return std::nullopt;
    if (!expr_ && !budget_.take(static_cast<int64_t>(evaluations))) return std::nullopt;
    return walk_factor(spec_, window_, blocks, parts.axes, expr_ ? &*expr_ : nullptr, prefetch_, budget_);
  }

  void join(const std::vector<FactorCounts>& factors) {
    BlockSum entered = BlockSum::one(), inside = entered, distinct = entered;
    for (const FactorCounts& f : factors) {
      entered = entered * f.first;
      inside = inside * f.first_inside;
      distinct = distinct * f.distinct;
    }
    Wide repeats = 1;  // by axes outside of the level that the map does not use
    for (int level = 0; level < spec_.grid.rank(); ++level) {
      if (spec_.grid[level] == 1) continue;
      const bool is_used = (used_ >> level & 1u) != 0;
      BlockSum all = BlockSum::one(), unchanged = all, all_inside = all, unchanged_inside = all;
      for (const FactorCounts& f : factors) {
        const Transitions& t = f.transitions(level);
        all = all * t.all;
        unchanged = unchanged * t.unchanged;
        all_inside = all_inside * t.all_inside;
        unchanged_inside = unchanged_inside * t.unchanged_inside;
      }
      const Wide times = is_used ? repeats : repeats * (spec_.grid[level] - 1);
      entered.add(all - unchanged, times);
      inside.add(all_inside - unchanged_inside, times);
      if (!is_used) repeats *= spec_.grid[level];
    }
    const int bit_count = bits(window_.dtype);
    const int64_t blocks = element_count(block_counts(window_));
    entered_ = entered.count();
    bytes_ = minimum_ = entered.bytes(bit_count);
    if (blocks > 0 && blocks <= kMaxTrackedBlocks) minimum_ += distinct.bytes(bit_count) - inside.bytes(bit_count);
  }

  // Whether sums over all steps fit Wide.
  bool fits() const {
    double most = 64;
    for (int64_t extent : spec_.grid) most *= static_cast<double>(extent);
    const Shape sizes = window_.block_sizes();
    for (int d = 0; d < sizes.rank(); ++d) most *= static_cast<double>(std::min(sizes[d], window_.array[d]));
    return most < 0x1p120;
  }

  const KernelSpec& spec_;
  const Window& window_;
  const PrefetchReader* prefetch_;
  TrafficBudget& budget_;
  uint32_t used_ = 0;  // axes of more than one step that the map uses
  std::optional<BoundIndexExpr> expr_;
  Wide entered_ = 0, bytes_ = 0, minimum_ = 0;
};

}  // namespace

PlannedTraffic planned_traffic(const KernelSpec& spec, const PrefetchReader* prefetch, int64_t max_evaluations) {
  PlannedTraffic all{.windows = TrafficCounter(spec).windows()};
  if (std::ranges::any_of(spec.grid, [](int64_t extent) { return extent == 0; })) return all;
  TrafficBudget budget{max_evaluations};
  for (size_t i = 0; i < all.windows.size(); ++i) {
    const bool is_output = i >= spec.in.size();
    const Window& w = is_output ? spec.out[i - spec.in.size()] : spec.in[i];
    if (!w.pipelined()) continue;
    WindowTraffic traffic(spec, w, prefetch, budget);
    if (!traffic.count() || traffic.bytes() >= Wide{1} << 62) {
      all.uncounted.push_back(w.name);
      budget.evaluations = std::max<int64_t>(0, budget.evaluations);
      continue;
    }
    WindowCounters& c = all.windows[i];
    const bool is_fetched = !is_output || w.revisit == Revisit::any;
    if (is_fetched) c.fetches = static_cast<int64_t>(traffic.entered());
    if (is_output) c.write_backs = static_cast<int64_t>(traffic.entered());
    c.moved_bytes = static_cast<int64_t>(traffic.bytes()) * (int{is_fetched} + int{is_output});
    c.minimum_bytes = static_cast<int64_t>(traffic.minimum());
  }
  return all;
}

}  // namespace tilecheck
