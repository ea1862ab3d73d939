#include "sim/spec/index_map.h"

#include <vector>

namespace tilecheck {

Dependence IndexMap::dependence(int grid_rank) const {
  if (known_dependence_ || !function_) return dependence_;
  std::vector<Index> origin;
  for (int axis = 0; axis < grid_rank; ++axis) origin.push_back(Index::grid(axis, 0));
  const Indices indices = function_(origin, PrefetchRefs(nullptr));
  Dependence all;
  for (int i = 0; i < indices.rank; ++i) {
    const Dependence& d = indices.values[static_cast<size_t>(i)].dependence();
    all.grid_axes |= d.grid_axes;
    all.prefetch |= d.prefetch;
  }
  return all;
}

}  // namespace tilecheck
