// Whether two events touch a common element.
#include "sim/sync/event.h"

#include <algorithm>
#include <utility>

namespace tilecheck {
namespace {

using Runs = std::vector<std::pair<int64_t, int64_t>>;  // [begin, end) in elements of the buffer, ascending

// The runs of consecutive elements that a box covers. Elements in tile padding lie outside the buffer's own order and
// are left out: nothing is stored there.
Runs runs_of(const Shape& base, const Box& box_in) {
  const Box box = clip(box_in, base);
  Runs runs;
  if (box.empty()) return runs;
  const Dims strides = row_major_strides(base);
  // Dimensions from `inner` on are covered whole but for the outermost of them: one run each.
  int inner = base.rank();
  int64_t run = 1;
  while (inner > 0) {
    const Range& r = box[inner - 1];
    if (r.step != 1 && r.n != 1) break;
    --inner;
    run *= r.n;
    if (r.n != base[inner]) break;
  }
  Dims i = Dims::filled(inner, 0);
  int64_t tail = 0;
  for (int d = inner; d < base.rank(); ++d) tail += box[d].lo * strides[d];
  while (true) {
    int64_t at = tail;
    for (int d = 0; d < inner; ++d) at += (box[d].lo + i[d] * box[d].step) * strides[d];
    if (!runs.empty() && runs.back().second == at) {
      runs.back().second += run;
    } else {
      runs.emplace_back(at, at + run);
    }
    int d = inner - 1;
    for (; d >= 0; --d) {
      if (++i[d] < box[d].n) break;
      i[d] = 0;
    }
    if (d < 0) return runs;
  }
}

}  // namespace

bool share_element(const Event& a, const Event& b) {
  if (a.base == b.base) return overlaps(a.box, b.box);
  const Runs x = runs_of(a.base, a.box), y = runs_of(b.base, b.box);
  for (size_t i = 0, j = 0; i < x.size() && j < y.size();) {
    if (std::max(x[i].first, y[j].first) < std::min(x[i].second, y[j].second)) return true;
    (x[i].second < y[j].second ? i : j) += 1;
  }
  return false;
}

}  // namespace tilecheck
