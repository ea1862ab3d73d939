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

// Where `file` is: itself if nowhere else.
std::string found(const std::filesystem::path& file, const std::filesystem::path& folder) {
  if (file.is_relative() && !folder.empty() && !is_readable(file))
    for (const auto& path : {folder / file, folder.parent_path() / file})
      if (is_readable(path)) return path.string();
  return file.string();
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
  return std::string(here.size() > 1 && file.starts_with(here) ? file.substr(here.size()) : file);
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
