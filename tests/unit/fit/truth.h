// The compiler's verdicts on real kernels, read from the shared folder where there is one.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/spec/kernel_spec.h"

namespace tilecheck::fit {

using CsvRow = std::unordered_map<std::string, std::string>;

// The shared folder: $TILECHECK_SHARED, else shared/ beside the sources.
std::string shared_folder();
// None when the file is not there. Quoted fields may hold commas and doubled quotes, not line breaks.
std::optional<std::vector<CsvRow>> read_csv(const std::string& path);

// The windows and scratch of a row of vmem_truth.csv, as a KernelSpec. None when it lists several kernels.
std::optional<KernelSpec> spec_of(const CsvRow& row);

}  // namespace tilecheck::fit
