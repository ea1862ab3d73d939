// Elements narrower than a byte: XLA's CPU arrays pack them, a HostArray keeps one a byte.
#pragma once

#include "tools/python/native/call.h"

namespace tilecheck::python {

bool is_sub_byte(DType dtype);  // bool is not: it takes a byte everywhere
HostArray unpack(const CallArray& packed);
void pack(const HostArray& values, const CallArray& packed);

}  // namespace tilecheck::python
