#include "harness/source.h"

#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <vector>

namespace tilecheck {
namespace {

constexpr uintmax_t kMaxSourceBytes = 8u << 20;

const std::vector<std::string>& lines_of(const std::string& file) {
  static auto& files = *new std::map<std::string, std::vector<std::string>>;
  const auto [it, is_new] = files.try_emplace(file);
  if (!is_new) return it->second;
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error) || std::filesystem::file_size(file, error) > kMaxSourceBytes)
    return it->second;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) it->second.push_back(std::move(line));
  return it->second;
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

}  // namespace

std::optional<std::string> source_line(const std::string& file, uint32_t line) {
  if (file.empty() || line == 0) return std::nullopt;
  const auto& lines = lines_of(file);
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
