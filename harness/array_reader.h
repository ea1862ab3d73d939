// Scalar-prefetch operands in host memory, for walking a plan without running it.
#pragma once

#include <span>

#include "sim/spec/index_map.h"
#include "sim/types/host_array.h"

namespace tilecheck {

// `prefetch` must outlive the reader.
class ArrayReader : public PrefetchReader {
 public:
  explicit ArrayReader(std::span<const HostArray> prefetch) : prefetch_(prefetch) {}
  // 0 outside the arrays: who runs the kernel makes the finding.
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
  std::span<const HostArray> prefetch_;
};

}  // namespace tilecheck
