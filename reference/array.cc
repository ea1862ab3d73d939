#include "reference/array.h"

namespace tilecheck::reference {

Array permute(const Array& x, const std::vector<int64_t>& order) {
  assert(order.size() == x.shape.size());
  const size_t rank = order.size();
  std::vector<int64_t> stride(rank, 1);  // of x
  for (size_t i = rank; i-- > 1;) stride[i - 1] = stride[i] * x.shape[i];
  std::vector<int64_t> shape;
  for (int64_t axis : order) shape.push_back(x.dim(axis));
  Array y(shape);
  std::vector<int64_t> index(rank, 0);  // into y
  for (double& element : y.values) {
    int64_t from = 0;
    for (size_t k = 0; k < rank; ++k) from += index[k] * stride[static_cast<size_t>(order[k])];
    element = x.values[static_cast<size_t>(from)];
    for (size_t k = rank; k-- > 0 && ++index[k] == shape[k];) index[k] = 0;
  }
  return y;
}

}  // namespace tilecheck::reference
