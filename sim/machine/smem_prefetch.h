// What index maps read: a core's SMEM copies of scalar prefetch.
#pragma once

#include "sim/machine/state.h"
#include "sim/spec/index_map.h"

namespace tilecheck {

// Reads out of range or of undefined elements are findings of the core, and stop the run.
class SmemPrefetch : public PrefetchReader {
 public:
  explicit SmemPrefetch(MachineState& state) : state_(state) {}
  int64_t read(int operand, const Dims& index) const override;

 private:
  MachineState& state_;
};

}  // namespace tilecheck
