// Adding up the counters of cores and parts.
#pragma once

#include "sim/report/report.h"

namespace tilecheck {

// Work adds up; static figures (unused loads of the body) are equal in all and taken once.
void add_counters(Counters& into, const Counters& from);

}  // namespace tilecheck
