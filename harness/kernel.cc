// Parameters and the registry of kernels.
#include "harness/kernel.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cmath>
#include <deque>
#include <sstream>

#include "sim/target/target.h"
#include "sim/types/error.h"

namespace tilecheck {
namespace {

std::string join(std::span<const std::string> parts) {
  std::string text;
  for (const std::string& p : parts) text += (text.empty() ? "" : ", ") + p;
  return text;
}

std::string to_text(double value) {
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value);
  return {buffer, end.ptr};
}

template <typename T>
bool parse_number(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

[[noreturn]] void refuse(const Param& p, std::string_view text, const std::string& expected) {
  throw InputError("--set " + p.name, "'" + std::string(text.substr(0, 60)) + "' given, expected " + expected);
}

// A deque, so that pointers to kernels stay good while more are added.
std::deque<Kernel>& registry() {
  static auto& kernels = *new std::deque<Kernel>;
  return kernels;
}

}  // namespace

Param int_param(std::string name, int64_t default_value, std::string help, std::vector<int64_t> samples, int64_t min) {
  Param p{.name = std::move(name),
          .type = ParamType::integer,
          .default_text = std::to_string(default_value),
          .help = std::move(help),
          .min = min};
  for (const int64_t s : samples) p.samples.push_back(std::to_string(s));
  return p;
}

Param number_param(std::string name, double default_value, std::string help, std::vector<double> samples) {
  Param p{.name = std::move(name),
          .type = ParamType::number,
          .default_text = to_text(default_value),
          .help = std::move(help)};
  for (const double s : samples) p.samples.push_back(to_text(s));
  return p;
}

Param bool_param(std::string name, bool default_value, std::string help) {
  return {.name = std::move(name),
          .type = ParamType::boolean,
          .default_text = default_value ? "1" : "0",
          .help = std::move(help),
          .samples = {"0", "1"}};
}

Param dtype_param(std::string name, DType default_value, std::vector<DType> choices, std::string help) {
  Param p{.name = std::move(name),
          .type = ParamType::dtype,
          .default_text = std::string(tilecheck::name(default_value)),
          .help = std::move(help)};
  for (const DType d : choices) p.choices.emplace_back(tilecheck::name(d));
  p.samples = p.choices;
  return p;
}

Param choice_param(std::string name, std::string default_value, std::vector<std::string> choices, std::string help) {
  return {.name = std::move(name),
          .type = ParamType::choice,
          .default_text = std::move(default_value),
          .help = std::move(help),
          .choices = choices,
          .samples = choices};
}

ParamValues::ParamValues(std::span<const Param> params, const std::map<std::string, std::string>& set) {
  std::vector<std::string> names;
  for (const Param& p : params) names.push_back(p.name);
  for (const auto& [key, value] : set) {
    if (std::ranges::find(names, key) != names.end()) continue;
    const std::string nearest = nearest_name(std::string_view(key).substr(0, 100), names);
    throw InputError("--set " + key.substr(0, 100),
                     "no such parameter" + (nearest.empty() ? "" : "; did you mean '" + nearest + "'?") +
                         (names.empty() ? " (this kernel has none)" : " (known: " + join(names) + ")"));
  }
  for (const Param& p : params) {
    const auto given = set.find(p.name);
    const std::string& text = given == set.end() ? p.default_text : given->second;
    Value v{.type = p.type, .text = text};
    switch (p.type) {
      case ParamType::integer:
        if (!parse_number(text, v.integer)) refuse(p, text, "an integer");
        if (v.integer < p.min) refuse(p, text, "at least " + std::to_string(p.min));
        if (v.integer > p.max) refuse(p, text, "at most " + std::to_string(p.max));
        break;
      case ParamType::number:
        if (!parse_number(text, v.number) || !std::isfinite(v.number)) refuse(p, text, "a finite number");
        // Kernels compute in f32: there these would be infinity and 0.
        if (std::isinf(static_cast<float>(v.number)) || (v.number != 0 && static_cast<float>(v.number) == 0))
          refuse(p, text, "a number that f32 can hold");
        break;
      case ParamType::boolean:
        if (text == "1" || text == "true" || text == "yes" || text == "on")
          v.integer = 1;
        else if (text != "0" && text != "false" && text != "no" && text != "off")
          refuse(p, text, "0 or 1");
        v.text = v.integer ? "1" : "0";
        break;
      case ParamType::dtype: {
        const auto parsed = parse_dtype(text);
        if (!parsed || std::ranges::find(p.choices, std::string(tilecheck::name(*parsed))) == p.choices.end())
          refuse(p, text, "one of " + join(p.choices));
        v.dtype = *parsed;
        v.text = tilecheck::name(*parsed);
        break;
      }
      case ParamType::choice: {
        if (std::ranges::find(p.choices, text) != p.choices.end()) break;
        const std::string nearest = nearest_name(std::string_view(text).substr(0, 100), p.choices);
        refuse(p, text, "one of " + join(p.choices) + (nearest.empty() ? "" : " (did you mean '" + nearest + "'?)"));
      }
    }
    texts_.emplace_back(p.name, v.text);
    values_.push_back(std::move(v));
  }
}

const ParamValues::Value& ParamValues::find(std::string_view name, [[maybe_unused]] ParamType type) const {
  for (size_t i = 0; i < texts_.size(); ++i) {
    if (texts_[i].first != name) continue;
    assert(values_[i].type == type && "parameter read as another type than declared");
    return values_[i];
  }
  throw std::logic_error("kernel reads parameter '" + std::string(name) + "', which it does not declare");
}

int64_t ParamValues::integer(std::string_view name) const { return find(name, ParamType::integer).integer; }
double ParamValues::number(std::string_view name) const { return find(name, ParamType::number).number; }
bool ParamValues::flag(std::string_view name) const { return find(name, ParamType::boolean).integer != 0; }
DType ParamValues::dtype(std::string_view name) const { return find(name, ParamType::dtype).dtype; }
const std::string& ParamValues::choice(std::string_view name) const { return find(name, ParamType::choice).text; }

void add_kernel(Kernel kernel) {
  assert(kernel.make && kernel.name.find('/') == std::string::npos);
  assert(!is_kernel_name(kernel.name) && "two kernels of one name");
  registry().push_back(std::move(kernel));
}

const std::deque<Kernel>& registered_kernels() { return registry(); }

KernelCase KernelChoice::make(const std::map<std::string, std::string>& set) const {
  if (!twin) return kernel->make(ParamValues(kernel->params, set));
  std::map<std::string, std::string> all = twin->set;
  for (const auto& [key, value] : set) all[key] = value;
  KernelCase c = twin->make(ParamValues(kernel->params, all));
  return c;
}

namespace {

const Kernel* find_kernel(std::string_view name) {
  for (const Kernel& k : registry())
    if (k.name == name) return &k;
  return nullptr;
}

const BrokenTwin* find_twin(const Kernel& kernel, std::string_view name) {
  for (const BrokenTwin& t : kernel.broken)
    if (t.name == name) return &t;
  return nullptr;
}

// whole: as it was typed; given: the part of it that is unknown.
[[noreturn]] void unknown(const std::string& what, std::string_view whole, std::string_view given,
                          std::span<const std::string> names) {
  const std::string nearest = nearest_name(given.substr(0, 100), names);
  throw InputError(std::string(whole.substr(0, 100)),
                   "no such " + what + (nearest.empty() ? "" : "; did you mean '" + nearest + "'?"));
}

}  // namespace

bool is_kernel_name(std::string_view name) {
  const size_t slash = name.find('/');
  const Kernel* kernel = find_kernel(name.substr(0, slash));
  return kernel && (slash == std::string_view::npos || find_twin(*kernel, name.substr(slash + 1)));
}

KernelChoice kernel_named(std::string_view name) {
  const size_t slash = name.find('/');
  const Kernel* kernel = find_kernel(name.substr(0, slash));
  std::vector<std::string> names;
  if (!kernel) {
    for (const Kernel& k : registry()) names.push_back(k.name);
    unknown("kernel or file (`tilecheck list` shows the kernels)", name, name.substr(0, slash), names);
  }
  if (slash == std::string_view::npos) return {kernel};
  const BrokenTwin* twin = find_twin(*kernel, name.substr(slash + 1));
  if (!twin) {
    for (const BrokenTwin& t : kernel->broken) names.push_back(t.name);
    unknown("broken twin of " + kernel->name, name, name.substr(slash + 1), names);
  }
  return {kernel, twin};
}

}  // namespace tilecheck
