// Which grid step wrote an element last, from the plan.
#include "harness/array_reader.h"
#include "harness/run.h"
#include "sim/spec/plan.h"

namespace tilecheck {
namespace {

bool covers(const Coverage& c, const Dims& index) {
  for (int i = 0; i < index.rank(); ++i)
    if (index[i] < c.lo[i] || index[i] >= c.lo[i] + c.extents[i]) return false;
  return true;
}

}  // namespace

std::optional<Dims> last_writer(const KernelSpec& spec, int output, const Dims& index, const DeviceArgs& args) {
  const Window& window = spec.out[static_cast<size_t>(output)];
  if (!window.pipelined() || spec.grid.empty()) return std::nullopt;
  if (const int64_t steps = spec.step_count(); steps <= 0 || steps > kMaxWriterSteps) return std::nullopt;
  const ArrayReader reader(args.prefetch);
  PlanCursor cursor(spec, GridPart::whole(spec.grid), &reader);
  std::optional<Dims> last;
  while (cursor.advance()) {
    const Visit& visit = cursor.visits()[spec.in.size() + static_cast<size_t>(output)];
    if (covers(coverage(window, visit), index)) last = cursor.step();
  }
  return last;
}

}  // namespace tilecheck
