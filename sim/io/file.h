// Files read in one go and written whole or not at all. Every failure is an InputError that names the file.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tilecheck {

// A regular file, open for reading at any offset.
class InputFile {
 public:
  explicit InputFile(const std::string& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const { return path_; }
  int64_t size_bytes() const { return size_bytes_; }
  // Reads exactly bytes.size() bytes, which must lie within the size seen when the file was opened.
  void read(int64_t offset, std::span<std::byte> bytes) const;

 private:
  std::string path_;
  int fd_ = -1;
  int64_t size_bytes_ = 0;
};

// The whole file; an InputError if it is larger than max_bytes.
std::string read_file(const std::string& path, int64_t max_bytes = int64_t{1} << 32);

// Writes the parts one after another to a temporary file beside `path` and renames it: `path` holds either all of them
// or what it held before. Something other than a regular file (a terminal, a pipe) is written to directly.
void write_file(const std::string& path, std::span<const std::string_view> parts);
void write_file(const std::string& path, std::string_view text);

// InputError where write_file, or files in a folder that may have to be made, would fail; leaves nothing behind. What
// happens later (a full disk) it cannot know.
void check_writable(const std::string& path);
void check_writable_folder(const std::string& path);

}  // namespace tilecheck
