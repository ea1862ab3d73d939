// Segment ids made up for attention kernels.
#pragma once

#include "sim/types/host_array.h"

namespace tilecheck {

// Sequences packed one after another: i32 ids 0, 0, ..., 1, 1, ... along all but the first axis, in each row of the
// first axis cut into another number of parts. Arrays of equal first axis and seed go together, whatever their lengths.
HostArray packed_segments(const Shape& shape, uint64_t seed);

}  // namespace tilecheck
