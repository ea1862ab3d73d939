// reduce_scatter and all_reduce, with a protocol of choice.
#pragma once

#include "kernels/ring.h"

namespace tilecheck {

KernelCase reduce_scatter_case(const Ring& ring, const RingProtocol& protocol = ring_protocol());
KernelCase all_reduce_case(const Ring& ring, const RingProtocol& protocol = ring_protocol());

}  // namespace tilecheck
