// Which findings are reported: --select, --ignore and baselines.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "harness/outcome.h"

namespace tilecheck {

// Findings that are known and left out. A finding is recognised by subject, kind, file, function and buffer, not by its
// line: an edit above it does not bring it back.
class Baseline {
 public:
  // Bad files: InputError.
  static Baseline read(const std::string& path);
  static void write(const std::string& path, std::span<const Outcome> outcomes);
  bool contains(const std::string& subject, const Finding& finding) const;

 private:
  std::set<std::string> keys_;
};

// Takes findings away and counts them in `suppressed`. select: empty means all kinds.
void filter_findings(Outcome& outcome, std::span<const Kind> select, std::span<const Kind> ignore,
                     const Baseline* baseline);

}  // namespace tilecheck
