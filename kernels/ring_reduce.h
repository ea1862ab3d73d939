// Sums that grow on their way around the ring: the first half of all_reduce, and all of reduce_scatter.
#pragma once

#include "kernels/ring.h"

namespace tilecheck {

// An array is summed over all devices in `devices` blocks: block d's sum ends on device d. The blocks' rows are those
// of one lane; each is cut into chunks.
struct ReduceLane {
  int index = 0;  // of the lane
  int direction = 1;
  int64_t chunks = 0;  // in a block
  std::function<Slice(int64_t block, int64_t c)> x_rows,
      y_rows;  // rows of a chunk, perhaps none; y: of one's own block
};

// VMEM that a reduction takes: for each lane two buffers of f32 sums, and slots for chunks of x and y.
std::vector<Scratch> reduce_scratch(const Ring& ring, int64_t chunks);

// The messages of one lane. refs: x, y, reduce_scratch's, lane semaphores. When the last message has arrived, this
// device's block is complete in y.
Lane reduce_lane(Core& core, const Ring& ring, const ReduceLane& lane, std::span<const Ref> refs);

// How a sum of elements up to 1 in f32, in whichever order, is judged: devices - 1 roundings of at most `devices` each.
ResultRule sum_rule(const Ring& ring);

}  // namespace tilecheck
