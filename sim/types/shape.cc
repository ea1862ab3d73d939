#include "sim/types/shape.h"

#include <algorithm>

namespace tilecheck {

void Dims::insert(int at, int64_t v) {
  assert(at >= 0 && at <= rank_ && rank_ < kMaxRank);
  std::copy_backward(begin() + at, begin() + rank_, begin() + rank_ + 1);
  values_[static_cast<size_t>(at)] = v;
  ++rank_;
}

void Dims::erase(int at) {
  assert(at >= 0 && at < rank_);
  std::copy(begin() + at + 1, begin() + rank_, begin() + at);
  --rank_;
}

int64_t element_count(const Shape& shape) {
  int64_t n = 1;
  for (int64_t d : shape) n *= d;
  return n;
}

int64_t checked_element_count(const Shape& shape, int64_t element_bytes) {
  // A zero anywhere makes the count zero, but never excuses a negative or an overflowing rest: strides would overflow.
  int64_t bytes = element_bytes;
  bool zero = false;
  for (int64_t d : shape) {
    if (d < 0) return -1;
    if (d == 0) {
      zero = true;
    } else if (__builtin_mul_overflow(bytes, d, &bytes)) {
      return -1;
    }
  }
  return zero ? 0 : bytes / element_bytes;
}

Dims row_major_strides(const Shape& shape) {
  Dims strides = Dims::filled(shape.rank(), 1);
  for (int i = shape.rank() - 2; i >= 0; --i) strides[i] = strides[i + 1] * shape[i + 1];
  return strides;
}

std::string to_string(const Dims& dims) {
  std::string text;
  for (int i = 0; i < dims.rank(); ++i) text += std::string(i ? "x" : "").append(std::to_string(dims[i]));
  return text;
}

std::string to_tuple(const Dims& dims) {
  std::string text = "(";
  for (int i = 0; i < dims.rank(); ++i) text += std::string(i ? ", " : "").append(std::to_string(dims[i]));
  return text + (dims.rank() == 1 ? ",)" : ")");
}

}  // namespace tilecheck
