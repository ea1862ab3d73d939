// How a value lies in vector registers, and which of these differ.
#pragma once

#include <cstdint>

#include "sim/fit/body.h"

namespace tilecheck::fit {

inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

int element_bits(DType dtype);  // bool tiles are masks, one per 32-bit register
int64_t rows_per_register(DType dtype);
bool same_without_ones(const Shape& a, const Shape& b);

// Which registers of a value differ.
struct ValueLayout {
  bool by_lead = false, by_row = false, by_column = false;  // registers differ along leading dims, rows, columns
  bool is_splat = true;                                     // one number everywhere
  bool lanes_alike = true;        // all lanes of a register hold the same (the result of a lane reduction)
  bool is_column_vector = false;  // rank 1, but laid out along sublanes (a lane reduction that dropped the dimension)
};

// Distinct registers of a value of this type. all: as many as the whole shape has (what loads and stores move).
struct RegisterGrid {
  int64_t lead = 1, rows = 1, columns = 1;
  int64_t count() const { return lead * rows * columns; }
};
RegisterGrid register_grid(const TileType& type, const ValueLayout& layout, bool all = false);

}  // namespace tilecheck::fit
