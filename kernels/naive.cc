#include "kernels/naive.h"

#include <cstring>

namespace tilecheck {

Tile Naive::tile(const HostArray& array) {
  Tile tile = Tile::dense(context_, array.dtype(), array.shape());
  std::memcpy(tile.writable_bytes(), array.data(), static_cast<size_t>(array.size_bytes()));
  return tile;
}

HostArray Naive::array(const Tile& tile) {
  const Tile whole = tile.materialized();
  HostArray array(whole.dtype(), whole.shape());
  std::memcpy(array.data(), whole.strip(0, whole.size(), nullptr), static_cast<size_t>(array.size_bytes()));
  return array;
}

}  // namespace tilecheck
