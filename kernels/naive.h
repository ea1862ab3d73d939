// Naive computations: the same operations in the same types as a kernel, on whole arrays. No blocks, no running sums:
// what error is left is what rounding alone makes, and a kernel is allowed a small multiple of it.
#pragma once

#include "sim/ops/ops.h"
#include "sim/types/host_array.h"

namespace tilecheck {

// Turns arrays into tiles and back. Tiles must not outlive it.
class Naive {
 public:
  // mxu: products as the matrix unit makes them. f64: as exact, since these arrays hold the kernel's own types.
  explicit Naive(Numerics numerics = Numerics::exact)
      : context_{.pool = &pool_, .numerics = numerics == Numerics::mxu ? Numerics::mxu : Numerics::exact} {}

  Tile tile(const HostArray& array);
  // array[index..., :, ...]: the part that the first indices pick.
  Tile tile(const HostArray& array, const Dims& index);
  Tile iota(const Shape& shape, int dimension) { return tilecheck::iota(context_, DType::i32, shape, dimension); }
  static HostArray array(const Tile& tile);
  // Writes a tile's elements, of the array's type, from element `offset` on.
  static void write(const Tile& tile, HostArray& array, int64_t offset);

 private:
  TilePool pool_;
  OpContext context_;
};

}  // namespace tilecheck
