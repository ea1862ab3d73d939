#include "harness/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "harness/format.h"

namespace tilecheck {

Progress::Progress(std::string what) : what_(printable(what).substr(0, 30)), is_terminal_(isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() {
  if (shown_) std::fputs("\r\x1b[K", stderr);
}

void Progress::update(int64_t done, int64_t total) {
  if (!is_terminal_ || total <= 0) return;
  using std::chrono::milliseconds;
  const std::lock_guard lock(mutex_);
  const auto now = Clock::now();
  if (now - start_ < milliseconds(1000) || (shown_ && now - last_ < milliseconds(100))) return;
  constexpr int kWidth = 30;
  const double share = std::clamp(static_cast<double>(done) / static_cast<double>(total), 0.0, 1.0);
  const auto filled_columns = static_cast<size_t>(share * kWidth);
  const double seconds = std::chrono::duration<double>(now - start_).count();
  std::string bar = std::string(filled_columns, '#') + std::string(kWidth - filled_columns, '.');
  char rest[48] = "";
  if (share > 0) std::snprintf(rest, sizeof rest, "%.0f s left", seconds / share - seconds);
  std::fprintf(stderr, "\r%s [%s] %3.0f%%  %s\x1b[K", what_.c_str(), bar.c_str(), 100 * share, rest);
  std::fflush(stderr);
  shown_ = true;
  last_ = now;
}

}  // namespace tilecheck
