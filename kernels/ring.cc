// Why it is safe. A device gives credit for message t when it has received it and its own message t has left: then the
// places that both touched, and the semaphores that both used, are free. Message t + window, which may touch them
// again, waits for that credit. As many signals are sent as are awaited, so that every semaphore ends at 0.
#include "kernels/ring.h"

#include <algorithm>

#include "harness/format.h"
#include "harness/reference_array.h"

namespace tilecheck {
namespace {

void enter(Core& core, int left, int right) {
  const Ref barrier = core.barrier_semaphore();
  core.signal(barrier, 1, {.device = left});
  core.signal(barrier, 1, {.device = right});
  core.wait(barrier, 2);
}

void step(Core& core, const Lane& lane, int64_t t) {
  const int64_t over = t - lane.window;
  core.when(over >= 0, [&] {
    core.wait_bytes_of(lane.sent({over % lane.window}), lane.source(over));
    core.wait_bytes_of(lane.received({over % lane.window}), lane.arriving(over));
    if (lane.after) lane.after(over);
  });
  core.when(t < lane.messages, [&] {
    core.when(over >= 0, [&] {
      core.signal(lane.credit, 1, {.device = lane.from});
      core.wait(lane.credit);
    });
    if (lane.before) lane.before(t);
    core.start_remote_copy(lane.source(t), lane.target(t), lane.sent({t % lane.window}),
                           lane.received({t % lane.window}), {.device = lane.to});
  });
}

}  // namespace

RingProtocol ring_protocol() { return {enter, step}; }

Ring::Ring(const ParamValues& values)
    : devices(static_cast<int>(values.integer("devices"))),
      rows(values.integer("rows")),
      columns(values.integer("columns")),
      chunk_rows(values.integer("chunk_rows")),
      in_flight(values.integer("in_flight")),
      bidirectional(values.flag("bidirectional")),
      dtype(values.dtype("dtype")) {}

std::vector<Param> Ring::params(std::vector<DType> dtypes) {
  Param devices = int_param("devices", 4, "devices of the ring", {2, 3, 4, 8}, 2);
  devices.max = 256;
  return {devices,
          int_param("rows", 64, "rows of a device's part", {8, 1, 20, 64}),
          int_param("columns", 128, "columns", {128, 100}),
          int_param("chunk_rows", 16, "rows in a message", {8, 16, 64}),
          int_param("in_flight", 2, "messages in flight at most, in one direction; 2: double buffered", {2, 1, 3}),
          bool_param("bidirectional", false, "half of the rows goes round the other way"),
          dtype_param("dtype", DType::f32, std::move(dtypes))};
}

int Ring::neighbour(int device, int64_t steps) const {
  return static_cast<int>(((device + steps) % devices + devices) % devices);
}

std::vector<LaneRows> lanes_of(const Ring& ring, int64_t rows) {
  if (!ring.bidirectional) return {{1, 0, rows}};
  const int64_t half = (rows + 1) / 2;
  return {{1, 0, half}, {-1, half, rows}};
}

KernelCase ring_case(std::string name, const Ring& ring, const Shape& x, const Shape& y, std::vector<Scratch> scratch,
                     std::function<reference::PerDevice(const reference::PerDevice&)> reference, Loc at) {
  const Shape each{ring.lanes(), ring.in_flight};
  KernelCase c;
  c.spec.name = std::move(name);
  c.spec.at = at;
  c.spec.in = {{.name = "x", .dtype = ring.dtype, .array = x, .space = Space::any, .at = at}};
  c.spec.out = {{.name = "y", .dtype = ring.dtype, .array = y, .space = Space::any, .at = at}};
  c.spec.scratch = std::move(scratch);
  c.spec.scratch.push_back({.name = "sent", .dtype = DType::dma_semaphore, .shape = each, .space = Space::semaphore});
  c.spec.scratch.push_back(
      {.name = "received", .dtype = DType::dma_semaphore, .shape = each, .space = Space::semaphore});
  c.spec.scratch.push_back(
      {.name = "credit", .dtype = DType::semaphore, .shape = {ring.lanes()}, .space = Space::semaphore});
  c.spec.collective_id = 0;
  c.spec.has_communication = true;
  c.devices = ring.devices;
  c.device_reference = [reference = std::move(reference)](std::span<const Arrays> in) {
    reference::PerDevice all;
    for (const Arrays& device : in) all.push_back(to_reference(device[0]));
    std::vector<Arrays> results;
    for (const reference::Array& device : reference(all)) results.push_back({from_reference(device)});
    return results;
  };
  c.headline = "x " + array_text(ring.dtype, x) + " on each of " + plural(ring.devices, "device");
  return c;
}

void connect(Lane& lane, const Ring& ring, const Core& core, int index, int direction, int64_t chunks,
             std::span<const Ref> refs) {
  const std::span<const Ref> semaphores = refs.last(3);
  lane.to = ring.neighbour(core.device_id(), direction);
  lane.from = ring.neighbour(core.device_id(), -direction);
  // A message needs what the one of the hop before has brought: not more in flight than a hop has.
  lane.window = std::clamp<int64_t>(chunks, 1, ring.in_flight);
  lane.sent = semaphores[0]({index});
  lane.received = semaphores[1]({index});
  lane.credit = semaphores[2]({index});
}

void run_lanes(Core& core, const Ring& ring, std::span<const Lane> lanes, const RingProtocol& protocol) {
  protocol.enter(core, ring.neighbour(core.device_id(), -1), ring.neighbour(core.device_id(), 1));
  int64_t steps = 0;
  for (const Lane& lane : lanes) steps = std::max(steps, lane.messages + lane.window);
  core.loop(0, steps, [&](int64_t t) {
    for (const Lane& lane : lanes)
      if (lane.messages > 0 && t < lane.messages + lane.window) protocol.step(core, lane, t);
  });
}

}  // namespace tilecheck
