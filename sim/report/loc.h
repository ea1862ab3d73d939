// Where in the user's source something happened.
#pragma once

#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>

namespace tilecheck {

// Cheap to copy; the strings live for the whole process (literals, or interned by intern()). For C++ kernels it is the
// call site; for payloads the innermost frame outside JAX.
struct Loc {
  const char* file = "";
  const char* function = "";
  uint32_t line = 0;
  uint32_t column = 0;

  constexpr Loc() = default;
  constexpr Loc(const char* file_, uint32_t line_, uint32_t column_, const char* function_ = "")
      : file(file_), function(function_), line(line_), column(column_) {}
  // Implicit, so that a parameter can read `Loc at = std::source_location::current()`.
  constexpr Loc(const std::source_location& at)  // NOLINT(google-explicit-constructor)
      : file(at.file_name()), function(at.function_name()), line(at.line()), column(at.column()) {}

  bool known() const { return line != 0; }
  friend bool operator==(const Loc&, const Loc&) = default;
};

// "paged.py:57:14", or "unknown location".
std::string to_string(const Loc& loc);

// A copy of `text` that lives as long as the process; equal texts share one. Thread-safe.
const char* intern(std::string_view text);

}  // namespace tilecheck
