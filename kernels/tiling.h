// What most kernels need to cut arrays into blocks: how many there are, and which part of the last one is real.
#pragma once

#include <cstdint>
#include <source_location>

#include "sim/machine/core.h"

namespace tilecheck {

// Blocks of `block` that cover `n` elements; the last may stick out.
constexpr int64_t block_count(int64_t n, int64_t block) { return (n + block - 1) / block; }
constexpr int64_t round_up(int64_t n, int64_t block) { return block_count(n, block) * block; }

// Where a window is declared, for findings about it.
constexpr Loc here(std::source_location at = std::source_location::current()) { return at; }

// [rows, 1] and [1, columns] masks that are true for the first `count`: they broadcast against a whole tile.
inline Tile first_rows(Core& core, int64_t rows, int64_t count) {
  return lt(core.iota(DType::i32, {rows, 1}, 0), static_cast<double>(count));
}
inline Tile first_columns(Core& core, int64_t columns, int64_t count) {
  return lt(core.iota(DType::i32, {1, columns}, 1), static_cast<double>(count));
}

// `tile` where `mask` is true, `other` elsewhere.
inline Tile keep_where(Tile mask, Tile tile, double other) {
  Tile fill = Tile::scalar(tile.context(), tile.dtype(), other);
  return select(std::move(mask), std::move(tile), std::move(fill));
}

// The rows of a [rows, columns] Ref, with 0 in place of all but the first `count`: where those beyond are undefined,
// and would spoil a sum that multiplies them by 0.
inline Tile load_first_rows(Core& core, const Ref& ref, int64_t count, Loc at = std::source_location::current()) {
  Tile tile = core.load(ref, {}, at);
  const int64_t rows = tile.shape()[0];
  return count < rows ? keep_where(first_rows(core, rows, count), std::move(tile), 0) : tile;
}

}  // namespace tilecheck
