#include "sim/io/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cassert>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "sim/types/error.h"

namespace tilecheck {
namespace {

[[noreturn]] void fail(const std::string& path, const std::string& what, int error) {
  throw InputError(path, what + ": " + std::strerror(error));
}

// Returns 0, or the error number.
int write_all(int fd, std::span<const std::string_view> parts) {
  for (std::string_view part : parts) {
    while (!part.empty()) {
      const ssize_t n = ::write(fd, part.data(), part.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return errno;
      part.remove_prefix(static_cast<size_t>(n));
    }
  }
  return 0;
}

// Where `path` leads through symbolic links, so that a rename replaces the file and not the link to it.
std::string resolve(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> resolved(::realpath(path.c_str(), nullptr), std::free);
  return resolved ? resolved.get() : path;
}

// A new file beside `target`, open for writing; below 0: errno says why not.
int open_temporary(const std::string& target, std::string& temporary) {
  static std::atomic<uint32_t> counter{0};
  temporary = target + ".tmp." + std::to_string(::getpid()) + "." + std::to_string(counter++);
  return ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

void try_temporary(const std::string& target, const std::string& path, const char* what) {
  std::string temporary;
  const int fd = open_temporary(target, temporary);
  if (fd < 0) fail(path, what, errno);
  ::close(fd);
  ::unlink(temporary.c_str());
}

void write_directly(const std::string& path, std::span<const std::string_view> parts) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) fail(path, "cannot open for writing", errno);
  const int error = write_all(fd, parts);
  ::close(fd);
  if (error) fail(path, "cannot write", error);
}

}  // namespace

InputFile::InputFile(const std::string& path) : path_(path) {
  fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd_ < 0) fail(path, "cannot open", errno);
  struct stat status {};
  const int error = ::fstat(fd_, &status) ? errno : 0;
  if (error || !S_ISREG(status.st_mode)) {
    ::close(fd_);
    if (error) fail(path, "cannot read", error);
    throw InputError(path, S_ISDIR(status.st_mode) ? "is a directory; expected a file" : "expected a regular file");
  }
  size_bytes_ = status.st_size;
}

InputFile::~InputFile() { ::close(fd_); }

void InputFile::read(int64_t offset, std::span<std::byte> bytes) const {
  assert(offset >= 0 && static_cast<int64_t>(bytes.size()) <= size_bytes_ - offset);
  while (!bytes.empty()) {
    const ssize_t n = ::pread(fd_, bytes.data(), bytes.size(), offset);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail(path_, "cannot read", errno);
    if (n == 0) throw InputError(path_, "shrank while it was read");
    bytes = bytes.subspan(static_cast<size_t>(n));
    offset += n;
  }
}

std::string read_file(const std::string& path, int64_t max_bytes) {
  const InputFile file(path);
  if (file.size_bytes() > max_bytes)
    throw InputError(
        path, "has " + std::to_string(file.size_bytes()) + " bytes; expected at most " + std::to_string(max_bytes));
  std::string text(static_cast<size_t>(file.size_bytes()), '\0');
  file.read(0, std::as_writable_bytes(std::span(text)));
  return text;
}

void write_file(const std::string& path, std::span<const std::string_view> parts) {
  const std::string target = resolve(path);
  struct stat status {};
  if (::stat(target.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    if (S_ISDIR(status.st_mode)) throw InputError(path, "is a directory; expected a file to write");
    return write_directly(path, parts);
  }
  std::string temporary;
  const int fd = open_temporary(target, temporary);
  if (fd < 0) fail(path, "cannot write", errno);
  int error = write_all(fd, parts);
  if (::close(fd) && !error) error = errno;
  if (!error && ::rename(temporary.c_str(), target.c_str())) error = errno;
  if (error) {
    ::unlink(temporary.c_str());
    fail(path, "cannot write", error);
  }
}

void write_file(const std::string& path, std::string_view text) { write_file(path, {&text, 1}); }

void check_writable(const std::string& path) {
  const std::string target = resolve(path);
  struct stat status {};
  if (::stat(target.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    if (S_ISDIR(status.st_mode)) throw InputError(path, "is a directory; expected a file to write");
    if (::access(target.c_str(), W_OK) != 0) fail(path, "cannot open for writing", errno);
    return;
  }
  try_temporary(target, path, "cannot write");
}

void check_writable_folder(const std::string& path) {
  // The part of the path that is there: in it the rest would be made.
  std::string there = path;
  struct stat status {};
  while (::stat(there.c_str(), &status) != 0) {
    if (errno != ENOENT) fail(path, "cannot make this folder", errno);
    while (there.size() > 1 && there.ends_with('/')) there.pop_back();
    const size_t slash = there.rfind('/');
    there = slash == std::string::npos ? "." : there.substr(0, slash + 1);
  }
  if (!S_ISDIR(status.st_mode)) throw InputError(path, there + " is a file; expected a folder");
  try_temporary(there + "/tilecheck", path, "cannot write into this folder");
}

}  // namespace tilecheck
