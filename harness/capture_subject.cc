// Capture directories: call.json beside a module, its operands and the results they should give.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "harness/format.h"
#include "harness/payload_subject.h"
#include "sim/io/file.h"
#include "sim/io/npy.h"
#include "sim/target/target.h"
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

// One entry of `operands` or `results`: what call.json says of an array, held against the call's own type.
class Entry {
 public:
  Entry(const Json& json, std::string where) : json_(json), where_(std::move(where)) {
    if (!json.is_object()) throw InputError(where_, "expected an object with dtype and shape");
  }

  [[noreturn]] void fail(const char* key, const std::string& what) const { throw InputError(where_ + "." + key, what); }
  // The text of a field, `otherwise` where it is absent.
  std::string text(const char* key, const char* otherwise) const {
    const auto it = json_.find(key);
    if (it == json_.end() || it->is_null()) return otherwise;
    if (!it->is_string()) fail(key, shown(*it) + ", expected a text");
    return it->get<std::string>();
  }
  std::string one_of(const char* key, std::initializer_list<const char*> accepted) const {
    const std::string given = text(key, *accepted.begin());
    std::string all;
    for (const char* a : accepted) {
      if (given == a) return given;
      all += (all.empty() ? "" : ", ") + std::string(a);
    }
    fail(key, "'" + given.substr(0, 60) + "', expected one of " + all);
  }
  double tolerance(const char* key) const {
    const auto it = json_.find(key);
    if (it == json_.end() || it->is_null()) return 0;
    if (!it->is_number() || !(it->get<double>() >= 0)) fail(key, shown(*it) + ", expected a number of at least 0");
    return it->get<double>();
  }
  void check_type(DType dtype, const Shape& shape) const {
    if (const std::string name = text("dtype", ""); !name.empty()) {
      const auto parsed = parse_dtype(name);
      if (!parsed) fail("dtype", "'" + name.substr(0, 60) + "' is no element type (float32, bfloat16, int32, ...)");
      if (*parsed != dtype) fail("dtype", name + ", the call has " + std::string(tilecheck::name(dtype)));
    }
    const auto it = json_.find("shape");
    if (it == json_.end() || it->is_null()) return;
    bool is_same = it->is_array() && it->size() == static_cast<size_t>(shape.rank());
    for (int d = 0; is_same && d < shape.rank(); ++d) {
      const Json& extent = (*it)[static_cast<size_t>(d)];
      is_same = extent.is_number_integer() && extent == shape[d];
    }
    if (!is_same) fail("shape", shown(*it) + ", the call has " + to_tuple(shape));
  }

 private:
  static std::string shown(const Json& value) {
    return value.dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, 60);
  }
  const Json& json_;
  std::string where_;  // "captures/add/call.json: operands[0]"
};

// Whether valid_I.npy says which elements of result `index` count; none where call.json does not say.
std::optional<bool> is_masked(const Entry& result, size_t index) {
  const std::string valid = result.text("valid", ""), mask = "valid_" + std::to_string(index);
  if (valid.empty()) return std::nullopt;
  if (valid == "all") return false;
  if (valid.find(mask + ".") == std::string::npos)
    result.fail("valid", "'" + valid.substr(0, 60) + "', expected 'all' or a text that names " + mask + ".npy");
  return true;
}

// The chip that it is for, as --target takes it; empty where it does not say.
std::string target_field(const Json& call, const std::string& file) {
  const auto it = call.find("target");
  if (it == call.end() || it->is_null()) return "";
  if (!it->is_string()) throw InputError(file, "target: expected a text");
  try {
    return target_named(it->get<std::string>()).name;
  } catch (const InputError& e) {
    throw InputError(file, e.what());  // "target: no target is named ..."
  }
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

const char* role_name(Operand::Role role) {
  switch (role) {
    case Operand::Role::grid_bound:
      return "grid_bound";
    case Operand::Role::prefetch:
      return "scalar_prefetch";
    case Operand::Role::input:
      return "input";
  }
  return "";
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
  s.target = target_field(call, file);
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
  for (size_t i = 0; i < operands.size(); ++i) {
    const Entry entry(operands[i], file + ": operands[" + std::to_string(i) + "]");
    entry.check_type(s.operands[i].dtype, s.operands[i].shape);
    const char* role = role_name(s.operands[i].role);
    if (const std::string given = entry.text("role", role); given != role)
      entry.fail("role", "'" + given.substr(0, 60) + "', the call has " + role + " there");
  }
  for (int d = 0; d < s.devices; ++d)
    for (int i = 0; i < static_cast<int>(operands.size()); ++i)
      s.operand_files[{d, i}] = trimmed + "/operand_" + std::to_string(i) + device_suffix(s.devices, d) + ".npy";

  std::vector<CompareRule> rules;
  std::vector<bool> has_golden;  // "none": no result is right
  std::vector<std::optional<bool>> masked;
  const Json& described = list_field(call, "results", file);
  if (described.size() != s.results.size())
    throw InputError(file,
                     std::to_string(described.size()) + " results, the call has " + std::to_string(s.results.size()));
  for (size_t i = 0; i < described.size(); ++i) {
    const Entry entry(described[i], file + ": results[" + std::to_string(i) + "]");
    entry.check_type(s.results[i].dtype, s.results[i].shape);
    rules.push_back({.atol = entry.tolerance("atol"), .rtol = entry.tolerance("rtol"), .skip_expected_nan = true});
    has_golden.push_back(entry.one_of("golden", {"tpu-interpret", "hlo-interpret", "numpy", "none"}) != "none");
    masked.push_back(is_masked(entry, i));
  }
  s.expected = [trimmed, rules, has_golden, masked, results = s.results, devices = s.devices](
                   int device, int result) -> std::optional<Expected> {
    const std::string name = std::to_string(result) + device_suffix(devices, device) + ".npy";
    const ResultInfo& info = results[static_cast<size_t>(result)];
    Expected e{.rule = rules[static_cast<size_t>(result)], .source = trimmed + "/result_" + name};
    if (!has_golden[static_cast<size_t>(result)]) return std::nullopt;
    e.array = read_npy(e.source, info.dtype);
    const std::string valid = trimmed + "/valid_" + name;
    if (masked[static_cast<size_t>(result)].value_or(std::filesystem::exists(valid)))
      e.valid = read_valid(valid, info.shape);
    return e;
  };
  return s;
}

}  // namespace tilecheck
