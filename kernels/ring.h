// What collectives over a ring of devices share: neighbours, the barrier, and messages that go round in one direction.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "harness/kernel.h"
#include "kernels/tiling.h"
#include "reference/collectives.h"

namespace tilecheck {

// The parameters that all of them have.
struct Ring {
  explicit Ring(const ParamValues& values);
  static std::vector<Param> params(std::vector<DType> dtypes);

  int devices;
  int64_t rows, columns, chunk_rows;
  int64_t in_flight;   // messages at most, in one direction
  bool bidirectional;  // half of the rows goes round the other way
  DType dtype;

  int lanes() const { return bidirectional ? 2 : 1; }
  int neighbour(int device, int64_t steps) const;  // steps to the right, or to the left when negative
};

// Rows [begin, end) of an array go round in one direction, in chunks.
struct LaneRows {
  int direction = 1;  // 1: to the right, -1: to the left
  int64_t begin = 0, end = 0;
  int64_t count() const { return end - begin; }
};
std::vector<LaneRows> lanes_of(const Ring& ring, int64_t rows);

// The messages of one direction, seen from one device: it sends message t to the neighbour `to` while message t of the
// neighbour `from` arrives. Every device calls the same messages by the same numbers.
struct Lane {
  int to = 0, from = 0;
  int64_t messages = 0;
  int64_t window = 1;  // in flight at most; message t may need what message t - window has brought
  Ref sent, received;  // DMA semaphores, one for each message in flight
  Ref credit;          // a regular semaphore: `to` is done with what message t - window brought
  std::function<Ref(int64_t t)> source, target;  // of the message that leaves; target: an address on `to`
  std::function<Ref(int64_t t)> arriving;        // where the message that arrives stands
  std::function<void(int64_t t)> before, after;  // unset, or: called before t leaves, and once t has arrived
};

// How the devices keep out of each other's way. Broken twins have others.
struct RingProtocol {
  // No remote copy may reach a device that has not entered the kernel.
  std::function<void(Core&, int left, int right)> enter;
  // Step t of a lane, 0 <= t < messages + window: message t - window is awaited, message t leaves.
  std::function<void(Core&, const Lane&, int64_t t)> step;
};
RingProtocol ring_protocol();

// x to y, both in HBM, without grid. The body gets x, y, `scratch`, and then the semaphores of the lanes.
KernelCase ring_case(std::string name, const Ring& ring, const Shape& x, const Shape& y, std::vector<Scratch> scratch,
                     std::function<reference::PerDevice(const reference::PerDevice&)> reference, Loc at = here());
// Gives lane `index` its neighbours, its window and its share of the semaphores, the last of `refs`.
void connect(Lane& lane, const Ring& ring, const Core& core, int index, int direction, int64_t chunks,
             std::span<const Ref> refs);

// Enters, then takes all lanes through all their steps, side by side.
void run_lanes(Core& core, const Ring& ring, std::span<const Lane> lanes, const RingProtocol& protocol);

}  // namespace tilecheck
