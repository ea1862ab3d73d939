// The log of what a command does and how long each part takes: on stderr, by spdlog, off unless --log asks for it.
#pragma once

#include <chrono>
#include <string>

namespace tilecheck {

enum class LogLevel { off, info, debug };

void set_log_level(LogLevel level);
// Thread-safe; nothing happens below the level.
void log_line(LogLevel level, const std::string& text);

// Logs what a part took when it ends: "relu_2x_plus_1: run 0.42 ms".
class LogPart {
 public:
  LogPart(const std::string& subject, const char* part);
  ~LogPart();
  LogPart(const LogPart&) = delete;
  LogPart& operator=(const LogPart&) = delete;

 private:
  std::string text_;  // empty: not logged
  std::chrono::steady_clock::time_point start_;
};

}  // namespace tilecheck
