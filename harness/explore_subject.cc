#include "harness/explore_subject.h"

#include <chrono>

#include "harness/format.h"
#include "sim/sync/explore.h"

namespace tilecheck {

RunResult explore_subject(const Subject& subject, const RunOptions& options, const ExploreRequest& request) {
  const auto start = std::chrono::steady_clock::now();
  RunOptions one = options;
  one.launch.sync.record_decisions = true;
  one.launch.sync.find_alternatives = request.exhaustive;
  one.analyse_fit = false;
  const RunFunction run = [&](const ScheduleSpec& schedule) {
    one.launch.sync.schedule = schedule;
    const RunResult r = run_subject(subject, one);
    const Report& report = r.outcome.report;
    // What is not modelled ends the exploration too: every schedule would end so.
    return RunOutcome{r.outcome.verdict() != Verdict::clean, report.schedule_independent, report.replay, r.alternatives,
                      r.missed_orders};
  };
  const ExploreOptions explore_options{request.budget_seconds, request.bound, options.seed};
  const Exploration e = request.exhaustive ? explore_exhaustively(run, explore_options) : explore(run, explore_options);

  RunOptions last = options;
  last.launch.sync.schedule = e.failed ? e.failing : ScheduleSpec{};
  RunResult result = run_subject(subject, last);
  result.outcome.exploration =
      ExplorationOutcome{e.runs, e.complete, e.schedule_independent, e.failed ? to_string(e.failing) : ""};
  if (request.exhaustive && !e.complete && !e.failed)
    result.outcome.report.incomplete.push_back("exploration of all schedules: " + e.missed);
  result.outcome.report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace tilecheck
