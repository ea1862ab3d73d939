// Between our arrays and the references' plain ones.
#pragma once

#include "reference/array.h"
#include "sim/types/host_array.h"

namespace tilecheck {

// The same values, as doubles.
reference::Array to_reference(const HostArray& array);
// The same values, by default unrounded.
HostArray from_reference(const reference::Array& array, DType dtype = DType::f64);

}  // namespace tilecheck
