#include "harness/filter.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/source.h"
#include "sim/io/file.h"
#include "sim/types/error.h"

namespace tilecheck {
namespace {

using Json = nlohmann::ordered_json;

std::string key_of(const std::string& subject, const std::string& kind, const std::string& file,
                   const std::string& function, const std::string& buffer) {
  return subject + '\0' + kind + '\0' + file + '\0' + function + '\0' + buffer;
}

std::string key_of(const std::string& subject, const Finding& f) {
  return key_of(subject, std::string(name(f.kind)), shown_file(f.at.file), f.at.function, f.buffer);
}

}  // namespace

Baseline Baseline::read(const std::string& path) {
  const Json json = Json::parse(read_file(path, 64 << 20), nullptr, false);
  if (!json.is_object() || json.value("tilecheck_baseline", 0) != 1 || !json.contains("findings") ||
      !json["findings"].is_array())
    throw InputError(path, "not a baseline that --write-baseline wrote");
  Baseline baseline;
  for (const Json& f : json["findings"]) {
    const auto text = [&](const char* field) {
      if (!f.is_object() || !f.contains(field) || !f[field].is_string())
        throw InputError(path, std::string("each finding needs a text '") + field + "'");
      return f[field].get<std::string>();
    };
    baseline.keys_.insert(key_of(text("subject"), text("kind"), text("file"), text("function"), text("buffer")));
  }
  return baseline;
}

void Baseline::write(const std::string& path, std::span<const Outcome> outcomes) {
  Json list = Json::array();
  std::set<std::string> seen;
  for (const Outcome& o : outcomes)
    for (const Finding& f : o.report.findings)
      if (seen.insert(key_of(o.subject, f)).second)
        list.push_back({{"subject", o.subject},
                        {"kind", name(f.kind)},
                        {"file", shown_file(f.at.file)},
                        {"function", f.at.function},
                        {"buffer", f.buffer}});
  write_file(
      path,
      Json({{"tilecheck_baseline", 1}, {"findings", list}}).dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
}

bool Baseline::contains(const std::string& subject, const Finding& finding) const {
  return keys_.contains(key_of(subject, finding));
}

void filter_findings(Outcome& o, std::span<const Kind> select, std::span<const Kind> ignore, const Baseline* baseline) {
  const auto unwanted = [&](const Finding& f) {
    if (!select.empty() && std::ranges::find(select, f.kind) == select.end()) return true;
    if (std::ranges::find(ignore, f.kind) != ignore.end()) return true;
    return baseline && baseline->contains(o.subject, f);
  };
  o.suppressed += static_cast<int>(std::erase_if(o.report.findings, unwanted));
}

}  // namespace tilecheck
