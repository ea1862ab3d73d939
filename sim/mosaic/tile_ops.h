// Which operation of the tile table does what a payload operation does, element by element.
#pragma once

#include <optional>

#include "sim/mosaic/ir.h"
#include "sim/ops/ops.h"

namespace tilecheck::mosaic {

// None for operations that are more than one of the table, or none.
std::optional<OpId> tile_op(OpCode code);

// Of arith.cmpi and arith.cmpf, as the verifier admits them.
Predicate predicate(const Op& op);

}  // namespace tilecheck::mosaic
