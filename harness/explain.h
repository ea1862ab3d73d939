// The smallest example of each kind of finding, for `tilecheck explain`.
#pragma once

#include <string>
#include <string_view>

#include "sim/report/kinds.h"

namespace tilecheck {

// A few lines of kernel code: what is wrong, marked, and what would be right.
std::string_view example(Kind kind);
// All that is to be said about a kind.
std::string explanation(Kind kind);

}  // namespace tilecheck
