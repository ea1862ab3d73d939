// Operations that run together, so that what passes between them stays in registers or in the first-level cache:
// elementwise ones over strips, and a matmul with the scaling and the addition that follow it. The bits are those of
// one whole-tile operation after another.
#pragma once

#include <array>
#include <span>

#include "sim/ops/ops.h"

namespace tilecheck {

inline constexpr int kMaxChainOperands = 3;
inline constexpr int kMaxChainSteps = 8;
inline constexpr int kMaxChainTiles = 8;
inline constexpr int kPrevious = -1;

struct ChainStep {
  const OpCall* call;  // an elementwise operation
  DType dtype;         // of its result
  int operand_count;
  std::array<int, kMaxChainOperands> operands;  // a tile's number, or kPrevious: the result of the step before
};

// Operands and results all have one shape; each step but the first uses the one before.
struct Chain {
  Shape shape;
  std::span<const ChainStep> steps;
};

// Whether run_chain() may: not of undefined elements, nor under numerics that keep floats in another type.
bool can_run_chain(const OpContext& context, const Chain& chain, std::span<const Tile* const> tiles);

// The last step's result. Tiles are used up as apply() uses up operands. The observer is told of each step, with a
// result that has no elements and without operands.
Tile run_chain(OpContext& context, const Chain& chain, std::span<Tile> tiles);

// What becomes of a product in f32 before it is written: product * factor, then addend + that.
struct MatmulEnd {
  const OpCall* scale = nullptr;  // mulf; null: no factor
  Tile factor;                    // of the product's shape: a splat, or a repeat of one element a row
  const OpCall* add = nullptr;    // addf; null: no addend
  Tile addend;                    // of the product's shape, dense
};

// Whether apply_ended() may with these, null where there is none: a product in f32, all defined.
bool can_end_matmul(const OpContext& context, const OpCall& call, std::span<const Tile* const> operands,
                    const Tile* factor, const Tile* addend);

// What apply() gives of the matmul, the multiplication and the addition, one after another.
Tile apply_ended(OpContext& context, const OpCall& call, std::span<Tile> operands, const MatmulEnd& end);

}  // namespace tilecheck
