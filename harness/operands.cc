// Operands of a run: files where given, else filled.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "harness/format.h"
#include "harness/run.h"
#include "sim/io/array_file.h"
#include "sim/target/target.h"
#include "sim/types/error.h"

namespace tilecheck {
namespace {

// What an --in or --dtype key may be for operand i of device d, the most particular first.
std::vector<std::string> keys_of(const Subject& s, size_t i, int device) {
  const std::string number = std::to_string(i), dev = ".dev" + std::to_string(device);
  if (s.devices == 1) return {s.operands[i].name, number};
  return {s.operands[i].name + dev, number + dev, s.operands[i].name, number};
}

void refuse_unknown_keys(const Subject& s, const RunOptions& options) {
  std::vector<std::string> known, names;
  for (size_t i = 0; i < s.operands.size(); ++i) {
    names.push_back(s.operands[i].name);
    for (int d = 0; d < s.devices; ++d)
      for (std::string& key : keys_of(s, i, d)) known.push_back(std::move(key));
  }
  const auto check = [&](const std::string& option, const std::string& key) {
    if (std::ranges::find(known, key) != known.end()) return;
    const std::string nearest = nearest_name(std::string_view(key).substr(0, 100), known);
    throw InputError(option + " " + key.substr(0, 100),
                     "no such operand" + (nearest.empty() ? "" : "; did you mean '" + nearest + "'?") + " (" + s.name +
                         " has " + (names.empty() ? "none" : join(names, ", ")) + ")");
  };
  for (const auto& [key, file] : options.in) check("--in", key);
  for (const auto& [key, dtype] : options.dtypes) check("--dtype", key);
}

// A file of another type than the operand's is converted; what that changes is said.
HostArray converted(const HostArray& array, DType to, const std::string& file, std::vector<std::string>& warnings) {
  if (array.dtype() == to) return array;
  HostArray out = array.convert(to);
  int64_t changed = 0;
  for (int64_t i = 0; i < out.size(); ++i) {
    const double before = array.at(i), after = out.at(i);
    changed += before != after && !(std::isnan(before) && std::isnan(after));
  }
  if (changed > 0)
    warnings.push_back(file + ": " + std::to_string(changed) + " of " + plural(out.size(), "element") +
                       " changed, from " + std::string(name(array.dtype())) + " to the operand's " +
                       std::string(name(to)));
  return out;
}

HostArray read_operand(const Operand& o, const std::string& file, std::optional<DType> as,
                       std::vector<std::string>& warnings) {
  HostArray array = read_array(file, as ? *as : o.dtype);
  if (!(array.shape() == o.shape))
    throw InputError(file,
                     "shape " + to_tuple(array.shape()) + ", expected " + to_tuple(o.shape) + " for operand " + o.name);
  return converted(array, o.dtype, file, warnings);
}

HostArray checked(const Operand& o, HostArray array) {
  if (array.dtype() != o.dtype || !(array.shape() == o.shape))
    throw std::logic_error("the hint for operand " + o.name + " makes " + array_text(array.dtype(), array.shape()));
  return array;
}

HostArray fill_operand(const Subject& s, size_t i, int device, const RunOptions& options) {
  const Operand& o = s.operands[i];
  if (!options.fill && o.hint.values) return checked(o, o.hint.values(options.seed, device));
  Fill how{.kind = options.fill.value_or(FillKind::random),
           .seed = options.seed,
           .stream = static_cast<uint64_t>(device) * s.operands.size() + i,
           .low = o.hint.low,
           .high = o.hint.high,
           .int_low = o.hint.int_low,
           .int_high = o.hint.int_high};
  return filled(o.dtype, o.shape, how);
}

void check_arrays(const Subject& s, std::span<const Arrays> devices) {
  if (devices.size() != static_cast<size_t>(s.devices))
    throw InputError(
        s.name, "operands for " + std::to_string(devices.size()) + " devices, expected " + std::to_string(s.devices));
  for (const Arrays& arrays : devices) {
    if (arrays.size() != s.operands.size())
      throw InputError(s.name, plural(static_cast<int64_t>(arrays.size()), "operand") + ", expected " +
                                   std::to_string(s.operands.size()));
    for (size_t i = 0; i < arrays.size(); ++i) {
      const Operand& o = s.operands[i];
      if (arrays[i].dtype() == o.dtype && arrays[i].shape() == o.shape) continue;
      throw InputError("operand " + o.name,
                       array_text(arrays[i].dtype(), arrays[i].shape()) + ", expected " + array_text(o.dtype, o.shape));
    }
  }
}

}  // namespace

std::vector<Arrays> make_operands(const Subject& s, const RunOptions& options, std::vector<std::string>& warnings) {
  refuse_unknown_keys(s, options);
  if (!options.arrays.empty()) {
    check_arrays(s, options.arrays);
    return options.arrays;
  }
  std::vector<Arrays> all(static_cast<size_t>(s.devices));
  std::vector<std::string> steering;
  for (int d = 0; d < s.devices; ++d) {
    std::vector<size_t> derived;
    for (size_t i = 0; i < s.operands.size(); ++i) {
      const Operand& o = s.operands[i];
      const std::vector<std::string> keys = keys_of(s, i, d);
      const auto given = std::ranges::find_if(keys, [&](const std::string& k) { return options.in.contains(k); });
      const auto typed = std::ranges::find_if(keys, [&](const std::string& k) { return options.dtypes.contains(k); });
      const auto captured = s.operand_files.find({d, static_cast<int>(i)});
      HostArray& array = all[static_cast<size_t>(d)].emplace_back();
      if (given != keys.end()) {
        array = read_operand(o, options.in.at(*given),
                             typed == keys.end() ? std::nullopt : std::optional(options.dtypes.at(*typed)), warnings);
      } else if (captured != s.operand_files.end() && !options.fill) {
        array = read_operand(o, captured->second, std::nullopt, warnings);
      } else if (s.is_payload && !options.fill) {
        throw InputError("operand " + std::to_string(i), array_text(o.dtype, o.shape) + " (" + o.name +
                                                             ") is not given: --in " + std::to_string(i) +
                                                             "=FILE, or --fill random to make one up");
      } else {
        if (checked_element_count(o.shape, storage_bytes(o.dtype)) < 0)
          throw InputError("operand " + o.name, "shape " + to_tuple(o.shape) + " does not fit in memory");
        if (o.hint.derived)
          derived.push_back(i);
        else
          array = fill_operand(s, i, d, options);
        if (s.is_payload && o.role != Operand::Role::input && d == 0) steering.push_back(o.name);
      }
    }
    Arrays& mine = all[static_cast<size_t>(d)];
    for (const size_t i : derived) mine[i] = checked(s.operands[i], s.operands[i].hint.derived(mine));
  }
  if (!steering.empty())
    warnings.push_back("values made up for " + join(steering, ", ") +
                       " steer grid, index maps or branches: give real ones with --in");
  return all;
}

}  // namespace tilecheck
