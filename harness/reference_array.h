// Between host arrays and the plain arrays that references work on.
#pragma once

#include "reference/array.h"
#include "sim/types/host_array.h"

namespace tilecheck {

reference::Array to_reference(const HostArray& array);
HostArray from_reference(const reference::Array& array);  // f64

}  // namespace tilecheck
