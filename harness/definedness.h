// Holds the definedness marks against what they mean: run with several contents of fresh memory, and see which results
// move.
#pragma once

#include <string>
#include <vector>

#include "harness/run.h"

namespace tilecheck {

struct DefinednessOutcome {
  int64_t elements = 0;
  int64_t marked = 0;           // said to be undefined
  int64_t moved = 0;            // differ between fills
  int64_t missed = 0;           // moved, not marked: a wrong "defined"
  int64_t never_moved = 0;      // marked, never moved: false alarms, when there were many fills
  std::string first_missed;     // "o[3,7]"
  std::string differing_marks;  // "o[3,7]" whose mark depends on the fill; empty: none
};

// fills: at least 2.
DefinednessOutcome check_definedness(const Subject& subject, const RunOptions& options, int fills = 2);

}  // namespace tilecheck
