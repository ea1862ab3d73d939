// One finding as text, in the manner of rustc's and clang's diagnostics.
#pragma once

#include <string>

#include "harness/format.h"
#include "sim/report/report.h"

namespace tilecheck {

// Ends with a newline. replay: the command that repeats the run; empty: not shown. source_folder: as source_line() has
// it.
std::string diagnostic_text(const Finding& finding, const std::string& replay, const std::string& source_folder,
                            const Paint& paint);
// "paged.py:57:14: error: step (0,3) reads ... [race]", as compilers print it; without newline.
std::string diagnostic_line(const Finding& finding);

}  // namespace tilecheck
