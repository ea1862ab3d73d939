// A payload's kernel as the fit model sees it.
#pragma once

#include "sim/fit/body.h"
#include "sim/mosaic/ir.h"

namespace tilecheck::mosaic {

// The body of `kernel`, the function with `scalar_prefetch`, whose arguments are grid indices, scalar prefetch, windows
// (inputs, then outputs) and scratch. Operations that the fit model has no kind for become `opaque`. Dead operations
// are left out, loads included. InputError when the function's arguments and attributes do not agree.
fit::Body fit_body(const Module& module, const Function& kernel);

}  // namespace tilecheck::mosaic
