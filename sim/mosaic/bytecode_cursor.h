// Reading MLIR bytecode: a bounds-checked cursor over bytes, with MLIR's variable-length integers.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "sim/types/error.h"

namespace tilecheck::mosaic {

class ByteCursor {
 public:
  // base: the offset of bytes[0] in the payload, for messages; name: what the payload is called there.
  ByteCursor(std::span<const uint8_t> bytes, size_t base, std::string_view name)
      : bytes_(bytes), base_(base), name_(name) {}

  size_t remaining() const { return bytes_.size() - at_; }
  bool done() const { return at_ == bytes_.size(); }
  size_t offset() const { return base_ + at_; }

  uint8_t byte(const char* what) {
    if (done()) fail(what);
    return bytes_[at_++];
  }
  std::span<const uint8_t> take(size_t n, const char* what) {
    if (n > remaining()) fail(what);
    const auto out = bytes_.subspan(at_, n);
    at_ += n;
    return out;
  }
  // The number of low zero bits of the first byte is the number of bytes that follow; 0 means eight.
  uint64_t varint(const char* what) {
    const uint8_t first = byte(what);
    if (first & 1) return first >> 1;
    if (first == 0) {
      uint64_t value;
      std::memcpy(&value, take(8, what).data(), 8);
      return value;
    }
    const int length = std::countr_zero(first);
    const std::span<const uint8_t> more = take(static_cast<size_t>(length), what);
    uint64_t value = first;
    for (int i = 0; i < length; ++i) value |= static_cast<uint64_t>(more[static_cast<size_t>(i)]) << (8 * (i + 1));
    return value >> (length + 1);
  }
  int64_t signed_varint(const char* what) {
    const uint64_t z = varint(what);
    return static_cast<int64_t>((z >> 1) ^ (0 - (z & 1)));
  }
  // A number with a flag in its lowest bit.
  uint64_t varint_flag(bool& flag, const char* what) {
    const uint64_t v = varint(what);
    flag = v & 1;
    return v >> 1;
  }
  // A count of things that take at least `each` bytes here: refused if they cannot all be there.
  size_t count(const char* what, size_t each = 1) { return check_count(varint(what), what, each); }
  size_t check_count(uint64_t n, const char* what, size_t each = 1) const {
    if (n > remaining() / each) fail(what, std::to_string(n) + " of them in " + std::to_string(remaining()) + " bytes");
    return static_cast<size_t>(n);
  }
  // A number below `limit`.
  size_t index(size_t limit, const char* what) {
    const size_t at = offset();
    const uint64_t v = varint(what);
    if (v >= limit) fail_at(at, what, "number " + std::to_string(v) + " of " + std::to_string(limit));
    return static_cast<size_t>(v);
  }
  [[noreturn]] void fail(const char* expected, const std::string& found = "") const {
    fail_at(offset(), expected, found.empty() ? (done() ? "the end" : "") : found);
  }
  [[noreturn]] void fail_at(size_t at, const char* expected, const std::string& found) const {
    throw InputError(std::string(name_), "at byte " + std::to_string(at) + ": expected " + expected +
                                             (found.empty() ? "" : ", found " + found));
  }

 private:
  std::span<const uint8_t> bytes_;
  size_t base_;
  std::string_view name_;
  size_t at_ = 0;
};

}  // namespace tilecheck::mosaic
