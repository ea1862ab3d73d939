// How the grid is divided over the cores of one device.
#pragma once

#include <vector>

#include "sim/machine/launch.h"
#include "sim/spec/plan.h"

namespace tilecheck {

// One part per core; parts may overlap (megacore's flattened split repeats step 0, machine-rules 11) or be empty.
std::vector<GridPart> split_over_cores(const KernelSpec& spec, int cores, CoreSplit split);

}  // namespace tilecheck
