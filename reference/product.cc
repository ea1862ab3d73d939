#include "reference/product.h"

#include <algorithm>

namespace tilecheck::reference {
namespace {

constexpr int64_t kInner = 128, kColumns = 64;  // of a block of b: 64 KiB

// c(i, j) = sum over k of a(i, k) b(k, j), a block of b at a time.
Array blocked(const Array& a, const Array& b, bool skip_zeros) {
  assert(a.rank() == 2 && b.rank() == 2 && a.dim(1) == b.dim(0));
  const int64_t rows = a.dim(0), inner = a.dim(1), columns = b.dim(1);
  Array c({rows, columns});
  for (int64_t k0 = 0; k0 < inner; k0 += kInner)
    for (int64_t j0 = 0; j0 < columns; j0 += kColumns) {
      const int64_t width = std::min(kColumns, columns - j0);
      for (int64_t i = 0; i < rows; ++i) {
        double* __restrict c_row = c.row(i) + j0;
        for (int64_t k = k0; k < std::min(inner, k0 + kInner); ++k) {
          const double factor = a(i, k);
          if (skip_zeros && factor == 0) continue;
          const double* b_row = b.row(k) + j0;
          for (int64_t j = 0; j < width; ++j) c_row[j] += factor * b_row[j];
        }
      }
    }
  return c;
}

}  // namespace

Array product(const Array& a, const Array& b) { return blocked(a, b, false); }
Array weighted_sum(const Array& weights, const Array& values) { return blocked(weights, values, true); }

}  // namespace tilecheck::reference
