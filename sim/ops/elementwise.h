// Runs strip functions over whole tiles, whatever their layouts. For the .cc files of this folder.
#pragma once

#include "sim/ops/ops.h"

namespace tilecheck {

// Operands checked; the result has no shadow yet. Operand blocks may be taken over.
Tile run_elementwise(OpContext& context, const OpCall& call, std::span<Tile> operands, const TypeAndShape& result);

}  // namespace tilecheck
