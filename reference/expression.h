// Arrays as xtensor expressions, so that references read like the formula.
#pragma once

#include <xtensor/xadapt.hpp>
#include <xtensor/xarray.hpp>

#include "reference/array.h"

namespace tilecheck::reference {

// `x` as an expression over its own values; it must outlive the expression.
inline auto expression(const Array& x) { return xt::adapt(x.values, x.shape); }

// What an expression comes to.
template <typename E>
Array evaluated(const xt::xexpression<E>& e) {
  const xt::xarray<double, xt::layout_type::row_major> y = e;
  return Array({y.shape().begin(), y.shape().end()}, {y.begin(), y.end()});
}

}  // namespace tilecheck::reference
