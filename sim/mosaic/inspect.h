// Kernels as text: for reading, as they are, as a hash, and side by side.
#pragma once

#include <string>
#include <string_view>

#include "sim/mosaic/kernel_module.h"

namespace tilecheck::mosaic {

struct InspectOptions {
  bool source_lines = true;  // head each group of lines by the Python line it came from
  bool body = true;
};

// Operands, windows with index maps, spaces, scratch, cost estimate, options, and the body, dead operations left out.
std::string inspect(const KernelModule& kernel, const InspectOptions& options = {});

// The payload's module as it stands there (neither upgraded nor cleaned), in MLIR's generic form.
std::string raw_text(const KernelCall& call, bool locations = true);

// What decides whether two kernels are the same program: operations, types, constants, signature and options; not the
// IR version, nor names of files. 32 hexadecimal digits each.
struct Identity {
  std::string without_locations;
  std::string with_locations;
};
Identity identity(const KernelModule& kernel);

// What differs between two kernels, one line a difference: grid, windows, scratch, options, then the body's lines; or
// that only source lines differ; empty if nothing does.
std::string diff(const KernelModule& a, const KernelModule& b);

}  // namespace tilecheck::mosaic
