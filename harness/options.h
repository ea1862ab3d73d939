// The command line's options as text, and their reading into a CommandLine.
#pragma once

#include <string>
#include <vector>

#include "harness/command_line.h"

namespace tilecheck {

// As typed; empty: not given.
struct RawOptions {
  std::vector<std::string> subjects, set, results, operands, aliases, targets, in, dtypes, expect, select, ignore;
  std::string call, kernel, vmem_limit, fill, seed, numerics, schedule, threads, cores, core_split, devices,
      remote_order, semaphore_progress, budget, atol, rtol, json, format, error_on, color, log, out, steps, baseline,
      write_baseline, top, csv, markdown;
  bool force = false, integers = false, no_compare = false, quiet = false, verbose = false, names = false, raw = false,
       generic = false, identity = false, run_rows = false, share_hbm = false;
};

// InputError that names the option and what it accepts.
CommandLine finish(const RawOptions& raw);
// Refuses options that would have no effect beside the others: nothing is accepted and ignored.
void refuse_unused(const std::string& command, const RawOptions& raw);

}  // namespace tilecheck
