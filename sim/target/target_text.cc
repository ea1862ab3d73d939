// The target table as text and as JSON.
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "sim/target/target.h"

namespace tilecheck {
namespace {

std::string scaled(double value, const char* unit) {
  constexpr struct {
    double factor;
    const char* prefix;
  } kPrefixes[] = {{1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}};
  char text[64];
  for (const auto& p : kPrefixes) {
    if (value >= p.factor) {
      std::snprintf(text, sizeof text, "%.4g %s%s", value / p.factor, p.prefix, unit);
      return text;
    }
  }
  std::snprintf(text, sizeof text, "%.4g %s", value, unit);
  return text;
}

std::string value_text(int64_t value, Unit unit) {
  switch (unit) {
    case Unit::count:
      return std::to_string(value);
    case Unit::bytes:
      if (value >= 1 << 20 && value % (1 << 20) == 0 && value < int64_t{1} << 32)
        return std::to_string(value >> 20) + " MiB";
      if (value > int64_t{1} << 32) return scaled(static_cast<double>(value), "B");
      return std::to_string(value);
    case Unit::hertz:
      return scaled(static_cast<double>(value), "Hz");
    case Unit::bytes_per_second:
      return scaled(static_cast<double>(value), "B/s");
    case Unit::operations_per_second:
      return value == 0 ? "-" : scaled(static_cast<double>(value), "op/s");
  }
  return "";
}

std::string types_text(const std::vector<DType>& types) {
  std::string text;
  for (DType type : types) text += (text.empty() ? "" : " ") + std::string(name(type));
  return text;
}

}  // namespace

std::string targets_text(std::span<const Target> list) {
  std::vector<std::string> notes;
  const auto note = [&notes](const std::string& source) {
    auto found = std::find(notes.begin(), notes.end(), source);
    if (found == notes.end()) found = notes.insert(notes.end(), source);
    return "[" + std::to_string(found - notes.begin() + 1) + "]";
  };
  std::vector<std::vector<std::string>> rows(1);
  rows[0].push_back("of one core");
  for (const Target& t : list) rows[0].push_back(t.name);
  std::string disagreeing;
  for (int i = 0; i < kFigureCount; ++i) {
    const FigureInfo& figure = info(static_cast<FigureId>(i));
    rows.emplace_back().emplace_back(figure.name);
    for (const Target& t : list) {
      const Figure& f = t.figures[static_cast<size_t>(i)];
      rows.back().push_back(value_text(f.value, figure.unit) + " " + note(f.source) +
                            (f.disagreeing.empty() ? "" : "*"));
      if (!f.disagreeing.empty())
        disagreeing += "  * " + t.name + " " + std::string(figure.name) + " " + std::to_string(f.value) + ": " +
                       f.disagreeing + "\n";
    }
  }
  std::vector<size_t> widths(rows[0].size());
  for (const auto& row : rows)
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (size_t c = 0; c < row.size(); ++c) line += row[c] + std::string(widths[c] - row[c].size() + 2, ' ');
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  text += "matmul operand types\n";
  for (const Target& t : list)
    text += "  " + t.name + std::string(t.name.size() < 4 ? 4 - t.name.size() : 1, ' ') + types_text(t.matmul_types) +
            " (without conversion: " + types_text(t.native_matmul_types) + ") " + note(t.matmul_source) + "\n";
  text += "device kinds\n";
  for (const Target& t : list) {
    text += "  " + t.name + std::string(t.name.size() < 4 ? 4 - t.name.size() : 1, ' ');
    for (size_t i = 0; i < t.device_kinds.size(); ++i) text += (i ? ", " : "") + ("\"" + t.device_kinds[i] + "\"");
    text += "\n";
  }
  text += "sources\n";
  for (size_t i = 0; i < notes.size(); ++i) text += "  [" + std::to_string(i + 1) + "] " + notes[i] + "\n";
  if (!disagreeing.empty()) text += "sources that disagree\n" + disagreeing;
  return text;
}

std::string targets_json(std::span<const Target> list) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const Target& t : list) {
    nlohmann::ordered_json j;
    j["name"] = t.name;
    j["device_kinds"] = t.device_kinds;
    for (int i = 0; i < kFigureCount; ++i) {
      const Figure& f = t.figures[static_cast<size_t>(i)];
      nlohmann::ordered_json figure = {{"value", f.value}, {"source", f.source}};
      if (!f.disagreeing.empty()) figure["disagreeing"] = f.disagreeing;
      j["figures"][std::string(info(static_cast<FigureId>(i)).name)] = figure;
    }
    for (DType type : t.matmul_types) j["matmul_types"].push_back(name(type));
    for (DType type : t.native_matmul_types) j["native_matmul_types"].push_back(name(type));
    j["matmul_source"] = t.matmul_source;
    out.push_back(j);
  }
  return nlohmann::ordered_json{{"schema", 1}, {"targets", out}}.dump(2) + "\n";
}

}  // namespace tilecheck
