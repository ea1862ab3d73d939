// Every device gets the parts of all devices: each passes on what it got last, devices - 1 times.
//
// A part goes straight to its place in the result, and from there on to the next device: nothing is staged, and no
// place is written twice. In two directions each link carries half as much.
#include "kernels/all_gather.h"

#include "kernels/list.h"
#include "kernels/tiling.h"
#include "kernels/twins.h"

namespace tilecheck {
namespace {

Body body_for(const Ring& ring, const RingProtocol& protocol) {
  return [=](Core& core, std::span<const Ref> refs) {
    const Ref &x = refs[0], &y = refs[1], &copied = refs[2];
    const int me = core.device_id();
    const CopyHandle own = core.start_copy(x, y({ds(me * ring.rows, ring.rows)}), copied);
    std::vector<Lane> lanes;
    for (const LaneRows& part : lanes_of(ring, ring.rows)) {
      const int64_t chunks = block_count(part.count(), ring.chunk_rows);
      // Chunk c of the part of a device so many steps upstream.
      const auto chunk = [=, &x, &y](int64_t upstream, int64_t c) {
        const int64_t first = part.begin + c * ring.chunk_rows;
        const Slice rows = ds(first, std::min(ring.chunk_rows, part.end - first));
        if (upstream == 0) return x({rows});
        const int device = ring.neighbour(me, -part.direction * upstream);
        return y({ds(device * ring.rows + rows.start, rows.size)});
      };
      Lane lane;
      lane.messages = (ring.devices - 1) * chunks;
      lane.source = [=](int64_t t) { return chunk(t / chunks, t % chunks); };
      lane.arriving = [=](int64_t t) { return chunk(t / chunks + 1, t % chunks); };
      lane.target = [=, &y](int64_t t) {
        const Ref source = chunk(t / chunks, t % chunks);
        if (t >= chunks) return source;
        return y({ds(me * ring.rows + part.begin + t * ring.chunk_rows, source.shape()[0])});
      };
      connect(lane, ring, core, static_cast<int>(lanes.size()), part.direction, chunks, refs);
      lanes.push_back(std::move(lane));
    }
    run_lanes(core, ring, lanes, protocol);
    core.wait(own);
  };
}

}  // namespace

KernelCase all_gather_case(const Ring& ring, const RingProtocol& protocol) {
  KernelCase c = ring_case("all_gather", ring, {ring.rows, ring.columns}, {ring.devices * ring.rows, ring.columns},
                           {{.name = "copied", .dtype = DType::dma_semaphore, .shape = {}, .space = Space::semaphore}},
                           reference::all_gather);
  c.body = body_for(ring, protocol);
  c.rules = {{.bit_equal = true}};
  return c;
}

Kernel all_gather_kernel() {
  return {.name = "all_gather",
          .summary = "every device gets the arrays of all, one after another, around a ring of devices",
          .params = Ring::params({DType::f32, DType::bf16, DType::i32, DType::i8}),
          .make = [](const ParamValues& values) { return all_gather_case(Ring(values)); },
          .broken = all_gather_twins()};
}

}  // namespace tilecheck
