// What one run or analysis of one subject on one target ended with: plain data, from which every report format is
// written.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/compare.h"
#include "sim/fit/time_model.h"
#include "sim/fit/vmem_report.h"
#include "sim/machine/launch.h"
#include "sim/report/report.h"

namespace tilecheck {

// One result array, and how it compares with what it should be.
struct ResultOutcome {
  std::string name;
  DType dtype{};
  Shape shape;
  int device = 0;
  int64_t undefined = 0;  // elements that depend on memory nobody wrote
  std::optional<Comparison> comparison;
  std::string against;  // what it was compared with: "reference", or a file's name
  Dims worst_step;      // grid step that wrote the worst element last; empty: not known, or no grid
  bool failed() const { return comparison && !comparison->pass(); }
};

// What --schedule explore or exhaustive has tried.
struct ExplorationOutcome {
  int64_t runs = 0;
  bool complete = false;              // every order that matters was tried
  bool schedule_independent = false;  // one run stands for all
  std::string failing;                // the schedule that fails, shrunk; empty: none does
};

struct Outcome {
  std::string subject;   // as the user named it: "flash_attention", "module.mlir"
  std::string headline;  // "q,k,v bf16[1,8,2048,128]   causal"
  Report report;         // findings of comparison, fit and compile rules are in it too
  bool ran = false;      // executed (fit alone does not)
  std::vector<ResultOutcome> results;
  std::optional<fit::VmemReport> fit;
  std::optional<fit::TimeEstimate> time;  // none: not modelled
  std::string traffic_unknown;            // why `fit` has no HBM traffic; empty: it has
  std::vector<StepRecord> steps;
  std::optional<ExplorationOutcome> exploration;
  std::vector<std::string> window_names;  // inputs, then outputs: what StepRecord counts
  std::vector<std::string> warnings;      // about how the run was asked for
  std::string replay;                     // the command that repeats it
  std::string source_folder;              // where sources named without a folder are looked for; empty: nowhere else
  std::string error;                      // bad input: nothing else is set but the subject
  int suppressed = 0;                     // findings that --ignore, --select or the baseline took away

  Verdict verdict(Severity threshold = Severity::error) const;
};

// The worst of several: error, incomplete, findings, clean.
Verdict worst_verdict(std::span<const Outcome> outcomes, Severity threshold);
// 0 clean, 1 findings, 3 incomplete, 2 error.
int exit_code(Verdict verdict);

}  // namespace tilecheck
