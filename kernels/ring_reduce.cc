// Hop s: a device sends what it has of block me - s - 1 (as seen to the right) and gets block me - s - 2, to which it
// adds its own part while the next message is on its way. After devices - 1 hops that is block me, from everybody.
//
// Sums travel in f32, so that each element is rounded to its own type once. Of the two buffers one holds what is sent,
// the other what arrives; they change places at each hop. The own part of a chunk is fetched while the chunk travels.
#include "kernels/ring_reduce.h"

#include <algorithm>

namespace tilecheck {
namespace {

struct Reduction {
  Ref x, y, sums, x_slots, y_slots, loaded, stored;  // of this lane
  ReduceLane lane;
  int devices, me, last_hop;
  int64_t chunk_rows, window;

  int block(int64_t after_hops) const {
    const int64_t steps = me - lane.direction * (after_hops + 1);
    return static_cast<int>((steps % devices + devices) % devices);
  }
  Slice rows(int64_t after_hops, int64_t c) const { return lane.x_rows(block(after_hops), c); }
  // The sum of chunk c after so many hops, here or at the device where it then is.
  Ref sum(int64_t after_hops, int64_t c, int64_t count) const {
    return sums({(after_hops + 1) % 2, ds(c * chunk_rows, count)});
  }
  Ref sent(int64_t t) const {
    const int64_t s = t / lane.chunks, c = t % lane.chunks;
    return sum(s, c, rows(s, c).size);
  }
  Ref x_slot(int64_t t, int64_t count) const { return x_slots({t % window, ds(0, count)}); }

  // Before the first hop a sum is this device's part alone.
  void begin(Core& core, int64_t t) const {
    const Slice own = rows(0, t);
    const Ref slot = x_slot(t, own.size), done = loaded({t % window});
    core.wait(core.start_copy(x({own}), slot, done));
    if (own.size > 0) core.store(sum(0, t, own.size), convert(core.load(slot), DType::f32));
  }
  // Fetches what is to be added to the chunk that arrives with message t.
  void fetch(Core& core, int64_t t) const {
    const Slice own = rows(t / lane.chunks + 1, t % lane.chunks);
    core.start_copy(x({own}), x_slot(t, own.size), loaded({t % window}));
  }
  void add(Core& core, int64_t t) const {
    const int64_t s = t / lane.chunks, c = t % lane.chunks, count = rows(s + 1, c).size;
    const Ref slot = x_slot(t, count), total = sum(s + 1, c, count);
    core.wait_bytes_of(loaded({t % window}), slot);
    if (count == 0) return;
    const Tile value = core.load(total) + convert(core.load(slot), DType::f32);
    if (s != last_hop) {
      core.store(total, value);
      return;
    }
    const Ref out = y_slots({ds(0, count)});
    core.store(out, convert(value, y.dtype));
    core.wait(core.start_copy(out, y({lane.y_rows(me, c)}), stored));
  }
};

}  // namespace

ResultRule sum_rule(const Ring& ring) {
  const double n = ring.devices;
  return {.atol = n * n * 0x1p-24};
}

std::vector<Scratch> reduce_scratch(const Ring& ring, int64_t chunks) {
  const int64_t lanes = ring.lanes();
  return {
      {.name = "sums", .dtype = DType::f32, .shape = {lanes, 2, chunks * ring.chunk_rows, ring.columns}},
      {.name = "x slots", .dtype = ring.dtype, .shape = {lanes, ring.in_flight, ring.chunk_rows, ring.columns}},
      {.name = "y slot", .dtype = ring.dtype, .shape = {lanes, ring.chunk_rows, ring.columns}},
      {.name = "loaded", .dtype = DType::dma_semaphore, .shape = {lanes, ring.in_flight}, .space = Space::semaphore},
      {.name = "stored", .dtype = DType::dma_semaphore, .shape = {lanes}, .space = Space::semaphore}};
}

Lane reduce_lane(Core& core, const Ring& ring, const ReduceLane& part, std::span<const Ref> refs) {
  const int64_t i = part.index, chunks = part.chunks;
  Lane lane;
  connect(lane, ring, core, part.index, part.direction, chunks, refs);
  const Reduction r{refs[0],          refs[1],         refs[2]({i}), refs[3]({i}), refs[4]({i}),
                    refs[5]({i}),     refs[6]({i}),    part,         ring.devices, core.device_id(),
                    ring.devices - 2, ring.chunk_rows, lane.window};
  lane.messages = (ring.devices - 1) * chunks;
  lane.source = [r](int64_t t) { return r.sent(t); };
  // At the neighbour the chunk has made one more hop.
  lane.target = [r](int64_t t) {
    const int64_t s = t / r.lane.chunks, c = t % r.lane.chunks;
    return r.sum(s + 1, c, r.rows(s, c).size);
  };
  lane.arriving = [r](int64_t t) {
    const int64_t s = t / r.lane.chunks, c = t % r.lane.chunks;
    return r.sum(s + 1, c, r.rows(s + 1, c).size);
  };
  lane.before = [r, &core](int64_t t) {
    if (t < r.lane.chunks) r.begin(core, t);
    r.fetch(core, t);
  };
  lane.after = [r, &core](int64_t t) { r.add(core, t); };
  return lane;
}

}  // namespace tilecheck
