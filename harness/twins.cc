#include "harness/twins.h"

#include <algorithm>

namespace tilecheck {

std::vector<TwinOutcome> check_twins(const Kernel& kernel, const RunOptions& options) {
  std::vector<TwinOutcome> outcomes;
  for (const BrokenTwin& twin : kernel.broken) {
    TwinOutcome t{.name = kernel.name + "/" + twin.name, .expected = twin.kind};
    t.twin = run_subject(subject_of(KernelChoice{&kernel, &twin}, {}), options).outcome;
    t.kernel = run_subject(subject_of(KernelChoice{&kernel}, twin.set), options).outcome;
    t.is_named = std::ranges::any_of(t.twin.report.findings, [&](const Finding& f) { return f.kind == twin.kind; });
    t.kernel_clean = t.kernel.verdict() == Verdict::clean;
    outcomes.push_back(std::move(t));
  }
  return outcomes;
}

}  // namespace tilecheck
