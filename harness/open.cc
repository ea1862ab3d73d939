// What the user named, opened.
#include <algorithm>
#include <charconv>
#include <filesystem>

#include "harness/command_line.h"
#include "harness/format.h"
#include "harness/log.h"
#include "harness/payload_subject.h"
#include "sim/types/error.h"

namespace tilecheck {
namespace {

// "4" or "2x2".
Dims parse_devices(const std::string& text) {
  Dims mesh;
  int64_t product = 1;
  for (size_t at = 0; at <= text.size() && mesh.rank() < kMaxRank;) {
    const size_t x = std::min(text.find('x', at), text.size());
    int64_t extent = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + x, extent);
    if (error != std::errc() || end != text.data() + x || extent < 1 || (product *= extent) > 256) break;
    mesh.push_back(extent);
    at = x + 1;
    if (at > text.size()) return mesh;
  }
  throw InputError("--devices", "'" + text.substr(0, 60) + "' given, expected N or AxB, at most 256 in all");
}

void apply(const CommandLine& line, Subject& s) {
  if (line.devices.empty()) return;
  s.mesh = parse_devices(line.devices);
  const auto devices = static_cast<int>(element_count(s.mesh));
  if (devices != s.devices && s.devices > 1 && !s.is_payload && !s.expected)
    throw InputError("--devices", "'" + line.devices + "' given, but " + s.name + " was made for " +
                                      std::to_string(s.devices) + "; its own parameters say for how many (--set)");
  if (devices != s.devices && s.expected) {
    if (line.run.in.empty() && !line.run.fill)
      throw InputError("--devices", "'" + line.devices + "' given, but " + s.name + " holds operands for " +
                                        plural(s.devices, "device") + "; --fill random makes others up");
    s.expected = nullptr;
    s.operand_files.clear();
  }
  s.devices = devices;
}

void refuse_payload_options(const CommandLine& line) {
  const struct {
    const char* option;
    bool is_given;
    const char* what_for;
  } options[] = {
      {"--call", line.call.has_value(), "modules"},         {"--kernel", !line.kernel.empty(), "modules"},
      {"--result", !line.results.empty(), "bare payloads"}, {"--operand", !line.operands.empty(), "bare payloads"},
      {"--alias", !line.aliases.empty(), "bare payloads"},  {"--force", line.force, "payloads"}};
  for (const auto& o : options)
    if (o.is_given) throw InputError(o.option, std::string("is for ") + o.what_for + "; this is a C++ kernel");
}

}  // namespace

std::vector<Subject> open_subjects(const std::string& what, const CommandLine& line) {
  const LogPart part(what, "open");
  std::vector<Subject> subjects;
  std::error_code error;
  if (is_kernel_name(what)) {
    refuse_payload_options(line);
    subjects.push_back(subject_of(kernel_named(what), line.set_map()));
  } else if (!std::filesystem::exists(what, error)) {
    if (std::filesystem::is_symlink(what, error)) throw InputError(what, "a link to a file that is not there");
    kernel_named(what);  // throws, with the nearest kernel's name
  } else {
    if (!line.set.empty())
      throw InputError("--set " + line.set[0].name, "is for C++ kernels; " + what + " is a payload");
    if (is_capture(what)) {
      subjects.push_back(capture_subject(what, line));
    } else if (std::filesystem::is_directory(what, error)) {
      throw InputError(what,
                       "a directory without call.json; `tilecheck check` takes directories of captures and modules");
    } else {
      subjects = payload_subjects(what, line);
    }
  }
  for (Subject& s : subjects) apply(line, s);
  return subjects;
}

}  // namespace tilecheck
