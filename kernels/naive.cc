#include "kernels/naive.h"

#include <cassert>
#include <cstring>

namespace tilecheck {

Tile Naive::tile(const HostArray& array) { return tile(array, {}); }

Tile Naive::tile(const HostArray& array, const Dims& index) {
  Shape rest;
  int64_t flat = 0;
  for (int d = 0; d < array.shape().rank(); ++d) {
    if (d < index.rank())
      flat = flat * array.shape()[d] + index[d];
    else
      rest.push_back(array.shape()[d]);
  }
  Tile tile = Tile::dense(context_, array.dtype(), rest);
  const int64_t bytes = tile.size() * storage_bytes(array.dtype());
  std::memcpy(tile.writable_bytes(), array.data() + flat * bytes, static_cast<size_t>(bytes));
  return tile;
}

HostArray Naive::array(const Tile& tile) {
  HostArray array(tile.dtype(), tile.shape());
  write(tile, array, 0);
  return array;
}

void Naive::write(const Tile& tile, HostArray& array, int64_t offset) {
  assert(tile.dtype() == array.dtype() && offset + tile.size() <= array.size());
  const Tile whole = tile.materialized();
  const int64_t width = storage_bytes(array.dtype());
  std::memcpy(array.data() + offset * width, whole.strip(0, whole.size(), nullptr),
              static_cast<size_t>(whole.size() * width));
}

}  // namespace tilecheck
