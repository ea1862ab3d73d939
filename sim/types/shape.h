// Shapes and multi-dimensional indices of at most kMaxRank dimensions, held in place.
#pragma once

#include <array>
#include <cassert>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace tilecheck {

inline constexpr int kMaxRank = 10;

// A short list of int64, without allocation. Shapes, grid coordinates, strides.
class Dims {
 public:
  Dims() = default;
  Dims(std::initializer_list<int64_t> values) {
    for (int64_t v : values) push_back(v);
  }
  explicit Dims(std::span<const int64_t> values) {
    for (int64_t v : values) push_back(v);
  }
  static Dims filled(int rank, int64_t value) {
    Dims d;
    for (int i = 0; i < rank; ++i) d.push_back(value);
    return d;
  }

  int rank() const { return rank_; }
  bool empty() const { return rank_ == 0; }
  int64_t& operator[](int i) {
    assert(i >= 0 && i < rank_);
    return values_[static_cast<size_t>(i)];
  }
  int64_t operator[](int i) const {
    assert(i >= 0 && i < rank_);
    return values_[static_cast<size_t>(i)];
  }
  int64_t& back() { return (*this)[rank_ - 1]; }
  int64_t back() const { return (*this)[rank_ - 1]; }
  void push_back(int64_t v) {
    assert(rank_ < kMaxRank);
    values_[static_cast<size_t>(rank_++)] = v;
  }
  void pop_back() {
    assert(rank_ > 0);
    --rank_;
  }
  void insert(int at, int64_t v);
  void erase(int at);
  void clear() { rank_ = 0; }
  const int64_t* begin() const { return values_.data(); }
  const int64_t* end() const { return values_.data() + rank_; }
  int64_t* begin() { return values_.data(); }
  int64_t* end() { return values_.data() + rank_; }
  std::span<const int64_t> span() const { return {values_.data(), static_cast<size_t>(rank_)}; }

  friend bool operator==(const Dims& a, const Dims& b) {
    if (a.rank_ != b.rank_) return false;
    for (int i = 0; i < a.rank_; ++i)
      if (a[i] != b[i]) return false;
    return true;
  }

 private:
  std::array<int64_t, kMaxRank> values_{};
  int rank_ = 0;
};

using Shape = Dims;

// The number of elements. Shapes that come from outside are checked with checked_element_count first.
int64_t element_count(const Shape& shape);
// The number of elements, or -1 when a dimension is negative or the product (times element_bytes) overflows int64.
int64_t checked_element_count(const Shape& shape, int64_t element_bytes = 1);
// Row-major strides in elements.
Dims row_major_strides(const Shape& shape);
// "8x128", "" for rank 0.
std::string to_string(const Dims& dims);
// "(8, 128)" and "(8,)", as Python prints a tuple.
std::string to_tuple(const Dims& dims);

}  // namespace tilecheck
