// all_gather, with a protocol of choice.
#pragma once

#include "kernels/ring.h"

namespace tilecheck {

KernelCase all_gather_case(const Ring& ring, const RingProtocol& protocol = ring_protocol());

}  // namespace tilecheck
