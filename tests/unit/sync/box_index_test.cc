// The index finds every event that touches a box, and does not look at many others.
#include "sim/sync/box_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>

#include "sim/sync/event.h"

namespace tilecheck {
namespace {

// The same 4096 elements under several shapes.
const Shape kBases[] = {{64, 64}, {16, 4, 64}, {1, 4096}, {2, 2, 4, 4, 64}, {4096}};

class Events {
 public:
  explicit Events(uint32_t seed) : random_(seed) {}
  int64_t draw(int64_t lo, int64_t hi) { return std::uniform_int_distribution<int64_t>(lo, hi)(random_); }
  Event make(const Shape& base) {
    Event e;
    e.base = base;
    e.box.rank = base.rank();
    for (int d = 0; d < base.rank(); ++d) {
      const int64_t lo = draw(0, base[d] - 1), step = draw(1, 3);
      e.box[d] = {lo, draw(1, std::max<int64_t>(1, std::min<int64_t>(4, (base[d] - lo) / step))), step};
    }
    return e;
  }

 private:
  std::mt19937 random_;
};

bool has(const std::vector<Event*>& found, const Event& event) {
  return std::find(found.begin(), found.end(), &event) != found.end();
}

TEST(BoxIndex, FindsWhatTouchesABoxUnderAnyShape) {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    Events events(seed);
    BoxIndex index;
    std::deque<Event> all;
    std::vector<bool> there;
    for (int i = 0; i < 150; ++i) {
      all.push_back(events.make(kBases[events.draw(0, 4)]));
      there.push_back(true);
      index.insert(all.back());
    }
    for (size_t i = 0; i < all.size(); i += 3) {
      index.erase(all[i]);
      there[i] = false;
    }
    for (int i = 0; i < 50; ++i) {
      const Event wanted = events.make(kBases[events.draw(0, 4)]);
      std::vector<Event*> found;
      index.find(wanted.base, wanted.box, 0, found);
      for (size_t k = 0; k < all.size(); ++k) {
        const bool wrong = there[k] ? share_element(wanted, all[k]) && !has(found, all[k]) : has(found, all[k]);
        EXPECT_FALSE(wrong) << "event " << k << " of seed " << seed;
      }
    }
  }
}

Event row(const Shape& base, int64_t i) {
  Event e;
  e.base = base;
  e.box = Box::whole(base);
  e.box[0] = {i, 1, 1};
  return e;
}

TEST(BoxIndex, LooksAtFewOthers) {
  BoxIndex index;
  const Shape base{1024, 8};
  std::deque<Event> rows;
  for (int64_t i = 0; i < base[0]; ++i) {
    rows.push_back(row(base, i));
    index.insert(rows.back());
  }
  std::vector<Event*> found;
  index.find(base, row(base, 500).box, 0, found);
  EXPECT_EQ(found, std::vector<Event*>({&rows[500]}));
  found.clear();
  index.find(base, row(base, 500).box, 1, found);
  std::sort(found.begin(), found.end(), [](const Event* a, const Event* b) { return a->box[0].lo < b->box[0].lo; });
  EXPECT_EQ(found, std::vector<Event*>({&rows[499], &rows[500], &rows[501]}));
  found.clear();
  index.find({2048, 4}, row({2048, 4}, 1000).box, 0, found);
  EXPECT_EQ(found, std::vector<Event*>({&rows[500]}));
}

}  // namespace
}  // namespace tilecheck
