#include "harness/reference_array.h"

#include <algorithm>

namespace tilecheck {

reference::Array to_reference(const HostArray& array) {
  reference::Array out({array.shape().begin(), array.shape().end()});
  for (int64_t i = 0; i < array.size(); ++i) out.values[static_cast<size_t>(i)] = array.at(i);
  return out;
}

HostArray from_reference(const reference::Array& array) {
  HostArray out(DType::f64, Shape(std::span<const int64_t>(array.shape)));
  std::ranges::copy(array.values, out.as<double>());
  return out;
}

}  // namespace tilecheck
