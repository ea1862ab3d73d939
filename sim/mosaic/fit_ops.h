// Which kind of fit operation each payload operation is, where that needs no more than its name.
#pragma once

#include <optional>

#include "sim/fit/body.h"
#include "sim/fit/recorded_op.h"
#include "sim/mosaic/ir.h"

namespace tilecheck::mosaic {

// None for operations with regions, memory operations and those the fit model has no kind for. What an operation of the
// tile table does is that operation to the fit model too.
std::optional<fit::NamedKind> find_fit_op(OpCode code);

// The function of a reduction.
fit::Fn reduce_fn(const Op& op);

}  // namespace tilecheck::mosaic
