// Every device gets the sum of all devices' arrays: each block is summed up on its way around the ring
// (ring_reduce.cc), and goes round once more to be handed out.
//
// Blocks are those of reduce_scatter, of one device each; where the rows do not divide, the last ones are shorter or
// empty, and so are their messages.
#include "kernels/all_reduce.h"

#include <algorithm>

#include "kernels/list.h"
#include "kernels/ring_reduce.h"
#include "kernels/twins.h"

namespace tilecheck {
namespace {

// Block b, chunk c of a lane's rows.
struct Blocks {
  LaneRows part;
  int64_t block_rows, chunk_rows;

  Slice rows(int64_t b, int64_t c) const {
    const int64_t end = std::min(part.end, part.begin + (b + 1) * block_rows);
    const int64_t first = std::min(end, part.begin + b * block_rows + c * chunk_rows);
    return ds(first, std::min(chunk_rows, end - first));
  }
};

// The lane that sums, and then as many messages that hand out.
Lane lane_for(Core& core, const Ring& ring, const ReduceLane& part, std::span<const Ref> refs) {
  Lane lane = reduce_lane(core, ring, part, refs);
  const int64_t sums = lane.messages;
  const Ref y = refs[1];
  // The chunk that leaves with message t, or the one that arrives.
  const auto handed_out = [=, me = core.device_id()](int64_t t, int64_t hops) {
    const int64_t s = (t - sums) / part.chunks + hops, c = (t - sums) % part.chunks;
    return y({part.y_rows(ring.neighbour(me, -part.direction * s), c)});
  };
  lane.messages = 2 * sums;
  lane.source = [=, sum = lane.source](int64_t t) { return t < sums ? sum(t) : handed_out(t, 0); };
  lane.target = [=, sum = lane.target](int64_t t) { return t < sums ? sum(t) : handed_out(t, 0); };
  lane.arriving = [=, sum = lane.arriving](int64_t t) { return t < sums ? sum(t) : handed_out(t, 1); };
  for (auto* step : {&lane.before, &lane.after})
    *step = [=, sum = *step](int64_t t) {
      if (t < sums) sum(t);
    };
  return lane;
}

int64_t chunks_of(const Ring& ring, const LaneRows& part) {
  return block_count(block_count(part.count(), ring.devices), ring.chunk_rows);
}

Body body_for(const Ring& ring, const RingProtocol& protocol) {
  return [=](Core& core, std::span<const Ref> refs) {
    std::vector<Lane> lanes;
    for (const LaneRows& part : lanes_of(ring, ring.rows)) {
      const Blocks blocks{part, block_count(part.count(), ring.devices), ring.chunk_rows};
      ReduceLane lane{
          .index = static_cast<int>(lanes.size()), .direction = part.direction, .chunks = chunks_of(ring, part)};
      lane.x_rows = lane.y_rows = [=](int64_t block, int64_t c) { return blocks.rows(block, c); };
      lanes.push_back(lane_for(core, ring, lane, refs));
    }
    run_lanes(core, ring, lanes, protocol);
  };
}

}  // namespace

KernelCase all_reduce_case(const Ring& ring, const RingProtocol& protocol) {
  const Shape shape{ring.rows, ring.columns};
  KernelCase c = ring_case("all_reduce", ring, shape, shape,
                           reduce_scratch(ring, chunks_of(ring, lanes_of(ring, ring.rows)[0])), reference::all_reduce);
  c.body = body_for(ring, protocol);
  c.rules = {sum_rule(ring)};
  return c;
}

Kernel all_reduce_kernel() {
  return {.name = "all_reduce",
          .summary = "every device gets the sum of all devices' arrays, around a ring of devices",
          .params = Ring::params({DType::f32, DType::bf16}),
          .make = [](const ParamValues& values) { return all_reduce_case(Ring(values)); },
          .broken = all_reduce_twins()};
}

}  // namespace tilecheck
