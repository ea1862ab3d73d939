// Broken twins: each must be named by its kind, and the right kernel must stay clean at the same parameters.
#pragma once

#include <string>
#include <vector>

#include "harness/run.h"

namespace tilecheck {

struct TwinOutcome {
  std::string name;  // "matmul/accumulator_not_zeroed"
  Kind expected{};
  bool is_named = false;      // the twin has a finding of that kind, and is not clean if the kind is an error
  bool kernel_clean = false;  // the right kernel at the same values
  Outcome twin, kernel;
};

std::vector<TwinOutcome> check_twins(const Kernel& kernel, const RunOptions& options = {});

}  // namespace tilecheck
