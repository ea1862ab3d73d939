// Exploring schedules: many runs of one kernel, and the shortest decisions that make it fail.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/sync/schedule.h"

namespace tilecheck {

// What one run told: of a kernel launched with EngineOptions::record_decisions, and find_alternatives where every order
// is explored.
struct RunOutcome {
  bool failed = false;  // as the caller judges: a finding, a mismatch
  bool schedule_independent = false;
  std::string decisions;
  std::vector<std::vector<std::string>> alternatives = {};  // Engine::alternatives()
  std::string missed_orders = {};                           // Engine::missed_orders()
};
// Runs the kernel from the start under a schedule.
using RunFunction = std::function<RunOutcome(const ScheduleSpec&)>;

struct ExploreOptions {
  double budget_seconds = 10;  // stop after, looked at between runs
  int64_t bound = 10000;       // runs at most
  uint64_t seed = 0;           // of the first random schedule
};

struct Exploration {
  int64_t runs = 0;  // shrinking included
  bool failed = false;
  ScheduleSpec failing;               // if failed: what repeats it; after shrinking
  bool schedule_independent = false;  // the first run already stands for all
  bool complete = false;              // every outcome was reached
  std::string missed;                 // why not, of an exhaustive one that did not fail: "ended after 3 runs"
  double seconds = 0;
};

// Tries lazy, eager, lifo, torn, then random and pct schedules in turn. Stops at the first failure, and shrinks it to
// the shortest decision string that still fails. One run is enough when it is schedule-independent.
Exploration explore(const RunFunction& run, const ExploreOptions& options);

// Every order of what depends on order (see trace.h), those with few decisions first. Stops at the first failure, as
// above. When the bound or the budget ends it, or a run tells of orders that its alternatives do not reach, `complete`
// is false: the verdict is incomplete.
Exploration explore_exhaustively(const RunFunction& run, const ExploreOptions& options);

// The shortest sub-sequence of `decisions` that still fails, by removing ever smaller parts (delta debugging); at most
// `bound` runs, which are counted in `runs`.
std::string shrink(const RunFunction& run, const std::string& decisions, int64_t bound, int64_t& runs);

}  // namespace tilecheck
