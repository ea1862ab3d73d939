// Capture directories: call.json beside a module, its operands and the results they should give.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "harness/format.h"
#include "harness/payload_subject.h"
#include "sim/io/file.h"
#include "sim/io/npy.h"
#include "sim/types/error.h"

namespace tilecheck {
namespace {

using Json = nlohmann::ordered_json;  // a mesh's axes are in order

constexpr int kMaxDevices = 256;

std::string device_suffix(int devices, int device) { return devices > 1 ? ".dev" + std::to_string(device) : ""; }

int integer_field(const Json& json, const char* key, int otherwise, const std::string& file) {
  const auto it = json.find(key);
  if (it == json.end() || it->is_null()) return otherwise;
  if (!it->is_number_integer() || *it < 1 || *it > kMaxDevices)
    throw InputError(file, std::string(key) + ": expected 1 to " + std::to_string(kMaxDevices));
  return it->get<int>();
}

double tolerance(const Json& result, const char* key, const std::string& file) {
  const auto it = result.find(key);
  if (it == result.end() || it->is_null()) return 0;
  if (!it->is_number() || !(it->get<double>() >= 0))
    throw InputError(file, std::string(key) + ": expected a number of at least 0");
  return it->get<double>();
}

const Json& list_field(const Json& json, const char* key, const std::string& file) {
  const auto it = json.find(key);
  if (it == json.end() || !it->is_array()) throw InputError(file, std::string("expected a list '") + key + "'");
  return *it;
}

// Which elements count: one per element, or packed into bits, the first in the highest bit (numpy.packbits).
HostArray read_valid(const std::string& file, const Shape& shape) {
  const HostArray raw = read_npy(file);
  const int64_t count = element_count(shape);
  HostArray valid(DType::u8, shape);
  if (raw.size() == count) {
    for (int64_t i = 0; i < count; ++i) valid.set(i, raw.at(i) != 0 ? 1 : 0);
    return valid;
  }
  if (raw.dtype() != DType::u8 || raw.size() != (count + 7) / 8)
    throw InputError(file, array_text(raw.dtype(), raw.shape()) + ", expected " + std::to_string(count) +
                               " elements, or as many bits");
  for (int64_t i = 0; i < count; ++i) valid.set(i, (raw.as<uint8_t>()[i / 8] >> (7 - i % 8)) & 1);
  return valid;
}

Json read_call(const std::string& file) {
  const Json json = Json::parse(read_file(file, 16 << 20), nullptr, false);
  if (json.is_discarded() || !json.is_object()) throw InputError(file, "not a JSON object");
  return json;
}

}  // namespace

bool is_capture(const std::string& directory) {
  std::error_code error;
  return std::filesystem::is_regular_file(directory + "/call.json", error);
}

Subject capture_subject(const std::string& directory, const CommandLine& line, const std::string& module) {
  std::string trimmed = directory;
  while (trimmed.size() > 1 && trimmed.ends_with('/')) trimmed.pop_back();
  const std::string file = trimmed + "/call.json";
  const Json call = read_call(file);
  std::vector<Subject> subjects = payload_subjects(trimmed + "/" + module, line);
  if (subjects.size() != 1)
    throw InputError(trimmed,
                     "a capture has one call, found " + std::to_string(subjects.size()) + "; choose one with --call");
  Subject s = std::move(subjects[0]);
  s.name = trimmed;
  s.devices = integer_field(call, "devices", 1, file);
  s.cores = integer_field(call, "cores", 1, file);
  if (const auto mesh = call.find("mesh"); mesh != call.end() && mesh->is_object()) {
    int64_t product = 1;
    for (const auto& [axis, size] : mesh->items()) {
      if (!size.is_number_integer() || size < 1 || size > kMaxDevices || s.mesh.rank() == kMaxRank)
        throw InputError(file, "mesh: expected axis sizes");
      s.mesh.push_back(size.get<int64_t>());
      product *= s.mesh.back();
    }
    if (product != s.devices)
      throw InputError(file,
                       "mesh has " + std::to_string(product) + " devices, 'devices' says " + std::to_string(s.devices));
  }
  const Json& operands = list_field(call, "operands", file);
  if (operands.size() != s.operands.size())
    throw InputError(file,
                     std::to_string(operands.size()) + " operands, the call has " + std::to_string(s.operands.size()));
  for (int d = 0; d < s.devices; ++d)
    for (int i = 0; i < static_cast<int>(operands.size()); ++i)
      s.operand_files[{d, i}] = trimmed + "/operand_" + std::to_string(i) + device_suffix(s.devices, d) + ".npy";

  std::vector<CompareRule> rules;
  std::vector<bool> has_golden;  // "none": no result is right
  for (const Json& r : list_field(call, "results", file)) {
    CompareRule rule{.atol = tolerance(r, "atol", file), .rtol = tolerance(r, "rtol", file), .skip_expected_nan = true};
    rules.push_back(rule);
    has_golden.push_back(r.value("golden", "") != "none");
  }
  if (rules.size() != s.results.size())
    throw InputError(file, std::to_string(rules.size()) + " results, the call has " + std::to_string(s.results.size()));
  s.expected = [trimmed, rules, has_golden, results = s.results, devices = s.devices](
                   int device, int result) -> std::optional<Expected> {
    const std::string name = std::to_string(result) + device_suffix(devices, device) + ".npy";
    const ResultInfo& info = results[static_cast<size_t>(result)];
    Expected e{.rule = rules[static_cast<size_t>(result)], .source = trimmed + "/result_" + name};
    if (!has_golden[static_cast<size_t>(result)]) return std::nullopt;
    e.array = read_npy(e.source, info.dtype);
    const std::string valid = trimmed + "/valid_" + name;
    if (std::filesystem::exists(valid)) e.valid = read_valid(valid, info.shape);
    return e;
  };
  return s;
}

}  // namespace tilecheck
