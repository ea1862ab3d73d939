#include "kernels/segments.h"

#include "harness/fill.h"

namespace tilecheck {

HostArray packed_segments(const Shape& shape, uint64_t seed) {
  HostArray ids(DType::i32, shape);
  const int64_t length = element_count(shape) / shape[0];
  for (int64_t b = 0; b < shape[0]; ++b) {
    const auto parts = static_cast<int64_t>(2 + random_word(seed, 0, static_cast<uint64_t>(b)) % 6);
    for (int64_t t = 0; t < length; ++t) ids.as<int32_t>()[b * length + t] = static_cast<int32_t>(t * parts / length);
  }
  return ids;
}

}  // namespace tilecheck
