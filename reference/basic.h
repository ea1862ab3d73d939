// References of the small kernels.
#pragma once

#include "reference/array.h"

namespace tilecheck::reference {

// max(2 x + 1, 0), any shape.
Array relu_2x_plus_1(const Array& x);
// x + y, equal shapes.
Array add(const Array& x, const Array& y);
// a(m, k) times b(k, n): (m, n).
Array matmul(const Array& a, const Array& b);
// Each row of x(rows, columns): exp(x) / sum of exp(x).
Array softmax_rows(const Array& x);
// Each row of x(rows, columns): (x - mean) / sqrt(variance + epsilon) * gamma(columns) + beta(columns).
Array layer_norm(const Array& x, const Array& gamma, const Array& beta, double epsilon);
// x(rows, columns) as (columns, rows).
Array transpose(const Array& x);

}  // namespace tilecheck::reference
