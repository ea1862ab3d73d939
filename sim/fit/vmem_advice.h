// What to say about a VMEM report: findings with help, and advice.
#pragma once

#include <string>

#include "sim/fit/vmem_report.h"

namespace tilecheck::fit {

// Fills `report.findings` and `report.advice` from its figures and rows.
void add_findings(const KernelSpec& spec, const Target& target, VmemReport& report);

// "512 B", "128 KiB", "2.57 MiB".
std::string bytes_text(int64_t bytes);

}  // namespace tilecheck::fit
