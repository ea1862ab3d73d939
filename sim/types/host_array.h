// An array in host memory, row-major: kernel operands and results, and what .npy files hold.
#pragma once

#include <cstddef>
#include <memory>

#include "sim/types/dtype.h"
#include "sim/types/shape.h"

namespace tilecheck {

// Elements are stored as info(dtype).storage_bytes each. Copies share the bytes.
class HostArray {
 public:
  HostArray() = default;
  // Zero-filled, 64-byte aligned. The shape must pass checked_element_count.
  HostArray(DType dtype, const Shape& shape);
  // A view of memory that the caller keeps alive (keep_alive may hold it).
  static HostArray view(DType dtype, const Shape& shape, void* data, std::shared_ptr<void> keep_alive = nullptr);

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  int64_t size() const { return size_; }  // elements
  int64_t size_bytes() const { return size_ * storage_bytes(dtype_); }
  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  template <typename T>
  T* as() {
    return reinterpret_cast<T*>(data_);
  }
  template <typename T>
  const T* as() const {
    return reinterpret_cast<const T*>(data_);
  }
  bool has_value() const { return data_ != nullptr || size_ == 0; }

  // Element i (row-major) as a double; exact for every type but 64-bit integers beyond 2^53.
  double at(int64_t i) const;
  // Rounds to nearest even into the array's own type (integers: saturates, NaN gives 0).
  void set(int64_t i, double value);
  HostArray clone() const;
  // The same values in another type.
  HostArray convert(DType to) const;

 private:
  DType dtype_ = DType::f32;
  Shape shape_;
  int64_t size_ = 0;
  std::byte* data_ = nullptr;
  std::shared_ptr<void> owner_;
};

}  // namespace tilecheck
