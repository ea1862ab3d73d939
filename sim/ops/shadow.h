// Definedness of results: which bytes depend on undefined memory. For the .cc files of this folder and
// of sim/memory.
#pragma once

#include "sim/ops/ops.h"

namespace tilecheck {

inline bool any_shadow(std::span<const Tile> operands) {
  for (const Tile& tile : operands)
    if (!tile.all_defined()) return true;
  return false;
}

// The shadow of an elementwise result (select, conversions and equal-width bitcasts too), size element_count(shape)
// bytes; null when all is defined. Reads operands, so it comes before run_elementwise.
BlockPtr elementwise_shadow(OpContext& context, const OpCall& call, std::span<const Tile> operands,
                            const TypeAndShape& result);

// Every element undefined, by a computation.
BlockPtr undefined_everywhere(OpContext& context, DType dtype, int64_t size);

bool has_set_byte(const uint8_t* bytes, int64_t n);

// The shadow, or null when no byte of it is set.
BlockPtr settled(BlockPtr shadow, int64_t size);

}  // namespace tilecheck
