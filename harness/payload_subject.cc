#include "harness/payload_subject.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <utility>

#include "harness/format.h"
#include "sim/io/array_file.h"
#include "sim/io/file.h"
#include "sim/io/npy.h"
#include "sim/mosaic/fit_body.h"
#include "sim/types/error.h"

namespace tilecheck {
namespace {

int whole_number(const std::string& option, std::string_view text, const char* form) {
  int value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0 || value > 1 << 16)
    throw InputError(option, "'" + std::string(text.substr(0, 60)) + "' given, expected " + form);
  return value;
}

using Types = std::vector<std::optional<mosaic::ArrayType>>;

// What --result or --operand say, by number.
Types types_given(const std::string& option, const std::vector<std::string>& texts) {
  Types given;
  for (const std::string& text : texts) {
    const size_t eq = text.find('=');
    if (eq == std::string::npos)
      throw InputError(option, "'" + text.substr(0, 60) + "' given, expected I=TYPE[SHAPE], as 0=f32[1024]");
    const auto i = static_cast<size_t>(whole_number(option, text.substr(0, eq), "I=TYPE[SHAPE], as 0=f32[1024]"));
    given.resize(std::max(given.size(), i + 1));
    if (given[i]) throw InputError(option + " " + text.substr(0, 60), "given twice");
    given[i] = mosaic::parse_array_type(text.substr(eq + 1), option + " " + std::to_string(i));
  }
  return given;
}

std::vector<mosaic::ArrayType> result_types(const CommandLine& line) {
  std::vector<mosaic::ArrayType> types;
  for (const auto& t : types_given("--result", line.results)) {
    if (!t)
      throw InputError("--result",
                       "results are counted from 0 without gaps: " + std::to_string(types.size()) + " is missing");
    types.push_back(*t);
  }
  return types;
}

// The type of the array in a file that --in names; none where the file does not say it (numpy's void).
std::optional<mosaic::ArrayType> type_in_file(const std::string& text, std::optional<DType> dtype) {
  if (text.find(".safetensors") != std::string::npos) {
    const HostArray array = read_array(text, dtype);
    return mosaic::ArrayType{array.dtype(), array.shape()};
  }
  const InputFile file(text);
  std::vector<std::byte> prefix(static_cast<size_t>(std::min(file.size_bytes(), kNpyMaxHeaderBytes)));
  file.read(0, prefix);
  const NpyHeader header = parse_npy_header(prefix, file.size_bytes(), text);
  if (!dtype && !header.stored.dtype) return std::nullopt;
  return mosaic::ArrayType{resolve_stored_type(header.stored, dtype, text), header.shape};
}

// Of a bare payload: as --operand says, else as the files are that --in gives by number.
Types operand_types(const CommandLine& line) {
  Types types = types_given("--operand", line.operands);
  for (const auto& [key, file] : line.run.in) {
    size_t i = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), i);
    if (error != std::errc() || end != key.data() + key.size() || i > 1 << 16) continue;
    if (i < types.size() && types[i]) continue;
    types.resize(std::max(types.size(), i + 1));
    const auto typed = line.run.dtypes.find(key);
    types[i] = type_in_file(file, typed == line.run.dtypes.end() ? std::nullopt : std::optional(typed->second));
  }
  return types;
}

mosaic::OpenOptions open_options(const CommandLine& line, const mosaic::KernelCall& call) {
  mosaic::OpenOptions options;
  options.force = line.force;
  options.vmem_limit_bytes = line.vmem_limit_bytes;
  if (call.has_signature) {
    for (const auto& [option, given] :
         {std::pair{"--result", &line.results}, {"--operand", &line.operands}, {"--alias", &line.aliases}})
      if (!given->empty()) throw InputError(option, "is for bare payloads; " + call.source + " says it itself");
    return options;
  }
  options.results = result_types(line);
  options.operands = operand_types(line);
  for (const std::string& text : line.aliases) {
    const size_t eq = text.find('=');
    if (eq == std::string::npos) throw InputError("--alias", "'" + text.substr(0, 60) + "' given, expected OUT=IN");
    const Alias alias{.input = whole_number("--alias", text.substr(eq + 1), "OUT=IN"),
                      .output = whole_number("--alias", text.substr(0, eq), "OUT=IN")};
    for (const Alias& a : options.aliases)
      if (a.input == alias.input || a.output == alias.output)
        throw InputError("--alias " + text.substr(0, 60), "an operand or result of it has an alias already");
    options.aliases.push_back(alias);
  }
  return options;
}

