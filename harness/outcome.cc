#include "harness/outcome.h"

#include <algorithm>

namespace tilecheck {

Verdict Outcome::verdict(Severity threshold) const {
  if (!error.empty()) return Verdict::error;
  return report.verdict(threshold);
}

Verdict worst_verdict(std::span<const Outcome> outcomes, Severity threshold) {
  Verdict worst = Verdict::clean;
  for (const Outcome& o : outcomes) worst = std::max(worst, o.verdict(threshold));
  return worst;
}

int exit_code(Verdict verdict) {
  switch (verdict) {
    case Verdict::clean:
      return 0;
    case Verdict::findings:
      return 1;
    case Verdict::incomplete:
      return 3;
    case Verdict::error:
      return 2;
  }
  return 2;
}

}  // namespace tilecheck
