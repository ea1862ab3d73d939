// What the bytecode writer fills: bytes in the format's encodings, and tables of distinct byte strings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tilecheck::mosaic {

class Bytes {
 public:
  void byte(uint8_t b) { out_.push_back(static_cast<char>(b)); }
  void raw(std::string_view text) { out_ += text; }
  void varint(uint64_t v) {
    // 7 bits to the byte while eight bytes are enough; the count of low zero bits tells how many follow.
    for (int length = 1; length <= 8; ++length)
      if (v >> (7 * length) == 0) {
        const uint64_t coded = (v << length) | (uint64_t{1} << (length - 1));
        for (int i = 0; i < length; ++i) byte(static_cast<uint8_t>(coded >> (8 * i)));
        return;
      }
    byte(0);
    for (int i = 0; i < 8; ++i) byte(static_cast<uint8_t>(v >> (8 * i)));
  }
  void varint_flag(uint64_t v, bool flag) { varint(v << 1 | (flag ? 1 : 0)); }
  void signed_varint(int64_t v) {
    const auto u = static_cast<uint64_t>(v);
    varint((u << 1) ^ (0 - (u >> 63)));
  }
  void blob(std::span<const std::byte> data) {
    varint(data.size());
    raw({reinterpret_cast<const char*>(data.data()), data.size()});
  }
  const std::string& str() const { return out_; }
  size_t size() const { return out_.size(); }

 private:
  std::string out_;
};

// A table of distinct byte strings, numbered in the order in which they were first met.
class Interned {
 public:
  uint64_t add(std::string key) {
    const auto [at, fresh] = numbers_.emplace(std::move(key), order_.size());
    if (fresh) order_.push_back(&at->first);
    return at->second;
  }
  const std::vector<const std::string*>& order() const { return order_; }

 private:
  std::unordered_map<std::string, uint64_t> numbers_;
  std::vector<const std::string*> order_;
};

// Key of a table whose entries belong to dialects: the dialect's number in eight bytes, then what tells its entries
// apart. (Not its name: a name may hold any byte.)
struct OfDialect {
  uint64_t dialect;
  std::string_view rest;

  static std::string key(uint64_t dialect, std::string_view rest) {
    std::string out(sizeof dialect, '\0');
    std::memcpy(out.data(), &dialect, sizeof dialect);
    return out.append(rest);
  }
  explicit OfDialect(std::string_view key) : rest(key.substr(sizeof dialect)) {
    std::memcpy(&dialect, key.data(), sizeof dialect);
  }
};

}  // namespace tilecheck::mosaic
