// list, explain, targets: what Tilecheck knows.
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "harness/command_line.h"
#include "harness/explain.h"
#include "harness/format.h"
#include "sim/io/file.h"
#include "sim/types/error.h"

namespace tilecheck {
namespace {

using Json = nlohmann::ordered_json;

const char* type_text(ParamType type) {
  switch (type) {
    case ParamType::integer:
      return "integer";
    case ParamType::number:
      return "number";
    case ParamType::boolean:
      return "0|1";
    case ParamType::dtype:
      return "type";
    case ParamType::choice:
      return "choice";
  }
  return "";
}

std::string kernel_text(const Kernel& k, bool in_full) {
  std::string out = k.name + "   " + k.summary + "\n";
  Table params("    ");
  for (const Param& p : k.params)
    params.row({p.name + "=" + p.default_text, p.choices.empty() ? type_text(p.type) : join(p.choices, "|"), p.help});
  if (in_full) out += "  parameters (--set NAME=VALUE)\n";
  out += params.text();
  if (!in_full) return out;
  Table twins("    ");
  for (const BrokenTwin& t : k.broken) {
    const Severity severity = info(t.kind).severity;
    twins.row(
        {k.name + "/" + t.name, t.what,
         std::string(name(t.kind)) + (severity == Severity::error ? "" : " (" + std::string(name(severity)) + ")")});
  }
  if (!twins.empty()) out += "  broken twins\n" + twins.text();
  return out;
}

Json kernel_json(const Kernel& k) {
  Json params = Json::array(), broken = Json::array();
  for (const Param& p : k.params)
    params.push_back({{"name", p.name},
                      {"type", type_text(p.type)},
                      {"default", p.default_text},
                      {"choices", p.choices},
                      {"help", p.help}});
  for (const BrokenTwin& t : k.broken)
    broken.push_back({{"name", t.name}, {"what", t.what}, {"kind", name(t.kind)}, {"set", t.set}});
  return {{"name", k.name}, {"summary", k.summary}, {"params", params}, {"broken", broken}};
}

}  // namespace

int list_command(const CommandLine& line) {
  std::vector<const Kernel*> kernels;
  for (const std::string& name : line.subjects) kernels.push_back(kernel_named(name).kernel);
  if (kernels.empty())
    for (const Kernel& k : registered_kernels()) kernels.push_back(&k);
  std::string out;
  for (const Kernel* k : kernels) {
    if (line.names_only)
      out += k->name + "\n";
    else
      out += (out.empty() ? "" : "\n") + kernel_text(*k, !line.subjects.empty());
  }
  if (!line.names_only && line.subjects.empty())
    out += "\n`tilecheck run KERNEL --set NAME=VALUE` runs one; `tilecheck list KERNEL` shows its broken twins.\n";
  print_and_write(line, out, [&] {
    Json list = Json::array();
    for (const Kernel* k : kernels) list.push_back(kernel_json(*k));
    return Json({{"schema", 1}, {"kernels", list}}).dump(1) + "\n";
  });
  return 0;
}

int explain_command(const CommandLine& line) {
  std::string out;
  if (line.subjects.empty()) {
    Table table("");
    for (const KindInfo& k : all_kinds()) {
      if (line.names_only)
        out += std::string(k.name) + "\n";
      else
        table.row({std::string(k.name), std::string(name(k.severity)), std::string(k.summary)});
    }
    print(line.names_only ? out : table.text());
    return 0;
  }
  std::vector<std::string> names;
  for (const KindInfo& k : all_kinds()) names.emplace_back(k.name);
  for (const std::string& text : line.subjects) {
    const auto kind = parse_kind(text);
    if (!kind) {
      const std::string nearest = nearest_name(std::string_view(text).substr(0, 100), names);
      throw InputError(text.substr(0, 100),
                       "no such kind of finding" + (nearest.empty() ? " (`tilecheck explain` lists them)"
                                                                    : "; did you mean '" + nearest + "'?"));
    }
    out += (out.empty() ? "" : "\n") + explanation(*kind);
  }
  print(out);
  return 0;
}

int targets_command(const CommandLine& line) {
  std::vector<Target> list(targets().begin(), targets().end());
  if (!line.targets.empty()) list = chosen_targets(line);
  print_and_write(line, targets_text(list), [&] { return targets_json(list); });
  return 0;
}

std::vector<Target> chosen_targets(const CommandLine& line) {
  std::vector<Target> chosen;
  for (const std::string& text : line.targets) {
    for (size_t at = 0; at <= text.size();) {
      const size_t comma = std::min(text.find(',', at), text.size());
      const std::string word = text.substr(at, comma - at);
      if (word.ends_with(".json") || word.find('/') != std::string::npos)
        chosen.push_back(read_target(word));
      else
        for (Target& t : targets_named(word)) chosen.push_back(std::move(t));
      at = comma + 1;
    }
  }
  if (chosen.empty()) chosen.push_back(target_named("v5e"));
  return chosen;
}

std::vector<Target> targets_of(const Subject& subject, const CommandLine& line, const std::vector<Target>& chosen) {
  if (line.targets.empty() && !subject.target.empty()) return {target_named(subject.target)};
  return chosen;
}

void print_and_write(const CommandLine& line, const std::string& text, const std::function<std::string()>& json) {
  if (line.json_file == "-") return print(json());
  if (!line.json_file.empty()) write_file(line.json_file, json());
  print(text);
}

void print(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    throw InputError("stdout", "cannot be written to");
}

}  // namespace tilecheck
