#include "sim/ops/move.h"

#include <algorithm>
#include <cstring>

namespace tilecheck {
namespace {

struct Loop {
  int64_t n, to, from;  // extent and strides
};

// At most this many elements a side: two tiles of 8 bytes an element stay in the first-level cache.
constexpr int64_t kTransposeTile = 16;

template <class T>
void move_rows(T* to, const T* from, const Loop& rows, const Loop& columns) {
  for (int64_t r = 0; r < rows.n; ++r) {
    T* out = to + r * rows.to;
    const T* in = from + r * rows.from;
    if (columns.to == 1 && columns.from == 1) {
      std::memcpy(out, in, static_cast<size_t>(columns.n) * sizeof(T));
    } else if (columns.to == 1 && columns.from == 0) {
      std::fill_n(out, columns.n, *in);
    } else {
      for (int64_t c = 0; c < columns.n; ++c) out[c * columns.to] = in[c * columns.from];
    }
  }
}

template <class T>
void move_plane(T* to, const T* from, const Loop& rows, const Loop& columns) {
  if (columns.from <= 1 || rows.n == 1) return move_rows(to, from, rows, columns);
  for (int64_t r = 0; r < rows.n; r += kTransposeTile)
    for (int64_t c = 0; c < columns.n; c += kTransposeTile)
      move_rows(to + r * rows.to + c * columns.to, from + r * rows.from + c * columns.from,
                {std::min(kTransposeTile, rows.n - r), rows.to, rows.from},
                {std::min(kTransposeTile, columns.n - c), columns.to, columns.from});
}

template <class T>
void move_outer(T* to, const T* from, const Loop* loops, int count) {
  if (count == 2) return move_plane(to, from, loops[0], loops[1]);
  for (int64_t i = 0; i < loops[0].n; ++i)
    move_outer(to + i * loops[0].to, from + i * loops[0].from, loops + 1, count - 1);
}

}  // namespace

void move_elements(std::byte* to, const Dims& to_strides, const std::byte* from, const Dims& from_strides,
                   const Shape& shape, int bytes) {
  // Neighbouring dimensions that step alike are one loop; there are always at least two.
  Loop loops[kMaxRank + 2];
  int count = 0;
  for (int d = 0; d < shape.rank(); ++d) {
    if (shape[d] == 0) return;
    if (shape[d] == 1) continue;
    const Loop loop = {shape[d], to_strides[d], from_strides[d]};
    if (count > 0 && loops[count - 1].to == loop.to * loop.n && loops[count - 1].from == loop.from * loop.n)
      loops[count - 1] = {loops[count - 1].n * loop.n, loop.to, loop.from};
    else
      loops[count++] = loop;
  }
  if (count == 0) loops[count++] = {1, 1, 1};
  if (count == 1) {
    loops[1] = loops[0];
    loops[0] = {1, 0, 0};
    count = 2;
  }
  const auto as = [&]<class T>(T) {
    move_outer(reinterpret_cast<T*>(to), reinterpret_cast<const T*>(from), loops, count);
  };
  switch (bytes) {
    case 1:
      return as(uint8_t{});
    case 2:
      return as(uint16_t{});
    case 4:
      return as(uint32_t{});
    default:
      return as(uint64_t{});
  }
}

}  // namespace tilecheck
