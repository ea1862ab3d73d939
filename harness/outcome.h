// What one run or analysis of one subject on one target ended with: plain data, from which every report format is
// written.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/compare.h"
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

struct FitRow {
  std::string name;      // "k, v" is two rows here
  std::string category;  // "block", "scratch", "scoped", "spills", "internal"
  Shape block;
  DType dtype{};
  std::string tile;            // "(8,128)"
  int64_t unpadded_bytes = 0;  // of one buffer
  int64_t buffer_bytes = 0;    // of one buffer, padded to tiles
  int buffers = 1;
  std::string reason;  // why that many: "index map uses i1"
  int64_t total_bytes = 0;
  std::string detail;  // spills: "210 vregs (range 150..290)"
};

enum class FitVerdict : uint8_t { fits, thin, cannot_fit };
std::string_view name(FitVerdict verdict);  // "cannot-fit"

struct FitOutcome {
  FitVerdict verdict = FitVerdict::fits;
  int64_t need_bytes = 0, need_min_bytes = 0, need_max_bytes = 0;
  int64_t block_bytes = 0;     // windows and scratch: exact
  int64_t spill_bytes = 0;     // estimate
  int64_t limit_bytes = 0;     // in force
  std::string limit_source;    // "default of v5e", "the kernel's vmem_limit_bytes", "--vmem-limit"
  int64_t capacity_bytes = 0;  // the largest limit this target allows
  int64_t smem_bytes = 0, smem_limit_bytes = 0;
  int64_t semaphore_bytes = 0, semaphore_limit_bytes = 0;
  std::vector<FitRow> rows;
  std::string fits_with;            // "vmem_limit_bytes >= 19054592", "smaller blocks only"; empty when it fits
  std::vector<std::string> advice;  // which block to shrink, what padding costs, ...
};

struct TimeOutcome {
  double cycles = 0;
  double us = 0;
  std::string bound;  // "compute", "HBM", "latency"
  double exposed_dma_cycles = 0;
  double body_cycles = 0;   // all steps' bodies
  double dma_cycles = 0;    // all pipeline copies
  double median_error = 0;  // of the model, as a share
};

struct Outcome {
  std::string subject;   // as the user named it: "flash_attention", "module.mlir"
  std::string headline;  // "q,k,v bf16[1,8,2048,128]   causal"
  Report report;         // findings of comparison, fit and compile rules are in it too
  bool ran = false;      // executed (fit alone does not)
  std::vector<ResultOutcome> results;
  std::optional<FitOutcome> fit;
  std::optional<TimeOutcome> time;
  std::vector<StepRecord> steps;
  std::vector<std::string> window_names;  // inputs, then outputs: what StepRecord counts
  std::vector<std::string> warnings;      // about how the run was asked for
  std::string replay;                     // the command that repeats it
  std::string error;                      // bad input: nothing else is set but the subject
  int suppressed = 0;                     // findings that --ignore, --select or the baseline took away

  Verdict verdict(Severity threshold = Severity::error) const;
};

// The worst of several: error, incomplete, findings, clean.
Verdict worst_verdict(std::span<const Outcome> outcomes, Severity threshold);
// 0 clean, 1 findings, 3 incomplete, 2 error.
int exit_code(Verdict verdict);

}  // namespace tilecheck
