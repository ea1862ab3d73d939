#include "harness/reference_array.h"

namespace tilecheck {

reference::Array to_reference(const HostArray& array) {
  reference::Array result(std::vector<int64_t>(array.shape().begin(), array.shape().end()));
  for (int64_t i = 0; i < array.size(); ++i) result.values[static_cast<size_t>(i)] = array.at(i);
  return result;
}

HostArray from_reference(const reference::Array& array, DType dtype) {
  HostArray result(dtype, Shape(std::span<const int64_t>(array.shape)));
  for (int64_t i = 0; i < result.size(); ++i) result.set(i, array.values[static_cast<size_t>(i)]);
  return result;
}

}  // namespace tilecheck
