#include "sim/memory/box.h"

#include <algorithm>
#include <numeric>

namespace tilecheck {

Box Box::whole(const Shape& shape) {
  Box box;
  box.rank = shape.rank();
  for (int d = 0; d < box.rank; ++d) box[d] = {0, shape[d], 1};
  return box;
}

int64_t Box::element_count() const {
  int64_t n = 1;
  for (int d = 0; d < rank; ++d) n *= dims[static_cast<size_t>(d)].n;
  return n;
}

bool operator==(const Box& a, const Box& b) {
  return a.rank == b.rank && std::equal(a.dims.begin(), a.dims.begin() + a.rank, b.dims.begin());
}

namespace {

// Whether two arithmetic progressions share a value (Chinese remainder theorem).
bool overlaps(const Range& a, const Range& b) {
  if (a.n <= 0 || b.n <= 0) return false;
  const int64_t lo = std::max(a.lo, b.lo), hi = std::min(a.last(), b.last());
  if (lo > hi) return false;
  if (a.step == 1 && b.step == 1) return true;
  // Walk the values of a from lo on; the residues modulo b.step repeat after b.step / g of them.
  const int64_t g = std::gcd(a.step, b.step);
  if ((b.lo - a.lo) % g != 0) return false;
  int64_t x = a.lo + (lo - a.lo + a.step - 1) / a.step * a.step;
  for (int64_t tried = 0; x <= hi && tried <= b.step / g; x += a.step, ++tried)
    if ((x - b.lo) % b.step == 0) return true;
  return false;
}

bool contains(const Range& outer, const Range& inner) {
  if (inner.n <= 0) return true;
  if (outer.n <= 0 || inner.lo < outer.lo || inner.last() > outer.last()) return false;
  if ((inner.lo - outer.lo) % outer.step != 0) return false;
  return inner.n == 1 || inner.step % outer.step == 0;
}

}  // namespace

bool overlaps(const Box& a, const Box& b) {
  for (int d = 0; d < a.rank; ++d)
    if (!overlaps(a[d], b[d])) return false;
  return true;
}

bool contains(const Box& outer, const Box& inner) {
  if (inner.empty()) return true;
  for (int d = 0; d < inner.rank; ++d)
    if (!contains(outer[d], inner[d])) return false;
  return true;
}

Box clip(const Box& box, const Shape& extents) {
  Box out = box;
  for (int d = 0; d < box.rank; ++d) {
    Range& r = out[d];
    if (r.lo < 0) {
      const int64_t skip = (-r.lo + r.step - 1) / r.step;
      r.lo += skip * r.step;
      r.n -= skip;
    }
    if (r.n > 0 && r.last() >= extents[d]) r.n = r.lo >= extents[d] ? 0 : (extents[d] - 1 - r.lo) / r.step + 1;
    r.n = std::max<int64_t>(r.n, 0);
  }
  return out;
}

std::string to_string(const Box& box) {
  std::string text = "[";
  for (int d = 0; d < box.rank; ++d) {
    const Range& r = box[d];
    if (d) text += ", ";
    text += std::to_string(r.lo);
    if (r.n != 1) text += ":" + std::to_string(r.n == 0 ? r.lo : r.last() + 1);
    if (r.n != 1 && r.step != 1) text += ":" + std::to_string(r.step);
  }
  return text + "]";
}

}  // namespace tilecheck
