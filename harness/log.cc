#include "harness/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include "harness/format.h"

namespace tilecheck {
namespace {

spdlog::logger& logger() {
  static const auto instance = [] {
    auto made = std::make_shared<spdlog::logger>("tilecheck", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    made->set_pattern("[%H:%M:%S.%e] [%^%l%$] %v");
    made->set_level(spdlog::level::off);
    return made;
  }();
  return *instance;
}

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::off:
      return spdlog::level::off;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::debug:
      return spdlog::level::debug;
  }
  return spdlog::level::off;
}

}  // namespace

void set_log_level(LogLevel level) { logger().set_level(spdlog_level(level)); }

void log_line(LogLevel level, const std::string& text) {
  if (level != LogLevel::off && logger().should_log(spdlog_level(level)))
    logger().log(spdlog_level(level), "{}", printable(text));
}

LogPart::LogPart(const std::string& subject, const char* part) {
  if (!logger().should_log(spdlog::level::debug)) return;
  text_ = subject + ": " + part;
  start_ = std::chrono::steady_clock::now();
}

LogPart::~LogPart() {
  if (text_.empty()) return;
  const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - start_;
  logger().debug("{} {:.2f} ms", printable(text_), taken.count());
}

}  // namespace tilecheck
