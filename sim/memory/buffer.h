// Buffer: one array in one simulated memory, with its bytes and which of them are defined.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/memory/box.h"
#include "sim/ops/tile.h"
#include "sim/report/loc.h"
#include "sim/spec/kernel_spec.h"
#include "sim/types/host_array.h"

namespace tilecheck {

class AccessHistory;  // sim/sync: the accesses some agent could still race with

// Definedness of a buffer's elements: one byte per element as in Tile, kept only while it is mixed.
class Shadow {
 public:
  enum class State : uint8_t { defined, undefined, mixed };
  Shadow(int64_t element_count, State state, uint8_t undefined)
      : count_(element_count), state_(state), undefined_(undefined) {}
  State state() const { return state_; }
  // The byte of an element that is wholly undefined.
  uint8_t undefined_byte() const { return undefined_; }
  bool all_defined() const { return state_ == State::defined; }
  void set_all(bool defined) { state_ = defined ? State::defined : State::undefined; }
  // Bytes for element-wise work; switches to mixed.
  uint8_t* bytes();
  // Mixed only.
  const uint8_t* bytes() const { return bytes_.get(); }
  // Back to `defined` when no byte is set. Costs a scan; called where a whole-buffer scan is cheap.
  void settle();

 private:
  int64_t count_;
  State state_;
  uint8_t undefined_;
  std::unique_ptr<uint8_t[]> bytes_;
};

// Sizes and names are fixed at creation. Storage is row-major without tile padding; copies may reach into the padded
// extents, where reads are undefined and writes vanish.
struct Buffer {
  // pool: of the core that alone uses this memory; must outlive it. Null: others see the storage too.
  Buffer(std::string name, Space space, DType dtype, DType repr, const Shape& shape, int device, int core,
         TilePool* pool = nullptr);
  // Over existing memory (an operand's or result's array); dtype == repr.
  Buffer(std::string name, Space space, HostArray array, int device, int core);
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  // Fills with what fresh memory holds: NaN, or the largest integer; `garbage` other than 0 picks other bits (a
  // multiple of 3: NaN all the same). Happens at the first access that does not overwrite everything, so that memory
  // which nobody touches costs nothing.
  void fill_fresh();
  void ensure_filled() {
    if (!filled) fill();
  }
  // Fresh again, not yet filled.
  void forget() {
    filled = false;
    held = {};
  }
  // Every element has been written.
  void overwritten() {
    filled = true;
    if (held.has_value()) held = {};
  }
  // Every element is to be `value`'s, a tile of this dtype that is not dense: it is laid out when an access needs
  // bytes. A value broadcast along lanes, as kernels keep row maxima and sums, is then never expanded. Only with a
  // block; not the tile's shadow.
  void hold(Tile value) {
    filled = false;
    held = std::move(value);
  }

  // The storage, for writing: its own, whatever tiles shared it before. overwrites: every element is about to be
  // written.
  std::byte* writable(bool overwrites) {
    if (block && !block.unique()) leave_block(overwrites);
    return array.data();
  }
  // Takes over a tile's elements, all of this buffer's in its repr, without moving them. Only with a block.
  void share(BlockPtr elements);
  // Whether this buffer can show another memory's bytes instead of a copy of them.
  bool can_borrow() const { return block && pool_; }
  // Shows `bytes`, all of this buffer's elements in its repr, which nobody writes while this core runs. They are copied
  // when this buffer is to be written. Only where can_borrow().
  void borrow(const std::byte* bytes) { share(pool_->lend(bytes)); }

  std::string name;
  Space space;
  DType dtype;  // declared
  DType repr;   // stored (f64 for floats under Numerics::f64)
  Shape shape;
  Shape
      copy_extents;  // shape, the last two dimensions rounded up to the memory's tile (HBM and VMEM); bounds of copies
  int device;
  int core;                // -1: shared by the device's cores (HBM)
  bool alive = true;       // false once its scope has ended
  bool read_only = false;  // an operand that no result aliases: copies must not write it
  HostArray array;         // the storage; no storage for semaphores. To write, see writable()
  // What `array` views in memory that one core uses alone: tiles share it, so that neither a load nor a store of the
  // whole buffer moves anything. While they do, nobody writes it.
  BlockPtr block;
  Shadow shadow;
  bool filled = false;   // the bytes hold something definite: fresh garbage, or data
  Tile held;             // while not filled, see hold(); without a value: nothing yet
  uint32_t garbage = 0;  // for fill_fresh
  Loc allocated_at;
  // Set by the sync engine while some agent could race with an access to this buffer; null: nobody can.
  AccessHistory* history = nullptr;

 private:
  void fill();
  void leave_block(bool overwrites);
  TilePool* pool_ = nullptr;
};

}  // namespace tilecheck
