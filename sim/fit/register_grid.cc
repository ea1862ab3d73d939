#include "sim/fit/register_grid.h"

#include <algorithm>

namespace tilecheck::fit {
namespace {

int64_t lead_count(const Shape& shape) {
  int64_t n = 1;
  for (int i = 0; i + 2 < shape.rank(); ++i) n *= shape[i];
  return n;
}

}  // namespace

int element_bits(DType dtype) { return dtype == DType::b1 ? 32 : std::min(bits(dtype), 64); }
int64_t rows_per_register(DType dtype) { return 8 * std::max(1, 32 / element_bits(dtype)); }

bool same_without_ones(const Shape& a, const Shape& b) {
  Shape x, y;
  for (int64_t v : a)
    if (v != 1) x.push_back(v);
  for (int64_t v : b)
    if (v != 1) y.push_back(v);
  return x == y;
}

RegisterGrid register_grid(const TileType& type, const ValueLayout& layout, bool all) {
  const Shape& s = type.shape;
  RegisterGrid grid;
  if (s.rank() == 0) return {0, 0, 0};
  if (layout.is_column_vector && s.rank() == 1) {
    grid.rows = ceil_div(s[0], rows_per_register(type.dtype));
  } else if (s.rank() == 1) {
    grid.columns = ceil_div(s[0], 128);
  } else {
    grid.lead = lead_count(s);
    grid.rows = ceil_div(s[s.rank() - 2], rows_per_register(type.dtype));
    grid.columns = ceil_div(s.back(), 128);
  }
  if (all) return grid;
  if (layout.is_splat) return {0, 0, 0};
  if (!layout.by_lead) grid.lead = 1;
  if (!layout.by_row) grid.rows = 1;
  if (!layout.by_column) grid.columns = 1;
  return grid;
}

}  // namespace tilecheck::fit
