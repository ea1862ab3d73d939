#include "measured.h"

#include <zlib.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "sim/types/error.h"

namespace tilecheck::conformance {

std::string shared_folder() {
  const char* from_environment = std::getenv("TILECHECK_SHARED");
  return from_environment ? from_environment : std::string(TILECHECK_SOURCE_DIR) + "/../shared";
}

std::optional<std::vector<CsvRow>> read_csv(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  std::stringstream buffer;
  buffer << in.rdbuf();
  const std::string text = buffer.str();
  std::vector<std::vector<std::string>> lines(1, std::vector<std::string>(1));
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    std::string& field = lines.back().back();
    const char c = text[i];
    if (quoted) {
      if (c != '"')
        field += c;
      else if (i + 1 < text.size() && text[i + 1] == '"')
        field += text[++i];
      else
        quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == ',') {
      lines.back().emplace_back();
    } else if (c == '\n') {
      lines.emplace_back(1);
    } else if (c != '\r') {
      field += c;
    }
  }
  std::vector<CsvRow> rows;
  for (size_t i = 1; i < lines.size(); ++i) {
    if (lines[i].size() < 2) continue;
    CsvRow row;
    for (size_t c = 0; c < lines[0].size(); ++c) row[lines[0][c]] = c < lines[i].size() ? lines[i][c] : "";
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string read_file(const std::string& path) {
  gzFile file = gzopen(path.c_str(), "rb");  // reads files that are not packed as they are
  if (file == nullptr) throw InputError(path, "cannot be opened");
  std::string text;
  char buffer[1 << 16];
  int n;
  while ((n = gzread(file, buffer, sizeof buffer)) > 0) text.append(buffer, static_cast<size_t>(n));
  gzclose(file);
  if (n < 0) throw InputError(path, "cannot be unpacked");
  return text;
}

bool is_held_out(const std::string& id) {
  uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (unsigned char c : id) hash = (hash ^ c) * 1099511628211u;
  return hash % 3 == 0;
}

}  // namespace tilecheck::conformance
