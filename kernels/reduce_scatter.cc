// Device d gets block d of the sum of all devices' arrays. See ring_reduce.cc.
#include "kernels/all_reduce.h"
#include "kernels/list.h"
#include "kernels/ring_reduce.h"
#include "kernels/twins.h"

namespace tilecheck {
namespace {

Body body_for(const Ring& ring, const RingProtocol& protocol) {
  return [=](Core& core, std::span<const Ref> refs) {
    std::vector<Lane> lanes;
    for (const LaneRows& part : lanes_of(ring, ring.rows)) {
      ReduceLane lane{.index = static_cast<int>(lanes.size()),
                      .direction = part.direction,
                      .chunks = block_count(part.count(), ring.chunk_rows)};
      lane.y_rows = [=](int64_t, int64_t c) {
        const int64_t first = part.begin + c * ring.chunk_rows;
        return ds(first, std::min(ring.chunk_rows, part.end - first));
      };
      lane.x_rows = [=, own = lane.y_rows](int64_t block, int64_t c) {
        const Slice rows = own(block, c);
        return ds(block * ring.rows + rows.start, rows.size);
      };
      lanes.push_back(reduce_lane(core, ring, lane, refs));
    }
    run_lanes(core, ring, lanes, protocol);
  };
}

}  // namespace

KernelCase reduce_scatter_case(const Ring& ring, const RingProtocol& protocol) {
  const int64_t chunks = block_count(lanes_of(ring, ring.rows)[0].count(), ring.chunk_rows);
  KernelCase c = ring_case("reduce_scatter", ring, {ring.devices * ring.rows, ring.columns}, {ring.rows, ring.columns},
                           reduce_scratch(ring, chunks), reference::reduce_scatter);
  c.body = body_for(ring, protocol);
  c.rules = {sum_rule(ring)};
  return c;
}

Kernel reduce_scatter_kernel() {
  return {.name = "reduce_scatter",
          .summary = "device d gets part d of the sum of all devices' arrays, around a ring of devices",
          .params = Ring::params({DType::f32, DType::bf16}),
          .make = [](const ParamValues& values) { return reduce_scatter_case(Ring(values)); },
          .broken = reduce_scatter_twins()};
}

}  // namespace tilecheck
