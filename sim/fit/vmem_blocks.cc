#include "sim/fit/vmem_blocks.h"

#include <algorithm>

#include "sim/types/error.h"

namespace tilecheck::fit {
namespace {

constexpr int kFirstGenerationWithSmallTiles = 4;  // v2 and v3 double the smallest tile
constexpr int64_t kWindowGranuleBytes = 1024;
constexpr int64_t kOldInputGranuleBytes = 4096;

int64_t round_up(int64_t value, int64_t granule) {
  if (value > INT64_MAX - granule) return INT64_MAX / granule * granule;
  return (value + granule - 1) / granule * granule;
}

int64_t checked_bytes(const Shape& shape, int64_t element_bits) {
  const int64_t elements = checked_element_count(shape, 1);
  if (elements < 0 || elements > INT64_MAX / element_bits)
    throw InputError("shape " + to_tuple(shape), "its size in bytes does not fit 63 bits");
  return (elements * element_bits + 7) / 8;
}

}  // namespace

int memory_bits(DType dtype) { return dtype == DType::b1 || is_semaphore(dtype) ? 32 : bits(dtype); }

int packing(DType dtype) { return std::max(1, 32 / memory_bits(dtype)); }

Tiling tiling(DType dtype, const Shape& shape, const Target& target) {
  const int64_t smallest = packing(dtype) * (target.generation() < kFirstGenerationWithSmallTiles ? 2 : 1);
  if (shape.rank() < 2) return {0, target.lanes() * smallest};
  int64_t rows = smallest;
  while (rows < std::min(shape[shape.rank() - 2], target.sublanes())) rows *= 2;
  return {rows, target.lanes()};
}

std::string to_string(const Tiling& tile) {
  if (tile.rows == 0) return "(" + std::to_string(tile.cols) + ")";
  return "(" + std::to_string(tile.rows) + "," + std::to_string(tile.cols) + ")";
}

Shape padded_shape(DType dtype, const Shape& shape, const Target& target) {
  const Tiling tile = tiling(dtype, shape, target);
  Shape padded = shape.empty() ? Shape{1} : shape;
  padded.back() = round_up(padded.back(), tile.cols);
  if (tile.rows != 0) padded[padded.rank() - 2] = round_up(padded[padded.rank() - 2], tile.rows);
  return padded;
}

int64_t unpadded_bytes(DType dtype, const Shape& shape) { return checked_bytes(shape, memory_bits(dtype)); }

int64_t padded_bytes(DType dtype, const Shape& shape, const Target& target) {
  if (checked_element_count(shape) < 0) return checked_bytes(shape, 1);  // throws
  return checked_bytes(padded_shape(dtype, shape, target), memory_bits(dtype));
}

int64_t window_bytes(int slots, int64_t buffer_bytes, bool is_input, const Target& target) {
  if (buffer_bytes > (INT64_MAX - kOldInputGranuleBytes) / std::max(slots, 1))
    throw InputError("window", "its slots' size in bytes does not fit 63 bits");
  const bool old_input = is_input && target.generation() < kFirstGenerationWithSmallTiles;
  return round_up(slots * buffer_bytes, old_input ? kOldInputGranuleBytes : kWindowGranuleBytes);
}

bool is_pinned(const Window& window) { return checked_element_count(window.array) == 1; }

}  // namespace tilecheck::fit
