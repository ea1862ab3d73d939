// Which scratch and scoped buffers take VMEM: those that survive the compiler's promotion to registers.
//
// libtpu 0.0.42.1 keeps a buffer in registers when each read of it is covered by writes of the same step that came
// before, at constant indices, and no copy touches it. Untouched and write-only buffers vanish. Buffers carried from
// step to step, copied by DMA or indexed dynamically take their full padded size.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/fit/body.h"
#include "sim/target/target.h"

namespace tilecheck::fit {

enum class Survival : uint8_t {
  lives,     // takes VMEM
  unused,    // never accessed, or never read
  promoted,  // held in registers
};

// One per Body::refs; meaningful for scratch and alloc in VMEM. Target-independent.
std::vector<Survival> buffer_survival(const Body& body);

// Bytes of the body's own allocations (run_scoped, empty_ref) at their peak: scopes one after another share, nested
// ones add up.
struct ScopedPeak {
  int64_t bytes = 0;
  std::vector<RefId> refs;  // alive together at the peak
};
ScopedPeak scoped_peak(const Body& body, const std::vector<Survival>& survival, const Target& target);

}  // namespace tilecheck::fit
