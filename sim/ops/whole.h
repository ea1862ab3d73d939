// Operations on whole tiles, by group. Operands and attributes are checked; results carry their shadow. For the .cc
// files of this folder.
#pragma once

#include "sim/ops/ops.h"

namespace tilecheck {

Tile run_shape(OpContext& context, const OpCall& call, std::span<Tile> operands, const TypeAndShape& result);
Tile run_bitcast(OpContext& context, const OpCall& call, Tile from, const TypeAndShape& result);
Tile run_pack(OpContext& context, const OpCall& call, std::span<const Tile> operands, const TypeAndShape& result);
Tile run_unpack(OpContext& context, const OpCall& call, Tile from, const TypeAndShape& result);
Tile run_reduce(OpContext& context, const OpCall& call, std::span<Tile> operands, const TypeAndShape& result);
Tile run_argument(OpContext& context, const OpCall& call, Tile from, const TypeAndShape& result);
// factor and addend, which may be null: see MatmulEnd; only where can_end_matmul().
Tile run_matmul(OpContext& context, const OpCall& call, std::span<Tile> operands, const TypeAndShape& result,
                const Tile* factor = nullptr, const Tile* addend = nullptr);

// The same elements converted by `op` to another storage (f32 for sums of narrow types, say), which becomes the
// declared type too. Dense, or a splat for a splat.
Tile with_repr(OpId op, Tile tile, DType repr);
// The dimensions in another order.
Tile permuted(const Tile& tile, const Dims& permutation);

}  // namespace tilecheck
