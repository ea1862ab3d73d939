#include "sim/machine/smem_prefetch.h"

#include <vector>

#include "sim/memory/transfer.h"

namespace tilecheck {

int64_t SmemPrefetch::read(int operand, const Dims& index) const {
  if (operand < 0 || operand >= static_cast<int>(state_.prefetch.size())) {
    state_.report(Finding::make(Kind::out_of_bounds_read, "an index map reads scalar-prefetch operand " +
                                                              std::to_string(operand) + "; the kernel has " +
                                                              std::to_string(state_.prefetch.size())));
    return 0;
  }
  Ref ref = Ref::whole(*state_.prefetch[static_cast<size_t>(operand)]);
  std::vector<Slice> at;
  for (int64_t i : index) at.emplace_back(i);
  ref = ref.slice(at);
  if (!in_bounds(ref, false)) {
    state_.report(Finding::make(Kind::out_of_bounds_read, "an index map reads " + to_string(ref) +
                                                              ", outside its shape " + to_tuple(ref.buffer->shape)));
    return 0;
  }
  uint8_t undefined = 0;
  const uint64_t bits = load_scalar(ref, &undefined);
  if (undefined)
    state_.report(Finding::make(Kind::undefined_use, "an index map reads " + to_string(ref) + ", which is undefined"));
  return static_cast<int64_t>(bits);
}

}  // namespace tilecheck
