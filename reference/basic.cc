#include "reference/basic.h"

#include <algorithm>
#include <cmath>

namespace tilecheck::reference {

Array relu_2x_plus_1(const Array& x) {
  Array y(x.shape);
  for (size_t i = 0; i < x.values.size(); ++i) {
    const double value = 2 * x.values[i] + 1;
    y.values[i] = value < 0 ? 0 : value;  // NaN stays NaN
  }
  return y;
}

Array add(const Array& x, const Array& y) {
  assert(x.shape == y.shape);
  Array z(x.shape);
  for (size_t i = 0; i < x.values.size(); ++i) z.values[i] = x.values[i] + y.values[i];
  return z;
}

Array matmul(const Array& a, const Array& b) {
  assert(a.rank() == 2 && b.rank() == 2 && a.dim(1) == b.dim(0));
  Array c({a.dim(0), b.dim(1)});
  for (int64_t i = 0; i < a.dim(0); ++i)
    for (int64_t k = 0; k < a.dim(1); ++k)
      for (int64_t j = 0; j < b.dim(1); ++j) c(i, j) += a(i, k) * b(k, j);
  return c;
}

Array softmax_rows(const Array& x) {
  assert(x.rank() == 2);
  Array y(x.shape);
  for (int64_t i = 0; i < x.dim(0); ++i) {
    double largest = -INFINITY;
    for (int64_t j = 0; j < x.dim(1); ++j) largest = std::max(largest, x(i, j));
    double sum = 0;
    for (int64_t j = 0; j < x.dim(1); ++j) sum += std::exp(x(i, j) - largest);
    for (int64_t j = 0; j < x.dim(1); ++j) y(i, j) = std::exp(x(i, j) - largest) / sum;
  }
  return y;
}

Array layer_norm(const Array& x, const Array& gamma, const Array& beta, double epsilon) {
  assert(x.rank() == 2 && gamma.rank() == 1 && gamma.dim(0) == x.dim(1) && beta.shape == gamma.shape);
  Array y(x.shape);
  const auto columns = static_cast<double>(x.dim(1));
  for (int64_t i = 0; i < x.dim(0); ++i) {
    double mean = 0, variance = 0;
    for (int64_t j = 0; j < x.dim(1); ++j) mean += x(i, j) / columns;
    for (int64_t j = 0; j < x.dim(1); ++j) variance += (x(i, j) - mean) * (x(i, j) - mean) / columns;
    for (int64_t j = 0; j < x.dim(1); ++j)
      y(i, j) = (x(i, j) - mean) / std::sqrt(variance + epsilon) * gamma(j) + beta(j);
  }
  return y;
}

Array transpose(const Array& x) {
  assert(x.rank() == 2);
  return permute(x, {1, 0});
}

}  // namespace tilecheck::reference
