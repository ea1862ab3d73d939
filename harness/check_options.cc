// What the command line says against what it is said of.
#include <algorithm>
#include <charconv>
#include <optional>

#include "harness/command_line.h"
#include "harness/filter.h"
#include "harness/format.h"
#include "sim/io/file.h"
#include "sim/types/error.h"

namespace tilecheck {
namespace {

// Which operand an --in or --dtype key means, and of which device; -1: of every one.
struct Place {
  size_t operand;
  int device;
  bool meets(const Place& other) const {
    return operand == other.operand && (device == other.device || device < 0 || other.device < 0);
  }
};

std::optional<int> whole(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

// None for a key that make_operands will not know either.
std::optional<Place> place_of(const Subject& s, std::string_view key) {
  const auto operand = [&](std::string_view name) -> std::optional<size_t> {
    for (size_t i = 0; i < s.operands.size(); ++i)
      if (s.operands[i].name == name) return i;
    const auto number = whole(name);
    return number && static_cast<size_t>(*number) < s.operands.size() ? std::optional<size_t>(*number) : std::nullopt;
  };
  if (const auto i = operand(key)) return Place{*i, -1};
  const size_t dev = key.rfind(".dev");
  if (dev == std::string_view::npos || s.devices == 1) return std::nullopt;
  const auto i = operand(key.substr(0, dev));
  const auto device = whole(key.substr(dev + 4));
  return i && device ? std::optional(Place{*i, *device}) : std::nullopt;
}

void check_operands(const CommandLine& line, const Subject& s) {
  std::vector<std::pair<std::string, Place>> given;
  for (const auto& [key, file] : line.run.in) {
    const auto place = place_of(s, key);
    if (!place) continue;
    for (const auto& [other, at] : given)
      if (at.operand == place->operand && at.device == place->device)
        throw InputError("--in " + key, "and --in " + other + " are the same operand");
    given.emplace_back(key, *place);
  }
  for (const auto& [key, dtype] : line.run.dtypes) {
    const auto place = place_of(s, key);
    if (place && std::ranges::none_of(given, [&](const auto& g) { return g.second.meets(*place); }))
      throw InputError("--dtype " + key, "is for an operand's file; give it with --in " + key + "=FILE");
  }
  if (!s.operand_files.empty() && line.run.fill)
    throw InputError(line.run.bit_equal ? "--integers" : "--fill",
                     s.name + " holds its operands; to run it on others, name its module: " + s.name + "/module.mlir");
}

void check_expected(const CommandLine& line, const Subject& s) {
  refuse_unknown_results(s, line.run);
  for (const auto& [key, file] : line.run.expect) {
    const size_t tensor = file.rfind(".safetensors:");
    const InputFile readable(tensor == std::string::npos ? file : file.substr(0, tensor + 12));  // before the run
  }
}

}  // namespace

void check_outputs(const CommandLine& line) {
  for (const std::string* file : {&line.json_file, &line.csv_file, &line.markdown_file, &line.write_baseline_file})
    if (!file->empty() && *file != "-") check_writable(*file);
  if (!line.out_directory.empty()) check_writable_folder(line.out_directory);
  if (!line.baseline_file.empty()) Baseline::read(line.baseline_file);
}

void check_options(const CommandLine& line, const Subject& subject) {
  check_operands(line, subject);
  check_expected(line, subject);
}

}  // namespace tilecheck
