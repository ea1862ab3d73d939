// Property tests: a kernel is run at many random parameter values, and must be clean and right at all of them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "harness/kernel.h"
#include "harness/run.h"

namespace tilecheck {

struct PropertyOptions {
  uint64_t seed = 0;  // of the first case; case i has seed + i, for its parameters and its operands
  int cases = 50;
  RunOptions run;  // seed and garbage are set for each case
};

// Parameter values at which a kernel failed, made as simple as they get.
struct PropertyFailure {
  uint64_t seed = 0;                       // of the case
  std::map<std::string, std::string> set;  // shrunk
  std::map<std::string, std::string> drawn;
  Outcome outcome;   // of the shrunk case
  std::string what;  // one line: its first finding, or that it is incomplete
  // "tilecheck run flash_attention --set len=65 ... --seed 7": what repeats it.
  std::string command(const std::string& subject) const;
};

struct PropertyResult {
  int run = 0;      // cases that ran
  int refused = 0;  // values that do not go together (InputError from the kernel)
  std::optional<PropertyFailure> failure;
};

// Each case draws every parameter from its samples (the default where there are none), fills the operands by the
// kernel's own hints, and lets fresh memory hold other garbage each time. Stops at the first case that is not clean (a
// warning is enough, and so is a comparison that fails or finds nothing to compare) and shrinks it: as long as one
// parameter can take an earlier sample and the case still fails, it does. Samples stand simplest first.
PropertyResult property_test(const KernelChoice& choice, const PropertyOptions& options);

}  // namespace tilecheck
