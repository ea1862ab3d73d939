// The numbers by which a recording run tells shape-only tiles apart.
#pragma once

#include <cstdint>

#include "sim/ops/tile.h"

namespace tilecheck {

// Copies of a tile share its number. -1: none given yet, or the tile has data.
int64_t value_number(const Tile& tile);
// Of a shape-only tile.
void set_value_number(const Tile& tile, int64_t number);

}  // namespace tilecheck
