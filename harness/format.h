// Small pieces of text: sizes, times, tables, colours, quoting.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/types/dtype.h"
#include "sim/types/shape.h"

namespace tilecheck {

std::string human_bytes(int64_t bytes);                    // "512 B", "128 KiB", "2.57 MiB"
std::string human_time_us(double us);                      // "0.83 us", "112 us", "3.4 ms"
std::string human_count(double value);                     // "168 k", "1.2 M"
std::string compact(double value);                         // "3.9e-03", "0.81", "12"
std::string percent(double share);                         // "16%", "1.6%"
std::string plural(int64_t count, std::string_view noun);  // "1 error", "2 errors"
std::string index_text(const Dims& index);                 // "[0,5,1311,77]"
std::string array_text(DType dtype, const Shape& shape);   // "bf16[1,8,2048,128]"
std::string join(std::span<const std::string> parts, std::string_view separator);
// Control characters (which could steer a terminal) and bytes that are not UTF-8 (which no reader of XML takes) shown
// as
// '?'; tabs as spaces.
std::string printable(std::string_view text);
// The same of each line.
std::string printable_lines(std::string_view text);
// As a POSIX shell takes it as one word.
std::string shell_quoted(std::string_view word);

// ANSI colours, when on.
class Paint {
 public:
  explicit Paint(bool on) : on_(on) {}
  bool on() const { return on_; }
  std::string bold(std::string_view text) const { return wrap("1", text); }
  std::string red(std::string_view text) const { return wrap("1;31", text); }
  std::string yellow(std::string_view text) const { return wrap("1;33", text); }
  std::string green(std::string_view text) const { return wrap("1;32", text); }
  std::string blue(std::string_view text) const { return wrap("1;34", text); }
  std::string cyan(std::string_view text) const { return wrap("1;36", text); }

 private:
  std::string wrap(std::string_view code, std::string_view text) const;
  bool on_;
};

// Columns of text, aligned: a cell that starts with '>' is right-aligned (the '>' is dropped).
class Table {
 public:
  explicit Table(std::string indent) : indent_(std::move(indent)) {}
  void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.empty(); }
  std::string text() const;  // lines without trailing spaces

 private:
  std::string indent_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace tilecheck
