#include "sim/memory/buffer.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "sim/ops/shadow.h"
#include "sim/types/error.h"
#include "sim/types/float_formats.h"

namespace tilecheck {
namespace {

// Bounds of copies: the last two dimensions rounded up to the memory's tile (rank 1: the last). Tiles as in VMEM blocks
// (vmem rules, section 2, generations from v4 on): (t, 128) with t the packing doubled up to 8 while it is less than
// the rows.
Shape padded_extents(Space space, DType dtype, const Shape& shape) {
  if (space != Space::vmem && space != Space::hbm && space != Space::any) return shape;
  if (shape.rank() == 0 || is_semaphore(dtype)) return shape;
  Shape padded = shape;
  const int64_t packing = std::max<int64_t>(1, 32 / std::max(bits(dtype), 4));
  const auto round_up = [](int64_t n, int64_t m) { return (n + m - 1) / m * m; };
  if (shape.rank() == 1) {
    padded[0] = round_up(shape[0], 128 * packing);
    return padded;
  }
  const int rows = shape.rank() - 2;
  int64_t tile = packing;
  while (tile < std::min<int64_t>(shape[rows], 8)) tile *= 2;
  padded[rows] = round_up(shape[rows], tile);
  padded[rows + 1] = round_up(shape[rows + 1], 128);
  return padded;
}

constexpr int64_t kMaxBufferBytes = int64_t{1} << 36;

}  // namespace

uint8_t* Shadow::bytes() {
  if (!bytes_) bytes_.reset(new uint8_t[static_cast<size_t>(count_)]);
  if (state_ != State::mixed) {
    std::memset(bytes_.get(), state_ == State::undefined ? undefined_ : 0, static_cast<size_t>(count_));
    state_ = State::mixed;
  }
  return bytes_.get();
}

void Shadow::settle() {
  if (state_ != State::mixed) return;
  if (!has_set_byte(bytes_.get(), count_)) state_ = State::defined;
}

Buffer::Buffer(std::string name_, Space space_, DType dtype_, DType repr_, const Shape& shape_, int device_, int core_,
               TilePool* pool)
    : name(std::move(name_)),
      space(space_),
      dtype(dtype_),
      repr(repr_),
      shape(shape_),
      copy_extents(padded_extents(space_, dtype_, shape_)),
      device(device_),
      core(core_),
      shadow(element_count(shape_), is_semaphore(dtype_) ? Shadow::State::defined : Shadow::State::undefined,
             undefined_mask(dtype_)),
      pool_(pool) {
  if (is_semaphore(dtype)) return;
  const int64_t elements = checked_element_count(shape, storage_bytes(repr));
  if (elements < 0 || elements > kMaxBufferBytes / storage_bytes(repr))
    throw InputError("buffer '" + name + "'", "shape " + to_tuple(shape) + " of " +
                                                  std::string(tilecheck::name(dtype)) +
                                                  " needs more than 64 GiB of host memory");
  if (pool && elements > 0) {
    share(pool->allocate(elements * storage_bytes(repr)));
  } else {
    array = HostArray(repr, shape);
  }
}

Buffer::Buffer(std::string name_, Space space_, HostArray array_, int device_, int core_)
    : name(std::move(name_)),
      space(space_),
      dtype(array_.dtype()),
      repr(array_.dtype()),
      shape(array_.shape()),
      copy_extents(padded_extents(space_, array_.dtype(), array_.shape())),
      device(device_),
      core(core_),
      array(std::move(array_)),
      shadow(element_count(shape), Shadow::State::defined, undefined_mask(dtype)),
      filled(true) {}

void Buffer::share(BlockPtr elements) {
  block = std::move(elements);
  array = HostArray::view(repr, shape, block.data());
}

void Buffer::leave_block(bool overwrites) {
  const int64_t bytes = array.size_bytes();
  BlockPtr own = pool_->allocate(bytes);
  if (!overwrites) std::memcpy(own.data(), block.data(), static_cast<size_t>(bytes));
  share(std::move(own));
}

void Buffer::fill() {
  if (!held.has_value()) return fill_fresh();
  held.strip(0, held.size(), writable(true));  // not dense: written to where it is told
  overwritten();
}

void Buffer::fill_fresh() {
  overwritten();
  if (is_semaphore(dtype) || array.size() == 0) return;
  alignas(8) std::byte element[8];
  if (is_floating(repr) && garbage % 3 == 0) {
    store_from_double(repr, element, std::numeric_limits<double>::quiet_NaN());
  } else if (garbage != 0) {
    // Some other bits: a multiplicative hash of the seed, valid for every type but b1.
    const uint64_t word = (uint64_t{garbage} + 1) * 0x9e3779b97f4a7c15u;
    std::memcpy(element, &word, sizeof element);
    if (is_floating(repr)) store_from_double(repr, element, static_cast<double>(garbage % 1024) + 0.5);
    if (dtype == DType::b1) element[0] = std::byte{static_cast<uint8_t>(garbage & 1)};
  } else {
    // The sentinel of integers: the largest value (JAX's interpreters fill so).
    const uint64_t word = dtype == DType::b1                         ? 1
                          : is_signed_int(dtype) && bits(dtype) < 64 ? (uint64_t{1} << (bits(dtype) - 1)) - 1
                          : is_signed_int(dtype)                     ? ~uint64_t{0} >> 1
                          : bits(dtype) < 64                         ? (uint64_t{1} << bits(dtype)) - 1
                                                                     : ~uint64_t{0};
    std::memcpy(element, &word, sizeof element);
  }
  const size_t width = static_cast<size_t>(storage_bytes(repr));
  std::byte* out = writable(true);
  const size_t total = static_cast<size_t>(array.size_bytes());
  std::memcpy(out, element, width);
  for (size_t done = width; done < total;) {
    const size_t n = std::min(done, total - done);
    std::memcpy(out + done, out, n);
    done += n;
  }
}

}  // namespace tilecheck
