#include "sim/sync/explore.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <set>

namespace tilecheck {
namespace {

constexpr int64_t kShrinkRuns = 1000;

class Watch {
 public:
  explicit Watch(double budget_seconds) : budget_(budget_seconds) {}
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }
  bool over() const { return seconds() >= budget_; }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  double budget_;
};

ScheduleSpec replay(const std::string& decisions) {
  ScheduleSpec spec;
  if (decisions.empty()) return spec;  // what lazy does
  spec.kind = ScheduleSpec::Kind::replay;
  spec.decisions = decisions;
  return spec;
}

// The schedules that explore() tries, in order.
ScheduleSpec nth_schedule(int64_t i, uint64_t seed) {
  using Kind = ScheduleSpec::Kind;
  ScheduleSpec spec;
  constexpr Kind kFixed[] = {Kind::lazy, Kind::eager, Kind::lifo, Kind::torn};
  if (i < 4) {
    spec.kind = kFixed[i];
    return spec;
  }
  const auto n = static_cast<uint64_t>(i - 4);
  spec.kind = n % 2 == 0 ? Kind::random : Kind::pct;
  spec.seed = seed + n / 2;
  spec.depth = 2 + static_cast<int>(n / 2 % 4);
  return spec;
}

void fail(Exploration& result, const RunFunction& run, const ScheduleSpec& spec, const std::string& decisions) {
  result.failed = true;
  result.failing = spec;
  if (decisions.empty()) return;  // the schedule repeats it alone
  int64_t runs = 0;
  // A failure that its own decisions do not repeat cannot be shrunk; the schedule repeats it.
  ++runs;
  if (run(replay(decisions)).failed) result.failing = replay(shrink(run, decisions, kShrinkRuns, runs));
  result.runs += runs;
}

}  // namespace

std::string shrink(const RunFunction& run, const std::string& text, int64_t bound, int64_t& runs) {
  std::vector<Decision> decisions = parse_decisions(text);
  const auto fails = [&](const std::vector<Decision>& candidate) {
    if (runs >= bound) return false;
    ++runs;
    return run(replay(to_string(candidate))).failed;
  };
  for (size_t part = decisions.size(); part > 0;) {
    bool removed = false;
    for (size_t begin = 0; begin < decisions.size() && runs < bound;) {
      std::vector<Decision> without = decisions;
      const size_t end = std::min(begin + part, without.size());
      without.erase(without.begin() + static_cast<std::ptrdiff_t>(begin),
                    without.begin() + static_cast<std::ptrdiff_t>(end));
      if (fails(without)) {
        decisions = std::move(without);
        removed = true;
      } else {
        begin += part;
      }
    }
    if (runs >= bound) break;
    if (part > 1) {
      part = (part + 1) / 2;
    } else if (!removed) {
      break;
    }
  }
  return to_string(decisions);
}

Exploration explore(const RunFunction& run, const ExploreOptions& options) {
  const Watch watch(options.budget_seconds);
  Exploration result;
  for (int64_t i = 0; result.runs < options.bound; ++i) {
    const ScheduleSpec spec = nth_schedule(i, options.seed);
    const RunOutcome outcome = run(spec);
    ++result.runs;
    if (outcome.failed) {
      fail(result, run, spec, outcome.decisions);
      break;
    }
    if (outcome.schedule_independent) {
      result.schedule_independent = result.complete = true;
      break;
    }
    if (watch.over()) break;
  }
  result.seconds = watch.seconds();
  return result;
}

Exploration explore_exhaustively(const RunFunction& run, const ExploreOptions& options) {
  const Watch watch(options.budget_seconds);
  Exploration result;
  std::deque<std::string> todo{""};  // few decisions first
  std::set<std::string> seen{""};
  std::string missed;
  while (!todo.empty()) {
    if (result.runs >= options.bound || (result.runs > 0 && watch.over())) break;
    const std::string decisions = todo.front();
    todo.pop_front();
    const ScheduleSpec spec = replay(decisions);
    const RunOutcome outcome = run(spec);
    ++result.runs;
    if (outcome.failed) {
      fail(result, run, spec, decisions);
      break;
    }
    if (outcome.schedule_independent && decisions.empty()) {
      result.schedule_independent = true;
      todo.clear();
      missed.clear();
      break;
    }
    if (missed.empty()) missed = outcome.missed_orders;
    for (const std::vector<std::string>& others : outcome.alternatives) {
      if (std::ranges::any_of(others, [&](const std::string& other) { return seen.contains(other); })) continue;
      seen.insert(others.front());
      todo.push_back(others.front());
    }
  }
  result.complete = todo.empty() && !result.failed && missed.empty();
  if (!result.complete && !result.failed)
    result.missed = "ended after " + std::to_string(result.runs) + (result.runs == 1 ? " run" : " runs") +
                    (todo.empty() ? ": " + missed : "");
  result.seconds = watch.seconds();
  return result;
}

}  // namespace tilecheck
