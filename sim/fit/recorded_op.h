// An operation of the tile table as the fit model knows it.
#pragma once

#include <span>

#include "sim/fit/body.h"
#include "sim/ops/ops.h"

namespace tilecheck::fit {

// Kind, function and attributes; operands and results are the caller's. `operands`: as the operation got them.
Op recorded_op(const OpCall& call, std::span<const Tile> operands);

// Whether scalar operands are stretched to the result's shape, which a payload does by an operation of its own.
bool stretches_scalars(OpKind kind);

}  // namespace tilecheck::fit
