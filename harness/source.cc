#include "harness/source.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <vector>

namespace tilecheck {
namespace {

constexpr uintmax_t kMaxSourceBytes = 8u << 20;

struct Sources {
  std::mutex mutex;
  std::map<std::string, std::vector<std::string>> files;  // lines, by path; none: not readable
};

Sources& sources() {
  static auto& s = *new Sources;
  return s;
}

bool is_readable(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error) && std::filesystem::file_size(path, error) <= kMaxSourceBytes;
}

// A file that a compiler named from a build folder, as seen from the folder around that.
std::string_view from_around(std::string_view file) {
  while (file.starts_with("../")) file.remove_prefix(3);
  return file;
}

// Where `file` is: itself if nowhere else.
std::string found(const std::filesystem::path& file, const std::filesystem::path& folder) {
  const std::string name = file.string();
  if (name.starts_with("../") && !is_readable(file) && is_readable(from_around(name)))
    return std::string(from_around(name));
  if (file.is_relative() && !folder.empty() && !is_readable(file))
    for (const auto& path : {folder / file, folder.parent_path() / file})
      if (is_readable(path)) return path.string();
  return file.string();
}

// Without what stands in brackets of this kind.
std::string without_brackets(std::string_view text, char open, char close) {
  std::string out;
  int depth = 0;
  for (const char c : text) {
    if (c == open) ++depth;
    if (depth == 0) out += c;
    if (c == close && depth > 0) --depth;
  }
  return out;
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

}  // namespace

std::optional<std::string> source_line(const std::string& file, uint32_t line, const std::string& folder) {
  if (file.empty() || line == 0) return std::nullopt;
  const std::string path = found(file, folder);
  Sources& all = sources();
  const std::lock_guard lock(all.mutex);
  const auto [it, is_new] = all.files.try_emplace(path);
  std::vector<std::string>& lines = it->second;
  if (is_new && is_readable(path)) {
    std::ifstream stream(path);
    for (std::string text; std::getline(stream, text);) lines.push_back(std::move(text));
  }
  if (line > lines.size()) return std::nullopt;
  return lines[line - 1];
}

std::string shown_file(std::string_view file) {
  static const std::string& here = *new std::string([] {
    std::error_code error;
    const std::string path = std::filesystem::current_path(error).string();
    return path.ends_with('/') ? path : path + "/";
  }());
  if (file.starts_with("../") && !is_readable(file) && is_readable(from_around(file)))
    return std::string(from_around(file));
  return std::string(here.size() > 1 && file.starts_with(here) ? file.substr(here.size()) : file);
}

std::string shown_function(std::string_view function) {
  const std::string whole(function);
  if (function.find('(') == function.npos) return whole;
  function = function.substr(0, function.find(" [with "));
  function = function.substr(0, function.find("::<lambda"));
  std::string text(function);
  // The call operator's own brackets are no parameter list.
  constexpr std::string_view kCall = "::operator()";
  for (size_t at; (at = text.find(kCall)) != text.npos;) text.erase(at, kCall.size());
  text = without_brackets(without_brackets(text, '<', '>'), '(', ')');
  if (const size_t end = text.rfind(')'); end != text.npos) return whole;
  for (const std::string_view qualifier : {" const", " noexcept", "&"})
    if (text.ends_with(qualifier)) text.resize(text.size() - qualifier.size());
  text.erase(0, text.find_last_of(" *&") + 1);  // of no such: npos + 1 is 0
  // The last two names: a class and its function.
  std::vector<std::string> names;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find("::", at), text.size());
    const std::string name = text.substr(at, end - at);
    if (name.find('{') != name.npos || name == "tilecheck") {
      names.clear();  // a namespace
    } else if (!name.empty()) {
      names.push_back(name);
    }
    at = end + 2;
  }
  if (names.empty()) return whole;
  return names.size() == 1 ? names[0] : names[names.size() - 2] + "::" + names.back();
}

Extent expression_at(std::string_view line, uint32_t column) {
  const size_t first = std::min(line.find_first_not_of(" \t"), line.size());
  size_t begin = column == 0 ? first : column - 1;
  if (begin >= line.size()) return {first, std::max(first + 1, line.size())};
  // GCC places a call at its opening bracket: go back to where the name begins.
  if (line[begin] == '(')
    while (begin > 0 && (is_word(line[begin - 1]) || line[begin - 1] == '.' || line[begin - 1] == ':')) --begin;
  // Words joined by dots, arrows and colons, with whatever balanced brackets follow them.
  size_t end = begin;
  int depth = 0;
  for (; end < line.size(); ++end) {
    const char c = line[end];
    if (c == '(' || c == '[' || c == '{') {
      ++depth;
    } else if (c == ')' || c == ']' || c == '}') {
      if (depth == 0) break;
      --depth;
    } else if (depth == 0 && !is_word(c) && c != '.' && c != ':' &&
               !(c == '-' && end + 1 < line.size() && line[end + 1] == '>') &&
               !(c == '>' && end > begin && line[end - 1] == '-')) {
      break;
    }
  }
  while (end > begin && line[end - 1] == ':') --end;
  return {begin, std::max(end, begin + 1)};
}

}  // namespace tilecheck
