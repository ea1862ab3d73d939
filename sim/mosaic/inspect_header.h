// What inspect and diff say of a kernel beside its body; internal to them.
#pragma once

#include <string>
#include <vector>

#include "sim/mosaic/kernel_module.h"

namespace tilecheck::mosaic {

// Rows of cells; the first is what the row is about, empty where it goes on with the one before.
struct HeaderText {
  std::vector<std::vector<std::string>> rows;
};
// arg_names: what to call the main function's arguments (KernelModule::arg_names, or another kernel's to compare with).
HeaderText header_text(const KernelModule& kernel, const std::vector<std::string>& arg_names);

}  // namespace tilecheck::mosaic
