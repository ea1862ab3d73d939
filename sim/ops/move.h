// Strided copies of elements. For the .cc files of this folder.
#pragma once

#include <cstddef>

#include "sim/types/shape.h"

namespace tilecheck {

// to[i . to_strides] = from[i . from_strides] for every index i of `shape`; strides in elements, any sign or 0,
// elements of `bytes` (1, 2, 4 or 8) bytes. The two do not overlap.
void move_elements(std::byte* to, const Dims& to_strides, const std::byte* from, const Dims& from_strides,
                   const Shape& shape, int bytes);

}  // namespace tilecheck
