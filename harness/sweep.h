// A kernel over many tile sizes: what each needs, moves and takes.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "harness/command_line.h"

namespace tilecheck {

inline constexpr int64_t kMaxSweepRows = 200000;

struct SweepRow {
  std::vector<std::string> values;  // of the swept parameters
  std::string target;
  std::string refused;  // why these values do not go together; nothing else is set then
  fit::FitVerdict fit = fit::FitVerdict::fits;
  int64_t need_bytes = 0, limit_bytes = 0;
  bool is_exact = true;   // the need has no range
  int64_t hbm_bytes = 0;  // -1: not known; such a row is not in the Pareto list
  double time_us = 0;     // 0: not modelled
  std::string bound;
  bool has_errors = false;  // compile rules refuse it
  bool pareto = false;      // no other row that fits is at least as good in all of VMEM, HBM and time
  std::string ran;          // --run: the verdict; empty: not run
};

struct Sweep {
  std::vector<std::string> names;  // of the swept parameters
  std::vector<SweepRow> rows;      // in the order of the sets, the last one fastest
  int64_t pruned = 0;              // cannot fit
};

// InputError for unknown parameters and for more than kMaxSweepRows rows.
Sweep sweep_kernel(const KernelChoice& choice, const CommandLine& line, std::span<const Target> targets,
                   const std::function<void(int64_t done, int64_t total)>& progress);

// Marks rows that no other dominates, among those of one target that fit.
void mark_pareto(std::vector<SweepRow>& rows);

}  // namespace tilecheck
