// Naive computations: the same operations in the same types as a kernel, on whole arrays. No blocks, no running sums:
// what error is left is what rounding alone makes, and a kernel is allowed a small multiple of it.
#pragma once

#include "sim/ops/ops.h"
#include "sim/types/host_array.h"

namespace tilecheck {

// Turns arrays into tiles and back. Tiles must not outlive it.
class Naive {
 public:
  Tile tile(const HostArray& array);
  static HostArray array(const Tile& tile);

 private:
  TilePool pool_;
  OpContext context_{.pool = &pool_};
};

}  // namespace tilecheck
