// Which grid step wrote an element last, from the plan.
#include "harness/run.h"
#include "sim/spec/plan.h"

namespace tilecheck {
namespace {

class ArgsReader : public PrefetchReader {
 public:
  explicit ArgsReader(const std::vector<HostArray>& prefetch) : prefetch_(prefetch) {}
  int64_t read(int operand, const Dims& index) const override {
    if (operand < 0 || static_cast<size_t>(operand) >= prefetch_.size()) return 0;
    const HostArray& array = prefetch_[static_cast<size_t>(operand)];
    if (index.rank() != array.shape().rank()) return 0;
    int64_t offset = 0;
    for (int i = 0; i < index.rank(); ++i) {
      if (index[i] < 0 || index[i] >= array.shape()[i]) return 0;
      offset = offset * array.shape()[i] + index[i];
    }
    return static_cast<int64_t>(array.at(offset));
  }

 private:
  const std::vector<HostArray>& prefetch_;
};

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
  const ArgsReader reader(args.prefetch);
  PlanCursor cursor(spec, GridPart::whole(spec.grid), &reader);
  std::optional<Dims> last;
  while (cursor.advance()) {
    const Visit& visit = cursor.visits()[spec.in.size() + static_cast<size_t>(output)];
    if (covers(coverage(window, visit), index)) last = cursor.step();
  }
  return last;
}

}  // namespace tilecheck
