#include "tools/python/native/suppressions.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>

namespace tilecheck::python {
namespace {

constexpr size_t kMaxLineBytes = 4096;  // longer lines hold no comment of ours

std::vector<std::string> split_kinds(const std::string& text) {
  std::vector<std::string> kinds;
  std::string word;
  for (const char c : text + ",") {
    if (c == ',') {
      if (!word.empty()) kinds.push_back(word);
      word.clear();
    } else if (c != ' ') {
      word += c;
    }
  }
  return kinds;
}

}  // namespace

void Suppressions::add_file(const std::string& path) {
  const std::lock_guard lock(mutex_);
  const auto [file, is_new] = files_.try_emplace(path);
  if (!is_new) return;
  std::ifstream in(path);
  static const std::regex comment(R"(#\s*tilecheck:\s*ignore\[([\w\s,-]+)\]\s*(.*))");
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    if (line.size() > kMaxLineBytes || line.find("tilecheck:") == std::string::npos) continue;
    std::smatch match;
    if (std::regex_search(line, match, comment)) file->second[number] = {split_kinds(match[1]), match[2], false};
  }
}

bool Suppressions::suppressed(const Finding& finding) {
  std::vector<Loc> places{finding.at};
  for (const Label& label : finding.labels) places.push_back(label.at);
  for (const Loc& at : places) {
    const auto file = files_.find(std::string(at.file));
    if (file == files_.end()) continue;
    const auto comment = file->second.find(static_cast<int>(at.line));
    if (comment == file->second.end()) continue;
    const std::string_view kind = info(finding.kind).name;
    if (std::ranges::find(comment->second.kinds, kind) == comment->second.kinds.end()) continue;
    comment->second.used = true;
    return true;
  }
  return false;
}

int Suppressions::apply(std::vector<Finding>& findings) {
  if (findings.empty()) return 0;
  const std::lock_guard lock(mutex_);
  return static_cast<int>(std::erase_if(findings, [this](const Finding& f) { return suppressed(f); }));
}

std::string Suppressions::unused_json() const {
  const std::lock_guard lock(mutex_);
  nlohmann::json unused = nlohmann::json::array();
  for (const auto& [path, comments] : files_)
    for (const auto& [line, comment] : comments)
      if (!comment.used)
        unused.push_back({{"file", path}, {"line", line}, {"kinds", comment.kinds}, {"reason", comment.reason}});
  return unused.dump();
}

}  // namespace tilecheck::python