std::vector<mosaic::KernelCall> chosen_calls(const std::string& path, const CommandLine& line) {
  const std::string bytes = read_file(path, int64_t{1} << 30);
  std::vector<mosaic::KernelCall> calls = mosaic::read_kernel_calls(bytes, path);
  if (line.call) {
    if (static_cast<size_t>(*line.call) >= calls.size())
      throw InputError("--call " + std::to_string(*line.call),
                       path + " has " + plural(static_cast<int64_t>(calls.size()), "call"));
    calls = {std::move(calls[static_cast<size_t>(*line.call)])};
  }
  if (!line.kernel.empty()) {
    std::vector<std::string> names;
    for (const mosaic::KernelCall& c : calls) names.push_back(c.call.kernel_name);
    std::erase_if(calls, [&](const mosaic::KernelCall& c) { return c.call.kernel_name != line.kernel; });
    if (calls.empty())
      throw InputError("--kernel " + line.kernel.substr(0, 100),
                       "no such kernel in " + path + " (it has " + join(names, ", ") + ")");
  }
  return calls;
}

std::string headline(const mosaic::KernelModule& kernel) {
  std::string text;
  for (const mosaic::ArrayType& type : kernel.call.operands)
    text += (text.empty() ? "" : ", ") + array_text(type.dtype, type.shape);
  text += " -> ";
  for (size_t i = 0; i < kernel.call.results.size(); ++i)
    text += (i ? ", " : "") + array_text(kernel.call.results[i].dtype, kernel.call.results[i].shape);
  return text;
}

Subject subject_of(mosaic::KernelModule kernel, std::string name) {
  Subject s;
  s.name = std::move(name);
  s.is_payload = true;
  s.headline = kernel.name + "   " + headline(kernel);
  s.asks_for_core = false;
  mosaic::walk(kernel.main->body,
               [&](const mosaic::Op& op) { s.asks_for_core |= op.code == mosaic::OpCode::tpu_core_id; });
  const int bounds = kernel.dynamic_bounds;
  for (int i = 0; i < static_cast<int>(kernel.call.operands.size()); ++i) {
    const mosaic::ArrayType& type = kernel.call.operands[static_cast<size_t>(i)];
    Operand o{.dtype = type.dtype, .shape = type.shape};
    if (i < bounds) {
      o.name = "bound" + std::to_string(i);
      o.role = Operand::Role::grid_bound;
    } else if (i < bounds + kernel.prefetch_count) {
      o.name = "prefetch" + std::to_string(i - bounds);
      o.role = Operand::Role::prefetch;
    } else {
      o.name = kernel.window_name(i - bounds - kernel.prefetch_count);
    }
    s.operands.push_back(std::move(o));
  }
  for (int i = 0; i < kernel.output_count; ++i)
    s.results.push_back(
        {kernel.window_name(kernel.input_count + i), kernel.output_array(i).dtype, kernel.output_array(i).shape});
  rebind(s, std::move(kernel));
  return s;
}

}  // namespace

void rebind(Subject& s, mosaic::KernelModule kernel) {
  const auto payload = mosaic::Payload::make(std::move(kernel));
  s.spec = payload->spec();
  s.not_modelled = payload->not_modelled();
  s.bind = [payload](std::span<const Arrays> operands) {
    Launchable l;
    l.spec = payload->spec(payload->bounds(operands[0]));
    l.body = payload->body();
    for (const Arrays& a : operands) l.args.push_back(payload->arguments(a));
    return l;
  };
  s.declared_result = [payload](int i, const HostArray& result) { return payload->declared_result(i, result); };
  s.facts = [payload, body = std::shared_ptr<fit::Body>()]() mutable -> const fit::Body* {
    if (!body) body = std::make_shared<fit::Body>(mosaic::fit_body(payload->kernel().module, *payload->kernel().main));
    return body.get();
  };
}

std::vector<Subject> payload_subjects(const std::string& path, const CommandLine& line) {
  std::vector<mosaic::KernelCall> calls = chosen_calls(path, line);
  std::vector<Subject> subjects;
  for (size_t i = 0; i < calls.size(); ++i) {
    mosaic::KernelModule kernel = mosaic::open_kernel(calls[i], open_options(line, calls[i]));
    std::string name = calls.size() == 1 ? path : path + "#" + std::to_string(i) + " " + kernel.name;
    subjects.push_back(subject_of(std::move(kernel), std::move(name)));
    subjects.back().source_folder = std::filesystem::absolute(path).parent_path().string();
  }
  return subjects;
}

std::vector<mosaic::KernelCall> payload_calls(const std::string& path, const CommandLine& line) {
  return chosen_calls(is_capture(path) ? path + "/module.mlir" : path, line);
}

mosaic::KernelModule open_payload(const mosaic::KernelCall& call, const CommandLine& line) {
  return mosaic::open_kernel(call, open_options(line, call));
}

}  // namespace tilecheck
