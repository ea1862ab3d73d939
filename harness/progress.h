// A progress bar on stderr, for runs that take longer than a second.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

namespace tilecheck {

// Shows nothing unless stderr is a terminal. Thread-safe.
class Progress {
 public:
  explicit Progress(std::string what);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void update(int64_t done, int64_t total);

 private:
  using Clock = std::chrono::steady_clock;
  std::string what_;
  bool is_terminal_;
  bool shown_ = false;
  Clock::time_point start_ = Clock::now(), last_ = start_;
  std::mutex mutex_;
};

}  // namespace tilecheck
