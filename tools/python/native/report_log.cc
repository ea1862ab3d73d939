#include "tools/python/native/report_log.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/writers.h"

namespace tilecheck::python {

void ReportLog::add(int kernel, const Outcome& outcome) {
  const bool clean = outcome.verdict() == Verdict::clean && outcome.report.findings.empty();
  const std::lock_guard lock(mutex_);
  if (clean) {
    const auto same = std::ranges::find_if(entries_, [&](const Entry& e) {
      return e.kernel == kernel && e.mark == mark_ && e.outcome.report.findings.empty();
    });
    if (same != entries_.end()) {
      ++same->calls;
      same->seconds += outcome.report.seconds;
      return;
    }
  }
  if (entries_.size() == kMaxLoggedOutcomes) {
    entries_.pop_front();
    ++dropped_;
  }
  entries_.push_back({kernel, mark_, 1, outcome.report.seconds, outcome});
}

std::string ReportLog::to_json(int since) const {
  const std::lock_guard lock(mutex_);
  nlohmann::json all = nlohmann::json::array();
  for (const Entry& e : entries_) {
    if (e.mark < since) continue;
    all.push_back({{"calls", e.calls},
                   {"seconds", e.seconds},
                   {"text", text_report(e.outcome, {})},
                   {"report", nlohmann::json::parse(json_report({&e.outcome, 1}, {}))}});
  }
  return nlohmann::json{{"dropped", dropped_}, {"entries", std::move(all)}}.dump();
}

std::string ReportLog::to_sarif(int since) const {
  const std::lock_guard lock(mutex_);
  std::vector<Outcome> outcomes;
  for (const Entry& e : entries_)
    if (e.mark >= since) outcomes.push_back(e.outcome);
  return sarif_report(outcomes, {});
}

int ReportLog::mark() {
  const std::lock_guard lock(mutex_);
  return ++mark_;
}

void ReportLog::clear() {
  const std::lock_guard lock(mutex_);
  entries_.clear();
  dropped_ = 0;
}

}  // namespace tilecheck::python
