// Operations of a payload that run together (sim/ops/chain.h).
#pragma once

#include "sim/mosaic/program.h"

namespace tilecheck::mosaic {

// Joins operations of `code` that follow each other, or may do so if one moves down past loads and pure operations,
// each the only user of the one before: elementwise ones on whole vectors, behind a matmul or not. What they compute
// and count stays as it is.
void join_chains(Code& code);

}  // namespace tilecheck::mosaic
