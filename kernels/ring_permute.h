// ring_permute, with a protocol of choice.
#pragma once

#include "kernels/ring.h"

namespace tilecheck {

struct RingPermute : Ring {
  explicit RingPermute(const ParamValues& values);
  int64_t shift;  // 0 .. devices - 1
};

KernelCase ring_permute_case(const RingPermute& p, const RingProtocol& protocol = ring_protocol());

}  // namespace tilecheck
