// Verdicts and folding.
#include "sim/report/report.h"

#include <algorithm>
#include <cstring>

namespace tilecheck {

std::string step_text(const Dims& step) {
  std::string text = "(";
  for (int i = 0; i < step.rank(); ++i) text += (i ? "," : "") + std::to_string(step[i]);
  return text + ")";
}
namespace {

bool same_place(const Loc& a, const Loc& b) {
  return a.line == b.line && a.column == b.column && std::strcmp(a.file, b.file) == 0;
}

// Two findings that a reader would call the same one at other grid steps.
bool alike(const Finding& a, const Finding& b) {
  if (a.kind != b.kind || a.severity != b.severity || a.buffer != b.buffer || !same_place(a.at, b.at)) return false;
  return std::ranges::equal(a.labels, b.labels, [](const Label& x, const Label& y) { return same_place(x.at, y.at); });
}

}  // namespace

std::string_view name(Verdict verdict) {
  switch (verdict) {
    case Verdict::clean:
      return "clean";
    case Verdict::findings:
      return "findings";
    case Verdict::incomplete:
      return "incomplete";
    case Verdict::error:
      return "error";
  }
  return "";
}

Verdict Report::verdict(Severity threshold) const {
  if (!incomplete.empty()) return Verdict::incomplete;
  for (const Finding& f : findings)
    if (f.severity >= threshold) return Verdict::findings;
  return Verdict::clean;
}

int Report::count(Severity severity) const {
  return static_cast<int>(
      std::ranges::count_if(findings, [severity](const Finding& f) { return f.severity == severity; }));
}

void FindingSink::add(Finding finding) {
  for (Finding& f : out_) {
    if (!alike(f, finding)) continue;
    f.repeats += finding.repeats + 1;
    return;
  }
  out_.push_back(std::move(finding));
}

}  // namespace tilecheck
