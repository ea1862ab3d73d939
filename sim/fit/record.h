// The recording run of a C++ kernel: the body's facts without data.
#pragma once

#include "sim/fit/body.h"
#include "sim/machine/launch.h"

namespace tilecheck::fit {

// Runs `body` on shapes alone for a few steps of the grid, and for more of them to learn which steps take which branch
// (Core::when, Core::loop). As many steps in number as keep it within milliseconds, whatever the grid; between the
// steps looked at, the one before holds. Incomplete when the body does not come to its end without data, with the step
// and the reason, or does more in one step, or takes longer in all, than is waited for; InputError as a run would
// throw.
Body record_body(const KernelSpec& spec, const tilecheck::Body& body, int devices = 1, double limit_seconds = 10);

}  // namespace tilecheck::fit
