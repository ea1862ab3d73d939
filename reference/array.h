// The plain array that references take and give: a shape and its values in row-major order, in double precision.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tilecheck::reference {

struct Array {
  std::vector<int64_t> shape;
  std::vector<double> values;

  Array() = default;
  // Zeros, or the given values.
  explicit Array(std::vector<int64_t> dims) : shape(std::move(dims)) {
    int64_t count = 1;
    for (int64_t d : shape) count *= d;
    values.assign(static_cast<size_t>(count), 0.0);
  }
  Array(std::vector<int64_t> dims, std::vector<double> elements) : shape(std::move(dims)), values(std::move(elements)) {
    assert(Array(shape).values.size() == values.size());
  }

  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
  int64_t dim(int64_t i) const { return shape[static_cast<size_t>(i)]; }

  // x(i, j, k): one index per dimension.
  template <typename... Index>
  double& operator()(Index... index) {
    return values[offset(index...)];
  }
  template <typename... Index>
  double operator()(Index... index) const {
    return values[offset(index...)];
  }
  // The row x(i, j, ..., :) of an array, by all indices but the last.
  template <typename... Index>
  double* row(Index... index) {
    return values.data() + offset(index..., 0);
  }
  template <typename... Index>
  const double* row(Index... index) const {
    return values.data() + offset(index..., 0);
  }

 private:
  template <typename... Index>
  size_t offset(Index... index) const {
    assert(sizeof...(index) == shape.size());
    int64_t flat = 0;
    size_t axis = 0;
    ((flat = flat * shape[axis++] + static_cast<int64_t>(index)), ...);
    return static_cast<size_t>(flat);
  }
};

// y(.., i_order[k], ..) of shape (shape[order[0]], shape[order[1]], ...): axis k of the result is axis order[k] of x.
// permute(x, {0, 2, 1, 3}) turns (batch, length, heads, dim) into (batch, heads, length, dim).
Array permute(const Array& x, const std::vector<int64_t>& order);

}  // namespace tilecheck::reference
