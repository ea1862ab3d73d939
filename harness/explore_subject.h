// A subject under many schedules.
#pragma once

#include "harness/run.h"

namespace tilecheck {

struct ExploreRequest {
  bool exhaustive = false;     // every order of conflicting events; else many schedules
  double budget_seconds = 10;  // looked at between runs
  int64_t bound = 10000;       // runs at most
};

// Runs until one fails or the budget ends. The result is the failing run's, under the shrunk schedule that repeats it,
// or the default schedule's; its outcome says what was explored. A failure is a finding of severity error. Exhaustive
// exploration that the bound or the budget ends is incomplete.
RunResult explore_subject(const Subject& subject, const RunOptions& options, const ExploreRequest& request);

}  // namespace tilecheck
