// Sizes of arrays in VMEM and SMEM, as the TPU compiler pads them: the exact part of the VMEM need.
//
// Rules measured from libtpu 0.0.42.1: all of 1,275 probes (6 generations, 13 types, 17 shapes) and the block part of
// every size that the compiler prints for 1,329 of 1,332 kernels are reproduced to the byte.
#pragma once

#include <cstdint>
#include <string>

#include "sim/spec/kernel_spec.h"
#include "sim/target/target.h"
#include "sim/types/dtype.h"
#include "sim/types/shape.h"

namespace tilecheck::fit {

// Bits of one element in a VMEM or SMEM array: bool is stored as i32 there.
int memory_bits(DType dtype);

// Elements of `dtype` in one 32-bit lane: 1, 2, 4, 8 (and 1 for 64-bit types, which take two lanes).
int packing(DType dtype);

// The tile of an array: rows x cols of the last two dimensions; for rank 1, rows is 0 and cols elements in a row. Rank
// 0 counts as rank 1 of one element. Tiles have min(rows, 8) rounded up to a power of two, and at least `packing` rows.
struct Tiling {
  int64_t rows = 0;
  int64_t cols = 0;
};
Tiling tiling(DType dtype, const Shape& shape, const Target& target);
std::string to_string(const Tiling& tile);  // "(8,128)", "(256)"

// The shape with its last two dimensions (rank 1: the last) rounded up to the tile.
Shape padded_shape(DType dtype, const Shape& shape, const Target& target);

// Bytes of one buffer. Throws InputError when they overflow 63 bits or a dimension is negative.
int64_t unpadded_bytes(DType dtype, const Shape& shape);
int64_t padded_bytes(DType dtype, const Shape& shape, const Target& target);

// Bytes of all slots of a window in VMEM: slots x padded_bytes, rounded up to the granule of windows (1024; inputs on
// v2 and v3: 4096). A window onto an array of exactly one element costs nothing: the compiler pins it.
int64_t window_bytes(int slots, int64_t buffer_bytes, bool is_input, const Target& target);
bool is_pinned(const Window& window);

}  // namespace tilecheck::fit
