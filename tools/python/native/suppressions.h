// `# tilecheck: ignore[race, deadlock] reason` on a kernel's own source line takes findings there away.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "sim/report/report.h"

namespace tilecheck::python {

class Suppressions {
 public:
  // Reads the comments of a source file, once. A file that cannot be read has none.
  void add_file(const std::string& path);
  // Removes the findings that a comment at one of their lines names; returns how many.
  int apply(std::vector<Finding>& findings);
  // Comments that took nothing away: [{"file", "line", "kinds", "reason"}].
  std::string unused_json() const;

 private:
  struct Comment {
    std::vector<std::string> kinds;
    std::string reason;
    bool used = false;
  };
  bool suppressed(const Finding& finding);

  mutable std::mutex mutex_;
  std::map<std::string, std::map<int, Comment>> files_;  // by path, then line
};

}  // namespace tilecheck::python
