// SARIF 2.1.0, which code-scanning services read: one run, a rule per kind.
#include <nlohmann/json.hpp>

#include "harness/source.h"
#include "harness/writers.h"

namespace tilecheck {
namespace {

using Json = nlohmann::ordered_json;

// A path with the characters percent-encoded that a URI reference does not allow.
std::string uri(std::string_view path) {
  static constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/!$&'()*+,;=@";
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : path) {
    const auto u = static_cast<unsigned char>(c);
    if (kPlain.find(c) != std::string_view::npos)
      out += c;
    else
      out.append({'%', kHex[u >> 4], kHex[u & 15]});
  }
  return path.starts_with('/') ? "file://" + out : out;
}

Json location(const Loc& at, const std::string& message) {
  Json region = {{"startLine", at.line}};
  if (at.column > 0) region["startColumn"] = at.column;
  Json out = {{"physicalLocation", {{"artifactLocation", {{"uri", uri(shown_file(at.file))}}}, {"region", region}}}};
  if (!message.empty()) out["message"] = {{"text", message}};
  return out;
}

const char* level(Severity severity) {
  switch (severity) {
    case Severity::note:
      return "note";
    case Severity::warning:
      return "warning";
    case Severity::error:
      return "error";
  }
  return "none";
}

Json result(const Outcome& o, const Finding& f) {
  std::string text = f.message;
  for (const std::string& h : f.helps) text += "\nhelp: " + h;
  for (const std::string& n : f.notes) text += "\nnote: " + n;
  Json out = {{"ruleId", name(f.kind)},
              {"ruleIndex", static_cast<int>(f.kind)},
              {"level", level(f.severity)},
              {"message", {{"text", text}}}};
  out["locations"] = Json::array();
  if (f.at.known()) out["locations"].push_back(location(f.at, ""));
  Json related = Json::array();
  for (const Label& label : f.labels)
    if (label.at.known() && !(label.at == f.at)) related.push_back(location(label.at, label.text));
  if (!related.empty()) out["relatedLocations"] = related;
  if (f.repeats > 0) out["occurrenceCount"] = f.repeats + 1;
  out["properties"] = {{"subject", o.subject}, {"target", o.report.target}, {"replay", o.replay}};
  return out;
}

Json notification(const Outcome& o, const char* severity, const std::string& text) {
  return {{"level", severity}, {"message", {{"text", o.subject + ": " + text}}}};
}

}  // namespace

std::string sarif_report(std::span<const Outcome> outcomes, const WriterOptions&) {
  Json rules = Json::array();
  for (const KindInfo& k : all_kinds())
    rules.push_back({{"id", k.name},
                     {"shortDescription", {{"text", k.summary}}},
                     {"fullDescription", {{"text", k.why}}},
                     {"help", {{"text", k.fix}}},
                     {"defaultConfiguration", {{"level", level(k.severity)}}}});
  Json results = Json::array(), notifications = Json::array();
  bool is_usable = true;
  for (const Outcome& o : outcomes) {
    for (const Finding& f : o.report.findings) results.push_back(result(o, f));
    for (const std::string& what : o.report.incomplete)
      notifications.push_back(notification(o, "warning", "not modelled: " + what));
    if (o.error.empty()) continue;
    is_usable = false;
    notifications.push_back(notification(o, "error", o.error));
  }
  const Json top = {
      {"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
      {"version", "2.1.0"},
      {"runs", Json::array({{{"tool", {{"driver", {{"name", "tilecheck"}, {"version", kVersion}, {"rules", rules}}}}},
                             {"invocations", Json::array({{{"executionSuccessful", is_usable},
                                                           {"toolExecutionNotifications", notifications}}})},
                             {"results", results}}})}};
  return top.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tilecheck
