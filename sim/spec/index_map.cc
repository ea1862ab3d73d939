#include "sim/spec/index_map.h"

namespace tilecheck {
namespace {

void join(Dependence& into, const Dependence& from) {
  into.grid_axes |= from.grid_axes;
  into.prefetch = into.prefetch || from.prefetch;
}

Dependence all_of(const Indices& indices) {
  Dependence all;
  for (int i = 0; i < indices.rank; ++i) join(all, indices.values[static_cast<size_t>(i)].dependence());
  return all;
}

}  // namespace

Indices IndexMap::observe_origin(int grid_rank, TakenValues& taken) const {
  std::array<Index, kMaxRank> origin;
  for (int axis = 0; axis < grid_rank; ++axis) origin[static_cast<size_t>(axis)] = Index::grid(axis, 0);
  return observe({origin.data(), static_cast<size_t>(grid_rank)}, PrefetchRefs(nullptr), taken);
}

Dependence IndexMap::dependence(int grid_rank) const {
  Dependence all;
  if (known_)
    for (const Dependence& d : *known_) join(all, d);
  if (known_ || !function_) return all;
  TakenValues taken;
  all = all_of(observe_origin(grid_rank, taken));
  all.grid_axes |= taken.axes;
  all.prefetch |= taken.prefetch;
  // Which way the map goes by a value that only a run has, and to which axes, is not seen here.
  if (taken.plain_prefetch && taken.axes == 0) all.grid_axes |= (1u << grid_rank) - 1;
  return all;
}

uint32_t IndexMap::moving_axes(int grid_rank) const {
  if (known_ || !function_) return dependence(grid_rank).grid_axes;
  TakenValues taken;
  const Dependence all = all_of(observe_origin(grid_rank, taken));
  return taken.axes != 0 || taken.plain_prefetch ? ~0u : all.grid_axes;
}

// Without a plain value taken, a map does the same operations at every point: those that it does at the origin.
std::shared_ptr<const IndexExpr> IndexMap::expression(int grid_rank) const {
  if (expr_ || known_ || !function_) return expr_;
  auto expr = std::make_shared<IndexExpr>();
  std::array<Index, kMaxRank> origin;
  for (int axis = 0; axis < grid_rank; ++axis) {
    Index& at = origin[static_cast<size_t>(axis)] = Index::grid(axis, 0);
    at.node_ = expr->axis(axis);
  }
  TakenValues taken;
  Indices indices;
  {
    struct Tracing {
      explicit Tracing(IndexExpr* into) { Index::trace_ = into; }
      ~Tracing() { Index::trace_ = nullptr; }
    } const tracing(expr.get());
    indices = observe({origin.data(), static_cast<size_t>(grid_rank)}, PrefetchRefs(nullptr), taken);
    for (int i = 0; i < indices.rank; ++i) expr->results.push_back(indices.values[static_cast<size_t>(i)].traced());
  }
  if (taken.axes != 0 || taken.prefetch) return nullptr;
  return expr;
}

// Without a plain value taken, a map does the same operations at every point, and what it shows at one holds at all.
// Where it takes some, its way is a function of their axes: so it is evaluated at all coordinates of these, until it
// takes values of no other axis.
std::optional<std::vector<uint32_t>> IndexMap::index_axes(const Dims& grid, const PrefetchReader* prefetch,
                                                          int64_t max_evaluations) const {
  std::vector<uint32_t> axes;
  if (known_)
    for (const Dependence& d : *known_) axes.push_back(d.grid_axes);
  if (known_ || !function_) return axes;

  std::array<Index, kMaxRank> point;
  const auto set = [&](int axis, int64_t value) { point[static_cast<size_t>(axis)] = Index::grid(axis, value); };
  uint32_t steering = 0;
  for (bool is_closed = false; !is_closed;) {
    is_closed = true;
    for (int axis = 0; axis < grid.rank(); ++axis) set(axis, 0);
    Indices first;
    std::array<bool, kMaxRank> is_same;  // one coordinate, or one constant, wherever the map goes
    is_same.fill(true);
    for (bool is_first = true, more = true; more && is_closed; is_first = false) {
      if (--max_evaluations < 0) return std::nullopt;
      TakenValues taken;
      const Indices here = observe({point.data(), static_cast<size_t>(grid.rank())}, PrefetchRefs(prefetch), taken);
      if (is_first) {
        first = here;
        axes.assign(static_cast<size_t>(here.rank), 0);
      }
      if (here.rank != first.rank) return std::nullopt;
      is_closed = (taken.axes & ~steering) == 0;
      steering |= taken.axes;
      for (size_t i = 0; i < axes.size(); ++i) {
        const Index &a = here.values[i], &b = first.values[i];
        axes[i] |= a.dependence_.grid_axes;
        is_same[i] = is_same[i] && a.identity_ == b.identity_ &&
                     (a.identity_ != 0 || (a.dependence_.grid_axes == 0 && a.value_ == b.value_));
      }
      more = false;
      for (int axis = grid.rank(); axis-- > 0 && !more;) {
        if ((steering >> axis & 1u) == 0) continue;
        const int64_t next = point[static_cast<size_t>(axis)].value_ + 1;
        more = next < grid[axis];
        set(axis, more ? next : 0);
      }
    }
    for (size_t i = 0; i < axes.size(); ++i)
      if (!is_same[i]) axes[i] |= steering;
  }
  return axes;
}

}  // namespace tilecheck
