#include "harness/format.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace tilecheck {
namespace {

template <typename... T>
std::string formatted(const char* format, T... values) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, format, values...);
  return buffer;
}

// Code points, which is what a terminal's columns are for the text we print.
size_t width(std::string_view text) {
  return static_cast<size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

}  // namespace

std::string human_bytes(int64_t bytes) {
  const double magnitude = std::fabs(static_cast<double>(bytes));
  if (magnitude < 1024) return std::to_string(bytes) + " B";
  if (magnitude < 1024 * 1024) {
    if (bytes % 1024 == 0) return std::to_string(bytes / 1024) + " KiB";
    return formatted("%.1f KiB", static_cast<double>(bytes) / 1024);
  }
  static constexpr const char* kUnits[] = {"MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes) / (1024 * 1024);
  size_t unit = 0;
  while (std::fabs(value) >= 1024 && unit + 1 < std::size(kUnits)) value /= 1024, ++unit;
  return formatted("%.2f %s", value, kUnits[unit]);
}

std::string human_time_us(double us) {
  if (us < 10) return formatted("%.2f us", us);
  if (us < 1000) return formatted("%.0f us", us);
  if (us < 1e6) return formatted("%.3g ms", us / 1e3);
  return formatted("%.3g s", us / 1e6);
}

std::string human_count(double value) {
  if (value < 1e4) return formatted("%.0f", value);
  if (value < 1e6) return formatted("%.0f k", value / 1e3);
  if (value < 1e9) return formatted("%.1f M", value / 1e6);
  return formatted("%.1f G", value / 1e9);
}

std::string compact(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  if (value == 0) return "0";
  const double magnitude = std::fabs(value);
  if (magnitude >= 0.01 && magnitude < 1e6) return formatted("%.3g", value);
  return formatted("%.1e", value);
}

std::string percent(double share) {
  if (share != 0 && share < 0.0995) return formatted("%.1f%%", share * 100);
  return formatted("%.0f%%", share * 100);
}

std::string plural(int64_t count, std::string_view noun) {
  return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

namespace {
std::string listed(const Dims& dims, const char* open, const char* close) {
  std::string text = open;
  for (int i = 0; i < dims.rank(); ++i) text += (i ? "," : "") + std::to_string(dims[i]);
  return text + close;
}
}  // namespace

std::string index_text(const Dims& index) { return listed(index, "[", "]"); }
std::string array_text(DType dtype, const Shape& shape) { return std::string(name(dtype)) + listed(shape, "[", "]"); }

std::string join(std::span<const std::string> parts, std::string_view separator) {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i) text += separator;
    text += parts[i];
  }
  return text;
}

namespace {

// One code point of UTF-8 (RFC 3629) at the front of `text`, its bytes in `length`; -1 for a byte that begins none.
int32_t code_point(std::string_view text, size_t& length) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  length = 1;
  if (byte(0) < 0x80) return byte(0);
  const size_t n = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  if (byte(0) < 0xc2 || byte(0) > 0xf4 || n > text.size()) return -1;
  int32_t value = byte(0) & (0xff >> (n + 1));
  for (size_t i = 1; i < n; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return -1;
    value = value << 6 | (byte(i) & 0x3f);
  }
  static constexpr int32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (value < kLeast[n] || value > 0x10ffff || (value >= 0xd800 && value < 0xe000)) return -1;
  length = n;
  return value;
}

std::string cleaned(std::string_view text, bool keep_lines) {
  std::string clean;
  clean.reserve(text.size());
  for (size_t length = 1; !text.empty(); text.remove_prefix(length)) {
    const int32_t c = code_point(text, length);
    const bool is_control = c < 0x20 || (c >= 0x7f && c < 0xa0);
    if (c == '\t')
      clean += "  ";
    else if (c == '\n' && keep_lines)
      clean += '\n';
    else if (is_control || c == 0xfffe || c == 0xffff)
      clean += '?';
    else
      clean += text.substr(0, length);
  }
  return clean;
}

}  // namespace

std::string printable(std::string_view text) { return cleaned(text, false); }
std::string printable_lines(std::string_view text) { return cleaned(text, true); }

std::string shell_quoted(std::string_view word) {
  static constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=.,:/@%^";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos) return std::string(word);
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'')
      quoted += "'\\''";
    else
      quoted += c;
  }
  return quoted + "'";
}

std::string Paint::wrap(std::string_view code, std::string_view text) const {
  if (!on_ || text.empty()) return std::string(text);
  return "\x1b[" + std::string(code) + "m" + std::string(text) + "\x1b[0m";
}

std::string Table::text() const {
  std::vector<size_t> widths;
  const auto shown = [](const std::string& cell) {
    return cell.starts_with('>') ? std::string_view(cell).substr(1) : std::string_view(cell);
  };
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i)
      if (i + 1 < row.size() || row[i].starts_with('>')) widths[i] = std::max(widths[i], width(shown(row[i])));
  }
  std::string out;
  for (const auto& row : rows_) {
    std::string line = indent_;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string_view cell = shown(row[i]);
      const std::string gap(widths[i] - std::min(widths[i], width(cell)), ' ');
      if (i) line += "  ";
      line += row[i].starts_with('>') ? gap + std::string(cell) : std::string(cell) + gap;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

}  // namespace tilecheck
