#include "sim/spec/planned_traffic.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/spec/place_block.h"
#include "sim/spec/traffic.h"

namespace tilecheck {
namespace {

// A block is entered at the first step and at each step at which it differs from the step before. Between two steps one
// dimension of the grid, the level, counts up by one, and those within it go from their last coordinate to 0. So for
// each level the outer coordinates that the map uses are enumerated; those that it does not use repeat what is found.
class WindowTraffic {
 public:
  WindowTraffic(const KernelSpec& spec, const Window& window, const PrefetchReader* prefetch)
      : spec_(spec), window_(window), prefetch_(prefetch), counts_(block_counts(window)) {
    const Dependence d = window.index ? window.index.dependence(spec.grid.rank()) : Dependence{};
    // What prefetch values are read at need not show in the dependence: then every coordinate counts.
    axes_ = d.prefetch ? ~0u : d.grid_axes;
    const int64_t blocks = element_count(counts_);
    if (blocks > 0 && blocks <= kMaxTrackedBlocks) seen_.resize(static_cast<size_t>(blocks));
    for (int i = 0; i < spec.grid.rank(); ++i) grid_[static_cast<size_t>(i)] = Index::grid(i, 0);
  }

  double evaluations() const {
    double all = 1;
    for (int level = 0; level < spec_.grid.rank(); ++level)
      if (may_change_at(level)) all += (uses_within(level) ? 2 : 1) * combinations(level);
    return all;
  }

  // False when a count does not fit.
  bool count() {
    enter(visit(), 1);
    for (int level = 0; level < spec_.grid.rank(); ++level)
      if (may_change_at(level)) count_level(level);
    return std::max(bytes_, minimum_) < 0x1p62;
  }
  double entered() const { return entered_; }
  double bytes() const { return bytes_; }
  double minimum() const { return minimum_; }

 private:
  int64_t extent(int axis) const { return spec_.grid[axis]; }
  bool uses(int axis) const { return (axes_ >> axis & 1) != 0 && extent(axis) > 1; }
  bool uses_within(int level) const {
    for (int i = level + 1; i < spec_.grid.rank(); ++i)
      if (uses(i)) return true;
    return false;
  }
  bool may_change_at(int level) const { return extent(level) > 1 && (uses(level) || uses_within(level)); }
  // Coordinates that the map uses outside of a level, and of the level itself.
  double combinations(int level) const {
    double n = uses(level) ? static_cast<double>(extent(level) - 1) : 1;
    for (int i = 0; i < level; ++i)
      if (uses(i)) n *= static_cast<double>(extent(i));
    return n;
  }
  // How often each of them occurs.
  double repeats(int level) const {
    double n = uses(level) ? 1 : static_cast<double>(extent(level) - 1);
    for (int i = 0; i < level; ++i)
      if (!uses(i)) n *= static_cast<double>(extent(i));
    return n;
  }

  void set(int axis, int64_t value) { grid_[static_cast<size_t>(axis)] = Index::grid(axis, value); }
  Visit visit() const {
    Visit v;
    place_block(window_, spec_.name, {grid_.data(), static_cast<size_t>(spec_.grid.rank())}, prefetch_, v);
    return v;
  }

  // With coordinate k at the level, and those within it at their last or first.
  Visit at(int level, int64_t k, bool is_last) {
    set(level, k);
    for (int i = level + 1; i < spec_.grid.rank(); ++i) set(i, is_last && uses(i) ? extent(i) - 1 : 0);
    return visit();
  }

  void count_level(int level) {
    const double times = repeats(level);
    Dims outer = Dims::filled(level, 0);
    for (bool more = true; more; more = next(outer)) {
      for (int i = 0; i < level; ++i) set(i, outer[i]);
      const int64_t last = uses(level) ? extent(level) - 1 : 1;
      Visit before = at(level, 0, true), after;
      for (int64_t k = 0; k < last; ++k) {
        if (k > 0) before = uses_within(level) ? at(level, k, true) : after;
        after = at(level, uses(level) ? k + 1 : 0, false);
        if (!(before.block == after.block)) enter(after, times);
      }
    }
  }
  // The next coordinates among those that the map uses; false after the last.
  bool next(Dims& outer) const {
    for (int i = outer.rank() - 1; i >= 0; --i) {
      if (!uses(i)) continue;
      if (++outer[i] < extent(i)) return true;
      outer[i] = 0;
    }
    return false;
  }

  void enter(const Visit& v, double times) {
    const auto bytes = static_cast<double>(block_bytes(window_, v));
    entered_ += times;
    bytes_ += bytes * times;
    const int64_t number = seen_.empty() ? -1 : block_number(v.block, counts_);
    if (number < 0) {
      minimum_ += bytes * times;
    } else if (!seen_[static_cast<size_t>(number)]) {
      seen_[static_cast<size_t>(number)] = true;
      minimum_ += bytes;
    }
  }

  const KernelSpec& spec_;
  const Window& window_;
  const PrefetchReader* prefetch_;
  Dims counts_;
  uint32_t axes_ = 0;
  std::vector<bool> seen_;
  std::array<Index, kMaxRank> grid_;
  double entered_ = 0, bytes_ = 0, minimum_ = 0;  // whole numbers; a double holds them up to 2^53, and knows more
};

}  // namespace

std::optional<std::vector<WindowCounters>> planned_traffic(const KernelSpec& spec, const PrefetchReader* prefetch,
                                                           int64_t max_evaluations) {
  std::vector<WindowCounters> all = TrafficCounter(spec).windows();
  if (std::ranges::any_of(spec.grid, [](int64_t extent) { return extent == 0; })) return all;
  double evaluations = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    const bool is_output = i >= spec.in.size();
    const Window& w = is_output ? spec.out[i - spec.in.size()] : spec.in[i];
    if (!w.pipelined()) continue;
    WindowTraffic traffic(spec, w, prefetch);
    evaluations += traffic.evaluations();
    if (evaluations > static_cast<double>(max_evaluations) || !traffic.count()) return std::nullopt;
    WindowCounters& c = all[i];
    const bool is_fetched = !is_output || w.revisit == Revisit::any;
    if (is_fetched) c.fetches = static_cast<int64_t>(traffic.entered());
    if (is_output) c.write_backs = static_cast<int64_t>(traffic.entered());
    c.moved_bytes = static_cast<int64_t>(traffic.bytes()) * (int{is_fetched} + int{is_output});
    c.minimum_bytes = static_cast<int64_t>(traffic.minimum());
  }
  return all;
}

}  // namespace tilecheck
