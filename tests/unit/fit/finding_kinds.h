// Findings as the tables of cases write them.
#pragma once

#include <string>
#include <vector>

#include "sim/report/report.h"

namespace tilecheck::fit {

// "unaligned-slice dtype-unsupported"
inline std::string kinds_of(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& f : findings) text += (text.empty() ? "" : " ") + std::string(name(f.kind));
  return text;
}

}  // namespace tilecheck::fit
