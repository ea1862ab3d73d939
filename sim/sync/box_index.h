// BoxIndex: which of many events in one buffer may touch a box, without looking at each.
#pragma once

#include <memory>
#include <vector>

#include "sim/memory/box.h"

namespace tilecheck {

struct Event;

class BoxIndex {
 public:
  BoxIndex();
  ~BoxIndex();
  // The event's base and box stay as they are until it is erased.
  void insert(Event& event);
  void erase(Event& event);
  // Appends every event that shares an element with `box`, in coordinates of `base`, and some that do not. margin: also
  // those of the same base that come so near in each dimension.
  void find(const Shape& base, const Box& box, int64_t margin, std::vector<Event*>& out) const;

 private:
  struct Tree;
  std::vector<std::unique_ptr<Tree>> trees_;  // by base
};

}  // namespace tilecheck
