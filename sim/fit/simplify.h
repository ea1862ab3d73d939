// A body without what never runs: what the TPU compiler's own folding leaves.
#pragma once

#include "sim/fit/body.h"

namespace tilecheck::fit {

// Drops operations whose results nothing uses and that change nothing, loads included (each Pallas store emits one).
void remove_dead(Body& body);

// Folds scalars that depend only on constants and on grid axes of size 1, replaces branches on a known condition by the
// side taken, drops loops without iterations, sets trip counts, and removes what is dead after that.
void simplify(Body& body);

}  // namespace tilecheck::fit
