#include "reference/array.h"

#include <xtensor/xstrided_view.hpp>

#include "reference/expression.h"

namespace tilecheck::reference {

Array permute(const Array& x, const std::vector<int64_t>& order) {
  assert(order.size() == x.shape.size());
  return evaluated(xt::transpose(expression(x), order));
}

}  // namespace tilecheck::reference
