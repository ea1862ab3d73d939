#include "tools/python/native/report_log.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/writers.h"

namespace tilecheck::python {
namespace {

bool says_the_same(const Report& a, const Report& b) {
  return a.incomplete == b.incomplete &&
         std::ranges::equal(a.findings, b.findings, [](const Finding& f, const Finding& g) {
           return f.kind == g.kind && f.severity == g.severity && f.message == g.message && f.at == g.at;
         });
}

}  // namespace

void ReportLog::add(int kernel, const Outcome& outcome) {
  const std::lock_guard lock(mutex_);
  for (auto e = entries_.rbegin(); e != entries_.rend() && e->mark == mark_; ++e)
    if (e->kernel == kernel && says_the_same(e->outcome->report, outcome.report)) {
      ++e->calls;
      e->seconds += outcome.report.seconds;
      return;
    }
  if (entries_.size() == kMaxLoggedOutcomes) {
    entries_.pop_front();
    ++dropped_;
  }
  entries_.push_back({kernel, mark_, 1, outcome.report.seconds, std::make_shared<const Outcome>(outcome)});
}

std::vector<ReportLog::Entry> ReportLog::since(int mark, uint64_t& dropped) const {
  const std::lock_guard lock(mutex_);
  dropped = dropped_;
  const auto first = std::ranges::lower_bound(entries_, mark, {}, &Entry::mark);
  return {first, entries_.end()};
}

std::string ReportLog::to_json(int mark) const {
  uint64_t dropped = 0;
  nlohmann::json all = nlohmann::json::array();
  for (const Entry& e : since(mark, dropped))
    all.push_back({{"calls", e.calls},
                   {"seconds", e.seconds},
                   {"text", text_report(*e.outcome, {})},
                   {"report", nlohmann::json::parse(json_report({e.outcome.get(), 1}, {}))}});
  return nlohmann::json{{"dropped", dropped}, {"entries", std::move(all)}}.dump();
}

std::string ReportLog::to_sarif(int mark) const {
  uint64_t dropped = 0;
  std::vector<Outcome> outcomes;
  for (const Entry& e : since(mark, dropped)) outcomes.push_back(*e.outcome);
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
