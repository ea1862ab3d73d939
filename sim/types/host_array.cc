#include "sim/types/host_array.h"

#include <cassert>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

#include "sim/types/float_formats.h"

namespace tilecheck {
namespace {

constexpr size_t kAlignment = 64;

// calloc, not aligned_alloc and memset: large blocks come as untouched zero pages.
std::shared_ptr<void> zeroed(size_t bytes) {
  void* block = std::calloc(1, bytes + kAlignment);
  if (!block) throw std::bad_alloc();
  return {block, std::free};
}

std::byte* aligned(void* block) {
  const auto address = reinterpret_cast<uintptr_t>(block);
  return reinterpret_cast<std::byte*>((address + kAlignment - 1) / kAlignment * kAlignment);
}

bool is_64_bit_int(DType dtype) { return dtype == DType::i64 || dtype == DType::u64; }

// Between 64-bit integers, where a double would lose bits: saturates as HostArray::set does.
void convert_64_bit(const HostArray& from, HostArray& to) {
  constexpr uint64_t kMaxSigned = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  for (int64_t i = 0; i < from.size(); ++i) {
    uint64_t bits = from.as<uint64_t>()[i];
    const bool top = bits > kMaxSigned;
    if (top && from.dtype() != to.dtype()) bits = from.dtype() == DType::i64 ? 0 : kMaxSigned;
    to.as<uint64_t>()[i] = bits;
  }
}

}  // namespace

HostArray::HostArray(DType dtype, const Shape& shape) : dtype_(dtype), shape_(shape) {
  size_ = checked_element_count(shape, storage_bytes(dtype));
  assert(size_ >= 0);
  owner_ = zeroed(static_cast<size_t>(size_bytes()));
  data_ = aligned(owner_.get());
}

HostArray HostArray::view(DType dtype, const Shape& shape, void* data, std::shared_ptr<void> keep_alive) {
  HostArray array;
  array.dtype_ = dtype;
  array.shape_ = shape;
  array.size_ = checked_element_count(shape, storage_bytes(dtype));
  assert(array.size_ >= 0);
  array.data_ = static_cast<std::byte*>(data);
  array.owner_ = std::move(keep_alive);
  return array;
}

double HostArray::at(int64_t i) const {
  assert(i >= 0 && i < size_);
  return load_as_double(dtype_, data_ + i * storage_bytes(dtype_));
}

void HostArray::set(int64_t i, double value) {
  assert(i >= 0 && i < size_);
  store_from_double(dtype_, data_ + i * storage_bytes(dtype_), value);
}

HostArray HostArray::clone() const {
  HostArray copy(dtype_, shape_);
  if (size_ > 0) std::memcpy(copy.data_, data_, static_cast<size_t>(size_bytes()));
  return copy;
}

HostArray HostArray::convert(DType to) const {
  if (to == dtype_) return clone();
  HostArray result(to, shape_);
  if (is_64_bit_int(dtype_) && is_64_bit_int(to)) {
    convert_64_bit(*this, result);
    return result;
  }
  const int from_bytes = storage_bytes(dtype_), to_bytes = storage_bytes(to);
  for (int64_t i = 0; i < size_; ++i)
    store_from_double(to, result.data_ + i * to_bytes, load_as_double(dtype_, data_ + i * from_bytes));
  return result;
}

}  // namespace tilecheck
