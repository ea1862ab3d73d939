// GoogleTest matchers over what a run ended with:
//
//   EXPECT_THAT(tilecheck::run(my_case()), tilecheck::IsClean());
//   EXPECT_THAT(tilecheck::run(my_broken_case()), tilecheck::HasFinding(tilecheck::Kind::race));
#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <ostream>

#include "harness/run.h"
#include "harness/writers.h"

namespace tilecheck {

// What a failing expectation shows: the report, not the arrays.
inline void PrintTo(const RunResult& result, std::ostream* out) { *out << "\n" << text_report(result.outcome, {}); }

// No error, every comparison passed, nothing met that is not modelled. Notes and warnings are allowed.
MATCHER(IsClean, negation ? "is not clean" : "is clean") { return arg.outcome.verdict() == Verdict::clean; }

// No finding at all, notes included.
MATCHER(IsSilent, negation ? "has findings" : "has no finding at all") {
  return arg.outcome.verdict() == Verdict::clean && arg.outcome.report.findings.empty();
}

// Some finding of this kind, of any severity.
MATCHER_P(HasFinding, kind,
          std::string(negation ? "has no finding " : "has a finding ") + std::string(tilecheck::name(kind))) {
  return std::ranges::any_of(arg.outcome.report.findings, [this](const Finding& f) { return f.kind == kind; });
}

// Ended incomplete: something met is not modelled.
MATCHER(IsIncomplete, negation ? "is not incomplete" : "is incomplete") {
  return arg.outcome.verdict() == Verdict::incomplete;
}

}  // namespace tilecheck
