#include "reference/basic.h"

#include <xtensor/xmath.hpp>
#include <xtensor/xoperation.hpp>

#include "reference/expression.h"
#include "reference/product.h"

namespace tilecheck::reference {

Array relu_2x_plus_1(const Array& x) {
  const auto y = 2 * expression(x) + 1;
  return evaluated(xt::where(y < 0, 0, y));  // NaN stays NaN
}

Array add(const Array& x, const Array& y) {
  assert(x.shape == y.shape);
  return evaluated(expression(x) + expression(y));
}

Array matmul(const Array& a, const Array& b) { return product(a, b); }

// Reductions are kept as arrays: a lazy one does not broadcast right in xtensor 0.24.
using Values = xt::xarray<double>;

Array softmax_rows(const Array& x) {
  assert(x.rank() == 2);
  const Values largest = xt::amax(expression(x), {1}, xt::keep_dims);
  const Values e = xt::exp(expression(x) - largest);
  const Values sum = xt::sum(e, {1}, xt::keep_dims);
  return evaluated(e / sum);
}

Array layer_norm(const Array& x, const Array& gamma, const Array& beta, double epsilon) {
  assert(x.rank() == 2 && gamma.rank() == 1 && gamma.dim(0) == x.dim(1) && beta.shape == gamma.shape);
  const Values mean = xt::mean(expression(x), {1}, xt::keep_dims);
  const Values variance = xt::mean(xt::square(expression(x) - mean), {1}, xt::keep_dims);
  return evaluated((expression(x) - mean) / xt::sqrt(variance + epsilon) * expression(gamma) + expression(beta));
}

Array transpose(const Array& x) {
  assert(x.rank() == 2);
  return permute(x, {1, 0});
}

}  // namespace tilecheck::reference
