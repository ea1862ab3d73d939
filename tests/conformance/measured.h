// Measured kernels in the shared folder: tables and modules, read the same way by every conformance program.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace tilecheck::conformance {

using CsvRow = std::unordered_map<std::string, std::string>;

// The shared folder: $TILECHECK_SHARED, else shared/ beside the sources.
std::string shared_folder();
// None when the file is not there. Quoted fields may hold commas, doubled quotes and line breaks.
std::optional<std::vector<CsvRow>> read_csv(const std::string& path);
// The bytes of a file, unpacked when its name ends in .gz. Throws InputError.
std::string read_file(const std::string& path);
// Whether a row was held out of fitting: a third of all, by a hash of its id.
bool is_held_out(const std::string& id);

// Exit code of a program whose data is absent: CTest shows the test as skipped.
inline constexpr int kSkipped = 77;

}  // namespace tilecheck::conformance
