#include "sim/machine/split.h"

namespace tilecheck {
namespace {

bool is_parallel(const KernelSpec& spec, int axis) {
  return static_cast<size_t>(axis) < spec.semantics.size() &&
         spec.semantics[static_cast<size_t>(axis)] != Semantics::arbitrary;
}

GridPart nothing(const KernelSpec& spec) {
  GridPart part = GridPart::whole(spec.grid);
  part.linear_count = 0;
  return part;
}

}  // namespace

std::vector<GridPart> split_over_cores(const KernelSpec& spec, int cores, CoreSplit split) {
  const GridPart whole = GridPart::whole(spec.grid);
  std::vector<GridPart> parts;
  if (cores == 1) return {whole};
  bool any_parallel = false;
  for (int axis = 0; axis < spec.grid.rank(); ++axis) any_parallel = any_parallel || is_parallel(spec, axis);
  if (!any_parallel) {
    // Without a parallel dimension the first core runs everything; a kernel without a grid runs on every core.
    for (int c = 0; c < cores; ++c) parts.push_back(c == 0 || spec.grid.empty() ? whole : nothing(spec));
    return parts;
  }
  if (split == CoreSplit::megacore) {
    for (int axis = 0; axis < spec.grid.rank(); ++axis) {
      if (!is_parallel(spec, axis) || spec.grid[axis] % cores != 0 || spec.grid[axis] == 0) continue;
      for (int c = 0; c < cores; ++c) {
        GridPart part = whole;
        part.extents[axis] = spec.grid[axis] / cores;
        part.lo[axis] = part.extents[axis] * c;
        parts.push_back(part);
      }
      return parts;
    }
  }
  // The leading parallel dimensions, flattened, in contiguous shares; what follows them belongs to each share whole.
  int64_t leading = 1;
  int axis = 0;
  for (; axis < spec.grid.rank() && is_parallel(spec, axis); ++axis) leading *= spec.grid[axis];
  if (axis == 0) {
    for (int c = 0; c < cores; ++c) parts.push_back(c == 0 ? whole : nothing(spec));
    return parts;
  }
  int64_t inner = 1;
  for (int i = axis; i < spec.grid.rank(); ++i) inner *= spec.grid[i];
  const int64_t each = (leading + cores - 1) / cores;
  for (int c = 0; c < cores; ++c) {
    // Megacore gives every core as many steps, and begins again at step 0 where they run out; JAX leaves the last
    // short.
    const bool wraps = split == CoreSplit::megacore;
    const int64_t begin = wraps ? each * c : std::min(leading, each * c);
    const int64_t end = wraps ? begin + each : std::min(leading, begin + each);
    GridPart part = whole;
    part.linear_begin = begin * inner;
    part.linear_count = (end - begin) * inner;
    parts.push_back(part);
  }
  return parts;
}

}  // namespace tilecheck
