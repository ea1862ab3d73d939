// Lines of the user's source, for showing them under a finding.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tilecheck {

// Line `line` (from 1) of `file`; none if it is not a readable regular file of a few megabytes or has no such line. A
// name without a root is looked for from the working directory, also as if that were the folder around a build folder
// ("../kernels/add.cc" is then kernels/add.cc), then in `folder` and in the folder around that, unless empty. Files are
// kept once read. Thread-safe.
std::optional<std::string> source_line(const std::string& file, uint32_t line, const std::string& folder = "");

// `file` as it is shown: relative to the working directory when it lies below it.
std::string shown_file(std::string_view file);

// A function as it is shown. C++ compilers give the whole declaration: of "void ns::{anonymous}::Copy::load(Core&)
// const" remains "Copy::load", and a lambda goes by the function around it. What has no parameter list stays as it is.
std::string shown_function(std::string_view function);

// Columns (from 0) of the expression that begins at `column` (from 1; 0: at the first non-blank): for underlining.
struct Extent {
  size_t begin = 0, end = 0;
};
Extent expression_at(std::string_view line, uint32_t column);

}  // namespace tilecheck
