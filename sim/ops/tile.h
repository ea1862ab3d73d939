// Tile: an immutable value of up to kMaxRank dimensions, the register-level currency of both doors.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "sim/types/dtype.h"
#include "sim/types/shape.h"

namespace tilecheck {

struct OpContext;

// The shadow byte of an element of which nothing is known: a bit per byte.
inline constexpr uint8_t undefined_mask(int element_bytes) { return static_cast<uint8_t>((1u << element_bytes) - 1u); }
inline uint8_t undefined_mask(DType dtype) { return undefined_mask(storage_bytes(dtype)); }
// Set beside it, in elements narrower than 8 bytes, when the element was computed from defined and undefined data
// together, not merely left unwritten, moved or converted.
inline constexpr uint8_t kComputedFlag = 0x80;
inline uint8_t computed_mask(DType dtype) {
  return static_cast<uint8_t>(undefined_mask(dtype) | (storage_bytes(dtype) < 8 ? kComputedFlag : 0));
}

// How a tile keeps its elements.
enum class Layout : uint8_t {
  dense,     // row-major elements in a block
  splat,     // every element is the same; rank-0 tiles are always splats, so scalars never allocate
  repeated,  // a lazy broadcast or iota: element i (row-major) is block element (i / repeat_inner()) % repeat_period()
  rows,      // rows of somebody else's memory that stand apart: element i is block element
             // (i / row_length()) * row_stride() + i % row_length()
  shape_only,  // no data: a recording run, in which only types and shapes flow
};

// A reference-counted run of bytes: from a TilePool, 64-byte aligned, or lent. Not shared between threads.
struct TileBlock {
  uint32_t references;
  uint32_t size_class;  // of the pool that owns it
  int64_t capacity_bytes;
  int64_t shift_bytes;  // from the start of the memory it came in
  class TilePool* pool;
  std::byte* bytes;
  std::byte* own_bytes() { return reinterpret_cast<std::byte*>(this) + 64; }
};

// Counted pointer to a TileBlock.
class BlockPtr {
 public:
  BlockPtr() = default;
  explicit BlockPtr(TileBlock* block) : block_(block) {}  // takes over one reference
  BlockPtr(const BlockPtr& other) : block_(other.block_) {
    if (block_) ++block_->references;
  }
  BlockPtr(BlockPtr&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  BlockPtr& operator=(BlockPtr other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~BlockPtr() { release(); }
  explicit operator bool() const { return block_ != nullptr; }
  std::byte* data() const { return block_->bytes; }
  // Whether nobody else sees the bytes: they may be written.
  bool unique() const { return block_ && block_->references == 1 && block_->bytes == block_->own_bytes(); }

 private:
  void release();
  TileBlock* block_ = nullptr;
};

// Recycles blocks by size class (four to each power of two), so that a body's grid loop does not call malloc. One per
// core; must outlive its blocks. Not thread-safe.
class TilePool {
 public:
  TilePool() = default;
  TilePool(const TilePool&) = delete;
  TilePool& operator=(const TilePool&) = delete;
  ~TilePool();
  BlockPtr allocate(int64_t size_bytes) { return BlockPtr(take(size_bytes)); }
  // Memory of somebody else's that outlives the block, for reading alone.
  BlockPtr lend(const std::byte* bytes);
  int64_t held_bytes() const { return held_bytes_; }  // from the system, in use or free

 private:
  friend class BlockPtr;
  TileBlock* take(int64_t size_bytes);
  void recycle(TileBlock* block);
  TileBlock* free_[4 * 48] = {};  // singly linked through the data
  int64_t held_bytes_ = 0;
  int64_t large_blocks_ = 0;
};

inline void BlockPtr::release() {
  if (block_ && --block_->references == 0) block_->pool->recycle(block_);
}

// Immutable once made; copies share the block. `undefined`, when present, holds one byte per element (row-major): bit b
// says that byte b of the element is undefined (any nonzero: the element is not to be trusted); null means that all is
// defined. The byte resolution lets a 32-bit word assembled from defined and undefined halves be taken apart again
// exactly.
class Tile {
 public:
  Tile() = default;
  // Elements not initialised; stored as context.repr_of(dtype).
  static Tile dense(OpContext& context, DType dtype, const Shape& shape);
  static Tile splat(OpContext& context, DType dtype, const Shape& shape, double value);
  // Bits in repr's encoding.
  static Tile splat_bits(OpContext& context, DType dtype, const Shape& shape, uint64_t bits);
  static Tile scalar(OpContext& context, DType dtype, double value) { return splat(context, dtype, {}, value); }
  static Tile scalar_int(OpContext& context, DType dtype, int64_t value);
  static Tile shape_only(OpContext& context, DType dtype, const Shape& shape);

  bool has_value() const { return context_ != nullptr; }
  DType dtype() const { return dtype_; }  // the declared type
  DType repr() const { return repr_; }    // how elements are stored: dtype(), or f64 for floats under Numerics::f64
  Layout layout() const { return layout_; }
  const Shape& shape() const { return shape_; }
  int rank() const { return shape_.rank(); }
  int64_t size() const { return size_; }
  bool is_scalar() const { return shape_.rank() == 0; }
  OpContext& context() const { return *context_; }

  // Dense only; readers that do not know the layout use strip() or materialized(). Writable access is for the maker of
  // the tile, before it is shared.
  template <typename T>
  const T* data() const {
    assert(layout_ == Layout::dense);
    return reinterpret_cast<const T*>(block_.data());
  }
  std::byte* writable_bytes() {
    assert(layout_ == Layout::dense);
    return block_.data();
  }
  uint64_t splat_bits() const {
    assert(layout_ == Layout::splat);
    return splat_bits_;
  }
  int64_t repeat_inner() const { return inner_; }    // repeated only
  int64_t repeat_period() const { return period_; }  // repeated only: elements in the block
  int64_t row_length() const { return inner_; }      // rows only
  int64_t row_stride() const { return period_; }     // rows only
  bool sole_owner() const { return block_.unique(); }
  // Elements offset .. offset + n in repr, consecutive, whatever the layout: the tile's own bytes when it is dense,
  // else written to scratch (room for n elements); returns where they are.
  const void* strip(int64_t offset, int64_t n, void* scratch) const;

  bool all_defined() const { return !undefined_; }
  const uint8_t* undefined() const {
    return undefined_ ? reinterpret_cast<const uint8_t*>(undefined_.data()) : nullptr;
  }
  // Gives the tile a shadow of size() bytes, splats too. Contents are the caller's to fill.
  uint8_t* make_shadow();
  void drop_shadow() { undefined_ = {}; }
  bool any_undefined() const;

  // One element, row-major, whatever the layout.
  double at(int64_t i) const;
  int64_t int_at(int64_t i) const;
  // A rank-0 tile's value.
  double value() const { return at(0); }
  int64_t int_value() const { return int_at(0); }
  // The same elements, dense (a rank-0 tile stays a splat).
  Tile materialized() const;
  // The same bytes under another shape of equal size. Free.
  Tile reshaped(const Shape& shape) const;

 private:
  friend struct TileParts;  // the operations' own access
  void copy_rows(int64_t offset, int64_t n, std::byte* to) const;
  OpContext* context_ = nullptr;
  DType dtype_ = DType::f32;
  DType repr_ = DType::f32;
  Layout layout_ = Layout::splat;
  Shape shape_;
  int64_t size_ = 1;
  uint64_t splat_bits_ = 0;
  int64_t inner_ = 1, period_ = 1;
  BlockPtr block_;
  BlockPtr undefined_;
};

}  // namespace tilecheck
