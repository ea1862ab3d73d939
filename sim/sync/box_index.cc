// An R-tree over the outermost dimensions for each base that a buffer is seen under.
#include "sim/sync/box_index.h"

// Boost.Geometry of this version includes a Boost header that another took the place of, which it says at each build.
#define BOOST_ALLOW_DEPRECATED_HEADERS

#include <algorithm>
#include <array>
#include <boost/geometry/algorithms/covered_by.hpp>
#include <boost/geometry/algorithms/equals.hpp>
#include <boost/geometry/geometries/box.hpp>
#include <boost/geometry/geometries/point.hpp>
#include <boost/geometry/index/rtree.hpp>
#include <utility>

#include "sim/sync/event.h"

namespace tilecheck {
namespace {

namespace bg = boost::geometry;
namespace bgi = boost::geometry::index;

constexpr int kAxes = 3;  // dimensions of more than one element that tell boxes apart; deeper ones do not
using Point = bg::model::point<int64_t, kAxes, bg::cs::cartesian>;
using Bounds = bg::model::box<Point>;
using Entry = std::pair<Bounds, Event*>;
struct SameEvent {
  bool operator()(const Entry& a, const Entry& b) const { return a.second == b.second; }
};

struct Interval {
  int64_t lo = 0, last = 0;
};
using Axes = std::array<Interval, kAxes>;

Bounds bounds_of(const Axes& a) { return {Point(a[0].lo, a[1].lo, a[2].lo), Point(a[0].last, a[1].last, a[2].last)}; }

Axes axes_of(const Shape& base, const Box& box, int64_t margin) {
  Axes axes;
  int used = 0;
  for (int d = 0; d < box.rank && used < kAxes; ++d)
    if (base[d] > 1) axes[static_cast<size_t>(used++)] = {box[d].lo - margin, box[d].last() + margin};
  return axes;
}

// The part of `base` in which a box of another base lies: between its first and its last element. False: nowhere.
bool axes_in(const Shape& base, const Shape& other, const Box& box_in, Axes& axes) {
  const Box box = clip(box_in, other);
  if (box.empty()) return false;
  const Dims from = row_major_strides(other), to = row_major_strides(base);
  int64_t first = 0, last = 0;
  for (int d = 0; d < box.rank; ++d) {
    first += box[d].lo * from[d];
    last += box[d].last() * from[d];
  }
  int used = 0;
  bool apart = false;  // dimensions inside of one where first and last differ are covered whole
  for (int d = 0; d < base.rank() && used < kAxes; ++d) {
    Interval at{first / to[d], last / to[d]};
    first %= to[d];
    last %= to[d];
    if (apart) at = {0, base[d] - 1};
    apart = apart || at.lo != at.last;
    if (base[d] > 1) axes[static_cast<size_t>(used++)] = at;
  }
  return true;
}

}  // namespace

struct BoxIndex::Tree {
  Shape base;
  bgi::rtree<Entry, bgi::linear<16>, bgi::indexable<Entry>, SameEvent> entries;
};

BoxIndex::BoxIndex() = default;
BoxIndex::~BoxIndex() = default;

void BoxIndex::insert(Event& event) {
  auto found = std::find_if(trees_.begin(), trees_.end(), [&](const auto& t) { return t->base == event.base; });
  if (found == trees_.end()) {
    found = trees_.insert(trees_.end(), std::make_unique<Tree>());
    (*found)->base = event.base;
  }
  (*found)->entries.insert({bounds_of(axes_of(event.base, event.box, 0)), &event});
}

void BoxIndex::erase(Event& event) {
  const auto found = std::find_if(trees_.begin(), trees_.end(), [&](const auto& t) { return t->base == event.base; });
  (*found)->entries.remove({bounds_of(axes_of(event.base, event.box, 0)), &event});
}

void BoxIndex::find(const Shape& base, const Box& box, int64_t margin, std::vector<Event*>& out) const {
  for (const auto& tree : trees_) {
    Axes axes;
    if (tree->base == base) {
      axes = axes_of(base, box, margin);
    } else if (!axes_in(tree->base, base, box, axes)) {
      continue;
    }
    for (auto e = tree->entries.qbegin(bgi::intersects(bounds_of(axes))); e != tree->entries.qend(); ++e)
      out.push_back(e->second);
  }
}

}  // namespace tilecheck
