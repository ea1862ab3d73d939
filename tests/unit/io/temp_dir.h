// A directory of a test's own, removed with all it holds.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>

namespace tilecheck {

class TempDir {
 public:
  TempDir() {
    std::string text = (std::filesystem::temp_directory_path() / "tilecheck-XXXXXX").string();
    path_ = ::mkdtemp(text.data());
  }
  ~TempDir() { std::filesystem::remove_all(path_); }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  int64_t count_entries() const {
    return std::distance(std::filesystem::directory_iterator(path_), std::filesystem::directory_iterator());
  }

 private:
  std::filesystem::path path_;
};

}  // namespace tilecheck
