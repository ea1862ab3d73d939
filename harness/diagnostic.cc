#include "harness/diagnostic.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "harness/source.h"

namespace tilecheck {
namespace {

std::string severity_text(const Finding& f, const Paint& paint) {
  const std::string text = std::string(name(f.severity)) + "[" + std::string(name(f.kind)) + "]";
  switch (f.severity) {
    case Severity::error:
      return paint.red(text);
    case Severity::warning:
      return paint.yellow(text);
    case Severity::note:
      return paint.cyan(text);
  }
  return text;
}

std::string place(const Loc& at) {
  const std::string file = shown_file(at.file);
  return printable(to_string(Loc(file.c_str(), at.line, at.column)));
}

// A place on one shown line.
struct Mark {
  uint32_t column;
  std::string text;
  bool primary;
};

using Lines = std::map<uint32_t, std::vector<Mark>>;  // of one file

// The places of a finding, by file; the primary place's file first.
std::vector<std::pair<std::string, Lines>> places(const Finding& f) {
  std::vector<std::pair<std::string, Lines>> files;
  const auto add = [&](const Loc& at, const std::string& text, bool primary) {
    if (!at.known()) return;
    auto it = std::ranges::find_if(files, [&](const auto& entry) { return entry.first == at.file; });
    if (it == files.end()) it = files.insert(files.end(), {at.file, {}});
    std::vector<Mark>& marks = it->second[at.line];
    for (Mark& m : marks) {
      if (m.column != at.column || !(m.text.empty() || text.empty())) continue;
      if (m.text.empty()) m.text = text;
      m.primary = m.primary || primary;
      return;
    }
    marks.push_back({at.column, text, primary});
  };
  add(f.at, "", true);
  for (const Label& label : f.labels) add(label.at, label.text, label.at == f.at);
  return files;
}

// Source text and underlines of one line; false if the source could not be read.
bool show_line(std::string& out, const std::optional<std::string>& source, uint32_t line, std::vector<Mark> marks,
               size_t gutter, const Paint& paint) {
  if (!source) return false;
  const std::string text = printable(*source);
  const std::string number = std::to_string(line);
  out += paint.blue(number + std::string(gutter - number.size(), ' ') + " |") + " " + text + "\n";
  std::ranges::sort(marks, {}, &Mark::column);
  for (const Mark& m : marks) {
    // A tab before the column shows as two.
    const size_t raw = std::min<size_t>(m.column, source->size());
    const auto tabs =
        static_cast<uint32_t>(std::count(source->begin(), source->begin() + static_cast<int64_t>(raw), '\t'));
    const Extent e = expression_at(text, m.column == 0 ? 0 : m.column + tabs);
    const std::string underline(e.end - e.begin, m.primary ? '^' : '-');
    const std::string label = underline + (m.text.empty() ? "" : " " + printable(m.text));
    out += paint.blue(std::string(gutter, ' ') + " |") + " " + std::string(e.begin, ' ') +
           (m.primary ? paint.red(label) : paint.blue(label)) + "\n";
  }
  return true;
}

void add_places(std::string& out, const Finding& f, const std::string& folder, const Paint& paint) {
  const auto files = places(f);
  size_t gutter = 1;
  for (const auto& [file, lines] : files)
    for (const auto& [line, marks] : lines)
      if (source_line(file, line, folder)) gutter = std::max(gutter, std::to_string(line).size());
  const std::string indent(gutter, ' ');
  bool first = true;
  for (const auto& [file, lines] : files) {
    const Loc shown = first ? f.at : Loc(file.c_str(), lines.begin()->first, lines.begin()->second.front().column);
    const std::string function = shown.function[0] && first ? "  in " + printable(shown_function(shown.function)) : "";
    out += indent + paint.blue(first ? "--> " : "::: ") + place(shown) + function + "\n";
    for (const auto& [line, marks] : lines) {
      if (show_line(out, source_line(file, line, folder), line, marks, gutter, paint)) continue;
      for (const Mark& m : marks)
        if (!m.text.empty())
          out += indent + paint.blue(" = ") + "line " + std::to_string(line) + ": " + printable(m.text) + "\n";
    }
    first = false;
  }
  for (const Label& label : f.labels)
    if (!label.at.known()) out += indent + paint.blue(" = ") + printable(label.text) + "\n";
}

}  // namespace

std::string diagnostic_text(const Finding& f, const std::string& replay, const std::string& source_folder,
                            const Paint& paint) {
  std::string out = severity_text(f, paint) + paint.bold(": " + printable(f.message)) + "\n";
  add_places(out, f, source_folder, paint);
  const auto line = [&](const char* what, const std::string& text) {
    out += "   " + paint.blue("=") + " " + paint.bold(what) + " " + printable(text) + "\n";
  };
  for (const std::string& help : f.helps) line("help:", help);
  for (const std::string& note : f.notes) line("note:", note);
  const std::string explain = "tilecheck explain " + std::string(name(f.kind));
  if (f.repeats > 0)
    line("note:", std::to_string(f.repeats) + " more alike.   " + explain);
  else
    line("note:", explain);
  if (!replay.empty()) line("replay:", replay);
  return out;
}

std::string diagnostic_line(const Finding& f) {
  std::string out = f.at.known() ? place(f.at) + ": " : "";
  out += std::string(name(f.severity)) + ": " + f.message;
  if (f.repeats > 0) out += " (and " + std::to_string(f.repeats) + " more alike)";
  return printable(out + " [" + std::string(name(f.kind)) + "]");
}

}  // namespace tilecheck
