// References of collectives: one array per device in, one per device out.
#pragma once

#include <vector>

#include "reference/array.h"

namespace tilecheck::reference {

using PerDevice = std::vector<Array>;

// Device d's array goes to device (d + shift) mod devices; shift may be negative.
PerDevice ring_permute(const PerDevice& x, int64_t shift);
// Every device gets all arrays, one after another along axis 0, in the order of devices.
PerDevice all_gather(const PerDevice& x);
// Every device gets the sum of all arrays.
PerDevice all_reduce(const PerDevice& x);
// Device d gets part d of the sum, which is cut into equal parts along axis 0.
PerDevice reduce_scatter(const PerDevice& x);

}  // namespace tilecheck::reference
