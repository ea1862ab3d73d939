// Matrix products of matmul's size inside other references: the plain triple loop, cut into blocks that stay in cache.
#pragma once

#include "reference/array.h"

namespace tilecheck::reference {

// a(rows, inner) times b(inner, columns). Each element is summed in the order of `inner`, as matmul() does: same bits.
Array product(const Array& a, const Array& b);
// The same, but a weight of 0 takes no part: what it stands at may be anything, NaN too.
Array weighted_sum(const Array& weights, const Array& values);

}  // namespace tilecheck::reference
