// Moving elements between buffers and tiles, with their definedness. No checks: bounds, space and ordering come before.
#pragma once

#include "sim/memory/ref.h"
#include "sim/ops/ops.h"

namespace tilecheck {

// The elements of `ref` as a tile of ref.shape(). In bounds.
Tile load_tile(OpContext& context, const Ref& ref);
// Lanes where `mask` (b1, ref.shape()) is false are not read and read as undefined.
Tile load_tile_masked(OpContext& context, const Ref& ref, const Tile& mask);
// Writes `tile` (shape ref.shape(), dtype ref.dtype).
void store_tile(const Ref& ref, const Tile& tile);
// Lanes where `mask` is false are not written; undefined mask lanes leave an undefined element.
void store_tile_masked(const Ref& ref, const Tile& tile, const Tile& mask);

// What a copy does: `from` and `to` show the same shape and type. Elements outside the logical extents (tile padding)
// read as undefined, and writes to them vanish.
void copy_elements(const Ref& from, const Ref& to);
// The same without moving anything, where nobody writes `from`'s buffer any more, and all of `to`'s stands there in one
// piece or in long rows: it then shows the source's bytes, and copies them when it is written, or, of rows, read but in
// part. context: of the core that `to` belongs to.
void borrow_elements(OpContext& context, const Ref& from, const Ref& to);
// The same through a byte image, for copies whose source and target are touched at different times.
struct CopyImage {
  HostArray elements;                    // packed, in the buffer's repr
  std::unique_ptr<uint8_t[]> undefined;  // null: all defined
};
CopyImage read_image(const Ref& from);
void write_image(const CopyImage& image, const Ref& to);

// One scalar, without a tile: bits in the storage encoding, extended to 64 bits as apply_scalar has them; `undefined`
// receives the shadow byte.
uint64_t load_scalar(const Ref& ref, uint8_t* undefined);
void store_scalar(const Ref& ref, uint64_t bits, uint8_t undefined);

// Whether the accessed elements lie inside the buffer: logical extents for vector and scalar accesses, copy_extents for
// copies.
bool in_bounds(const Ref& ref, bool copy);

}  // namespace tilecheck
