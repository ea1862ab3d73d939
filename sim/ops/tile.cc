#include "sim/ops/tile.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <new>

#include "sim/ops/elements.h"
#include "sim/ops/ops.h"
#include "sim/ops/recorded.h"
#include "sim/ops/shadow.h"
#include "sim/ops/tile_parts.h"
#include "sim/types/error.h"

namespace tilecheck {
namespace {

constexpr int64_t kHeaderBytes = 64;
constexpr int64_t kLargeBytes = 16384, kShiftBytes = 448;
static_assert(sizeof(TileBlock) <= kHeaderBytes);

// Classes 4 e + q hold (4 + q) / 4 * 2^e bytes, from 64 up.
uint32_t size_class_of(int64_t bytes) {
  const uint64_t n = static_cast<uint64_t>(std::max<int64_t>(bytes, 64));
  const uint32_t e = static_cast<uint32_t>(std::bit_width(n) - 1);
  const uint64_t quarter = uint64_t{1} << (e - 2);
  const uint32_t q = static_cast<uint32_t>((n - (uint64_t{1} << e) + quarter - 1) / quarter);
  return 4 * e + q;  // q may be 4: the next power of two
}

int64_t capacity_of(uint32_t size_class) { return (4 + int64_t{size_class % 4}) << (size_class / 4 - 2); }

}  // namespace

TilePool::~TilePool() {
  for (TileBlock* block : free_)
    while (block) {
      TileBlock* next;
      std::memcpy(&next, block->own_bytes(), sizeof next);
      std::free(reinterpret_cast<std::byte*>(block) - block->shift_bytes);
      block = next;
    }
}

TileBlock* TilePool::take(int64_t size_bytes) {
  const uint32_t size_class = size_class_of(size_bytes);
  if (TileBlock* block = free_[size_class]) {
    std::memcpy(&free_[size_class], block->own_bytes(), sizeof block);
    block->references = 1;
    return block;
  }
  const int64_t capacity = capacity_of(size_class);
  // Large blocks begin at different offsets into a page: loads and stores that stand at the same one wait for each
  // other.
  const int64_t shift = capacity < kLargeBytes ? 0 : large_blocks_++ % 8 * kShiftBytes;
  const int64_t total = (shift + kHeaderBytes + capacity + 63) / 64 * 64;
  std::byte* memory = static_cast<std::byte*>(std::aligned_alloc(64, static_cast<size_t>(total)));
  if (!memory) throw std::bad_alloc();
  held_bytes_ += total;
  auto* block = new (memory + shift) TileBlock{1, size_class, capacity, shift, this, nullptr};
  block->bytes = block->own_bytes();
  return block;
}

BlockPtr TilePool::lend(const std::byte* bytes) {
  TileBlock* block = take(0);
  block->bytes = const_cast<std::byte*>(bytes);  // never written: the block is not unique()
  return BlockPtr(block);
}

void TilePool::recycle(TileBlock* block) {
  block->bytes = block->own_bytes();
  std::memcpy(block->bytes, &free_[block->size_class], sizeof block);
  free_[block->size_class] = block;
}

Tile Tile::dense(OpContext& context, DType dtype, const Shape& shape) {
  Tile tile = TileParts::make(context, dtype, shape, Layout::dense);
  tile.block_ = context.pool->allocate(tile.size_ * storage_bytes(tile.repr_));
  return tile;
}

Tile Tile::splat(OpContext& context, DType dtype, const Shape& shape, double value) {
  const DType repr = context.repr_of(dtype);
  return splat_bits(context, dtype, shape, encode_element(repr, value));
}

Tile Tile::splat_bits(OpContext& context, DType dtype, const Shape& shape, uint64_t bits) {
  Tile tile = TileParts::make(context, dtype, shape, Layout::splat);
  tile.splat_bits_ = bits;
  return tile;
}

Tile Tile::scalar_int(OpContext& context, DType dtype, int64_t value) {
  const DType repr = context.repr_of(dtype);
  return splat_bits(context, dtype, {},
                    is_floating(repr) ? encode_element(repr, static_cast<double>(value)) : encode_int(repr, value));
}

Tile Tile::shape_only(OpContext& context, DType dtype, const Shape& shape) {
  Tile tile = TileParts::make(context, dtype, shape, Layout::shape_only);
  tile.block_ = context.pool->allocate(sizeof(int64_t));
  set_value_number(tile, -1);
  return tile;
}

int64_t value_number(const Tile& tile) {
  int64_t number = -1;
  if (tile.layout() == Layout::shape_only) std::memcpy(&number, TileParts::block(tile).data(), sizeof number);
  return number;
}

void set_value_number(const Tile& tile, int64_t number) {
  assert(tile.layout() == Layout::shape_only);
  std::memcpy(TileParts::block(tile).data(), &number, sizeof number);
}

uint8_t* Tile::make_shadow() {
  undefined_ = context_->pool->allocate(size_);
  return reinterpret_cast<uint8_t*>(undefined_.data());
}

bool Tile::any_undefined() const {
  if (!undefined_) return false;
  return has_set_byte(undefined(), size_);
}

const void* Tile::strip(int64_t offset, int64_t n, void* scratch) const {
  assert(offset >= 0 && n >= 0 && offset + n <= size_);
  const int bytes = storage_bytes(repr_);
  if (layout_ == Layout::dense) return block_.data() + offset * bytes;
  if (layout_ == Layout::splat) {
    fill_elements(scratch, &splat_bits_, bytes, n);
    return scratch;
  }
  if (layout_ == Layout::shape_only)
    throw Incomplete("the body reads a tile's elements outside of core's operations: a run without data has none");
  std::byte* to = static_cast<std::byte*>(scratch);
  if (layout_ == Layout::rows) {
    copy_rows(offset, n, to);
    return scratch;
  }
  for (int64_t done = 0; done < n;) {
    const int64_t i = offset + done;
    const int64_t at = i / inner_ % period_;
    int64_t run;
    if (inner_ == 1) {
      run = std::min(n - done, period_ - at);
      std::memcpy(to + done * bytes, block_.data() + at * bytes, static_cast<size_t>(run * bytes));
    } else {
      run = std::min(n - done, inner_ - i % inner_);
      fill_elements(to + done * bytes, block_.data() + at * bytes, bytes, run);
    }
    done += run;
  }
  return scratch;
}

void Tile::copy_rows(int64_t offset, int64_t n, std::byte* to) const {
  const int64_t bytes = storage_bytes(repr_);
  for (int64_t done = 0; done < n;) {
    const int64_t row = (offset + done) / inner_, at = (offset + done) % inner_;
    const int64_t run = std::min(n - done, inner_ - at);
    const std::byte* from = block_.data() + (row * period_ + at) * bytes;
    // The next row is asked for while this one moves.
    for (int64_t k = 0; done + run < n && k < run * bytes; k += 64) __builtin_prefetch(from + period_ * bytes + k);
    std::memcpy(to + done * bytes, from, static_cast<size_t>(run * bytes));
    done += run;
  }
}

double Tile::at(int64_t i) const {
  assert(i >= 0 && i < size_);
  uint64_t element = 0;
  return decode_element(repr_, strip(i, 1, &element));
}

int64_t Tile::int_at(int64_t i) const {
  assert(i >= 0 && i < size_);
  uint64_t element = 0;
  const void* p = strip(i, 1, &element);
  return is_floating(repr_) ? static_cast<int64_t>(decode_element(repr_, p)) : decode_int(repr_, p);
}

Tile Tile::materialized() const {
  if (layout_ == Layout::dense || layout_ == Layout::shape_only || rank() == 0) return *this;
  Tile tile = dense(*context_, dtype_, shape_);
  strip(0, size_, tile.block_.data());
  tile.undefined_ = undefined_;
  return tile;
}

Tile Tile::reshaped(const Shape& shape) const {
  assert(element_count(shape) == size_);
  Tile tile = *this;
  tile.shape_ = shape;
  // Rank-0 tiles are splats.
  if (shape.rank() == 0 && layout_ != Layout::splat && layout_ != Layout::shape_only) {
    tile.splat_bits_ = 0;
    std::memcpy(&tile.splat_bits_, block_.data(), static_cast<size_t>(storage_bytes(repr_)));
    tile.layout_ = Layout::splat;
    tile.block_ = {};
  }
  return tile;
}

}  // namespace tilecheck
