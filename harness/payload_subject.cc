#include "harness/payload_subject.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <utility>

#include "harness/format.h"
#include "sim/io/file.h"
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

std::vector<mosaic::ArrayType> result_types(const CommandLine& line) {
  std::vector<std::optional<mosaic::ArrayType>> given;
  for (const std::string& text : line.results) {
    const size_t eq = text.find('=');
    if (eq == std::string::npos)
      throw InputError("--result", "'" + text.substr(0, 60) + "' given, expected I=TYPE[SHAPE], as 0=f32[1024]");
    const auto i = static_cast<size_t>(whole_number("--result", text.substr(0, eq), "I=TYPE[SHAPE], as 0=f32[1024]"));
    if (i > line.results.size() - 1)
      throw InputError("--result " + text.substr(0, 60), "results are counted from 0 without gaps");
    given.resize(std::max(given.size(), i + 1));
    if (given[i]) throw InputError("--result " + text.substr(0, 60), "given twice");
    given[i] = mosaic::parse_array_type(text.substr(eq + 1), "--result " + std::to_string(i));
  }
  std::vector<mosaic::ArrayType> types;
  for (const auto& t : given) types.push_back(*t);  // without gaps: as many distinct numbers as options
  return types;
}

mosaic::OpenOptions open_options(const CommandLine& line) {
  mosaic::OpenOptions options;
  options.force = line.force;
  options.vmem_limit_bytes = line.vmem_limit_bytes;
  options.results = result_types(line);
  for (const std::string& text : line.aliases) {
    const size_t eq = text.find('=');
    if (eq == std::string::npos) throw InputError("--alias", "'" + text.substr(0, 60) + "' given, expected OUT=IN");
    options.aliases.push_back({.input = whole_number("--alias", text.substr(eq + 1), "OUT=IN"),
                               .output = whole_number("--alias", text.substr(0, eq), "OUT=IN")});
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
  const auto payload = mosaic::Payload::make(std::move(kernel));
  s.spec = payload->spec();
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
  return s;
}

}  // namespace

std::vector<Subject> payload_subjects(const std::string& path, const CommandLine& line) {
  std::vector<mosaic::KernelCall> calls = chosen_calls(path, line);
  const mosaic::OpenOptions options = open_options(line);
  std::vector<Subject> subjects;
  for (size_t i = 0; i < calls.size(); ++i) {
    mosaic::KernelModule kernel = mosaic::open_kernel(calls[i], options);
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
  return mosaic::open_kernel(call, open_options(line));
}

}  // namespace tilecheck
