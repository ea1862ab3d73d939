// TileParts: how the operations build tiles and take them apart. For the .cc files of this folder and
// of sim/memory.
#pragma once

#include "sim/ops/ops.h"

namespace tilecheck {

struct TileParts {
  static BlockPtr& block(Tile& tile) { return tile.block_; }
  static const BlockPtr& block(const Tile& tile) { return tile.block_; }
  static BlockPtr& shadow(Tile& tile) { return tile.undefined_; }
  static const BlockPtr& shadow(const Tile& tile) { return tile.undefined_; }
  static void set_shadow(Tile& tile, BlockPtr shadow) { tile.undefined_ = std::move(shadow); }

  // The block's elements, dense, repeated or in rows; for a splat the address of its bits.
  static const std::byte* bytes(const Tile& tile) {
    return tile.layout_ == Layout::splat ? reinterpret_cast<const std::byte*>(&tile.splat_bits_) : tile.block_.data();
  }
  static std::byte* splat_address(Tile& tile) { return reinterpret_cast<std::byte*>(&tile.splat_bits_); }

  static Tile make(OpContext& context, DType dtype, const Shape& shape, Layout layout) {
    Tile tile;
    tile.context_ = &context;
    tile.dtype_ = dtype;
    tile.repr_ = context.repr_of(dtype);
    tile.layout_ = layout;
    tile.shape_ = shape;
    tile.size_ = element_count(shape);
    return tile;
  }
  static Tile from_block(OpContext& context, DType dtype, const Shape& shape, BlockPtr block) {
    Tile tile = make(context, dtype, shape, Layout::dense);
    tile.block_ = std::move(block);
    return tile;
  }
  // block holds `period` elements.
  static Tile repeated(OpContext& context, DType dtype, const Shape& shape, BlockPtr block, int64_t inner,
                       int64_t period) {
    Tile tile = make(context, dtype, shape, Layout::repeated);
    tile.block_ = std::move(block);
    tile.inner_ = inner;
    tile.period_ = period;
    return tile;
  }
  // block: the first row's.
  static Tile rows(OpContext& context, DType dtype, const Shape& shape, BlockPtr block, int64_t length,
                   int64_t stride) {
    Tile tile = make(context, dtype, shape, Layout::rows);
    tile.block_ = std::move(block);
    tile.inner_ = length;
    tile.period_ = stride;
    return tile;
  }
  // The same storage under another declared type of equal width, or another shape of equal size.
  static Tile retyped(Tile tile, DType dtype, const Shape& shape) {
    tile.dtype_ = dtype;
    tile.repr_ = tile.context_->repr_of(dtype);
    tile.shape_ = shape;
    return tile;
  }
};

inline int repr_bytes(const Tile& tile) { return storage_bytes(tile.repr()); }

}  // namespace tilecheck
