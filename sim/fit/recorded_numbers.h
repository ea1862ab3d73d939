// How a number that a body knows depends on the grid step, the induction variables around it, and data.
#pragma once

#include <optional>
#include <vector>

#include "sim/fit/recorder.h"

namespace tilecheck::fit {

// number = base + sum of slope[i] * at[i], at all places looked at; nothing when no such form holds. `which`: of
// Seen::numbers.
struct Affine {
  int64_t base = 0;
  std::vector<int64_t> slopes;
  bool is_constant() const;
};
std::optional<Affine> affine(const std::vector<Seen>& seen, size_t which);

// The largest number that divides all that were seen; 1 at least.
int64_t common_divisor(const std::vector<Seen>& seen, size_t which);

// The number as a table over the coordinates it depends on (indices into Seen::at, in order): as few as explain it.
struct NumberTable {
  std::vector<size_t> coordinates;
  Lookup lookup;
};
// usable: coordinates that may be used. seen: not empty.
NumberTable tabulate(const std::vector<Seen>& seen, size_t which, const std::vector<size_t>& usable);

}  // namespace tilecheck::fit
