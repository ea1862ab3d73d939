// What the kernels run so far reported, kept until Python asks.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "harness/outcome.h"

namespace tilecheck::python {

inline constexpr size_t kMaxLoggedOutcomes = 10'000;  // older ones are dropped, and counted

class ReportLog {
 public:
  // One call of kernel number `kernel` (see KernelCache). It is only counted if one since the last mark said the same.
  void add(int kernel, const Outcome& outcome);
  // What is added from now on is told apart from what was there: returns the mark to give to to_json.
  int mark();
  // What was logged since a mark (0: everything), as JSON:
  // {"dropped": N, "entries": [{"calls": N, "seconds": S, "text": "...", "report": {...}}]}.
  std::string to_json(int mark) const;
  std::string to_sarif(int mark) const;
  void clear();

 private:
  struct Entry {
    int kernel = 0;
    int mark = 0;
    int64_t calls = 0;
    double seconds = 0;
    std::shared_ptr<const Outcome> outcome;  // of the first
  };
  std::vector<Entry> since(int mark, uint64_t& dropped) const;

  mutable std::mutex mutex_;
  std::deque<Entry> entries_;
  int mark_ = 0;
  uint64_t dropped_ = 0;
};

}  // namespace tilecheck::python
