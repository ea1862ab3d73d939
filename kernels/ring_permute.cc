// Device d's array goes to device d + shift, hop by hop along the ring.
//
// Between its first and its last hop an array stands in one of two VMEM buffers, which take turns: what arrives in one
// leaves again while the other is filled. In two directions, half of the rows goes shift hops to the right, the rest
// devices - shift hops to the left.
#include "kernels/ring_permute.h"

#include "kernels/list.h"
#include "kernels/twins.h"

namespace tilecheck {
namespace {

// The rows of a lane on their way: chunk c after so many hops.
struct Journey {
  Ref x, y, buffers;  // buffers: [2, rows, columns]
  LaneRows part;
  int64_t chunk_rows, hops;

  Ref chunk(int64_t after_hops, int64_t c) const {
    const int64_t first = part.begin + c * chunk_rows;
    const Slice rows = ds(first, std::min(chunk_rows, part.end - first));
    if (after_hops == 0) return x({rows});
    if (after_hops == hops) return y({rows});
    return buffers({after_hops % 2, rows});
  }
};

Body body_for(const RingPermute& p, const RingProtocol& protocol) {
  return [=](Core& core, std::span<const Ref> refs) {
    std::vector<Lane> lanes;
    for (const LaneRows& part : lanes_of(p, p.rows)) {
      const int64_t hops = p.neighbour(0, part.direction * p.shift), chunks = block_count(part.count(), p.chunk_rows);
      const Journey journey{refs[0], refs[1], refs[2], part, p.chunk_rows, hops};
      Lane lane;
      lane.messages = hops * chunks;
      lane.source = [=](int64_t t) { return journey.chunk(t / chunks, t % chunks); };
      lane.target = lane.arriving = [=](int64_t t) { return journey.chunk(t / chunks + 1, t % chunks); };
      connect(lane, p, core, static_cast<int>(lanes.size()), part.direction, chunks, refs);
      lanes.push_back(std::move(lane));
    }
    run_lanes(core, p, lanes, protocol);
    if (p.shift == 0) core.sync_copy(refs[0], refs[1]);
  };
}

}  // namespace

RingPermute::RingPermute(const ParamValues& values) : Ring(values), shift(neighbour(0, values.integer("shift"))) {}

KernelCase ring_permute_case(const RingPermute& p, const RingProtocol& protocol) {
  const Shape shape{p.rows, p.columns};
  KernelCase c = ring_case(
      "ring_permute", p, shape, shape, {{.name = "buffers", .dtype = p.dtype, .shape = {2, p.rows, p.columns}}},
      [shift = p.shift](const reference::PerDevice& x) { return reference::ring_permute(x, shift); });
  c.body = body_for(p, protocol);
  c.rules = {{.bit_equal = true}};
  c.headline += "   shift " + std::to_string(p.shift);
  return c;
}

Kernel ring_permute_kernel() {
  std::vector<Param> params = Ring::params({DType::f32, DType::bf16, DType::i32, DType::i8});
  params.push_back(int_param("shift", 1, "device d's array goes to device (d + shift) mod devices", {1, 2, 0, 3, -1},
                             -(int64_t{1} << 20)));
  return {.name = "ring_permute",
          .summary = "device d's array goes to device d + shift, around a ring of devices",
          .params = std::move(params),
          .make = [](const ParamValues& values) { return ring_permute_case(RingPermute(values)); },
          .broken = ring_permute_twins()};
}

}  // namespace tilecheck
