#include "sim/mosaic/inspect.h"

#include <algorithm>

#include "sim/mosaic/body_text.h"
#include "sim/mosaic/inspect_header.h"

namespace tilecheck::mosaic {
namespace {

// Pads each column to its widest cell, two spaces between. Rows of two cells (running text) set no widths but the
// first.
std::string table(const std::vector<std::vector<std::string>>& rows, const std::string& indent) {
  std::vector<size_t> width;
  for (const auto& row : rows)
    for (size_t c = 0; c < (row.size() > 3 ? row.size() : 1); ++c) {
      if (width.size() <= c) width.push_back(0);
      width[c] = std::max(width[c], row[c].size());
    }
  std::string out;
  for (const auto& row : rows) {
    std::string line = indent;
    for (size_t c = 0; c < row.size(); ++c) {
      line += row[c];
      const size_t pad =
          c < width.size() && width[c] > row[c].size() && (row.size() > 3 || c == 0) ? width[c] - row[c].size() : 0;
      if (c + 1 < row.size()) line.append(pad + 2, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

constexpr size_t kSourceColumn = 72;  // where source lines stand, to the right of the body

std::string body(const KernelModule& k, const BodyText& text, bool source_lines) {
  std::string out = "body(";
  for (size_t i = 0; i < text.args.size(); ++i) out.append(i ? ", " : "").append(text.args[i]);
  out += ")\n";
  std::string last;
  for (const BodyLine& line : text.lines) {
    std::string shown = std::string(static_cast<size_t>(2 + 2 * line.indent), ' ') + line.text;
    if (source_lines) {
      const Frame frame = user_frame(k.module, line.loc);
      const std::string place =
          frame.file.empty() ? last : std::string(frame.file).append(":").append(std::to_string(frame.line));
      if (place != last) {
        if (shown.size() < kSourceColumn) shown.append(kSourceColumn - shown.size(), ' ');
        shown.append("  # ").append(place);
      }
      last = place;
    }
    out.append(shown).append("\n");
  }
  return out;
}

}  // namespace

std::string inspect(const KernelModule& k, const InspectOptions& options) {
  std::string out = "kernel " + k.name + "  (" + k.source + ")\n";
  const HeaderText header = header_text(k, k.arg_names);
  out += table(header.rows, "  ");
  if (!options.body) return out;
  out += "\n" + body(k, body_text(k.module, *k.main, k.arg_names), options.source_lines);
  return out;
}

}  // namespace tilecheck::mosaic
