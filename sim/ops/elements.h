// Single elements of any type, by their stored bytes: scalars, splats, and whatever is not worth a loop of its own.
#pragma once

#include <cstdint>
#include <cstring>

#include "sim/types/dtype.h"
#include "sim/types/float_formats.h"

namespace tilecheck {

// Wraps to the low `bits` bits, as a signed or an unsigned number.
inline int64_t sign_extend(uint64_t value, int bits) {
  return static_cast<int64_t>(value << (64 - bits)) >> (64 - bits);
}
inline uint64_t zero_extend(uint64_t value, int bits) { return value << (64 - bits) >> (64 - bits); }

// How an integer of this type is kept in 64 bits: sign-extended for signed types, zero-extended for unsigned and bool.
inline int64_t canonical_int(DType dtype, uint64_t value) {
  return is_signed_int(dtype) || is_semaphore(dtype) ? sign_extend(value, bits(dtype))
                                                     : static_cast<int64_t>(zero_extend(value, bits(dtype)));
}

// The stored bytes of one element, in the low bytes of the result; the rest as canonical_int has it (floats: zero).
inline uint64_t load_bits(DType dtype, const void* element) {
  uint64_t value = 0;
  std::memcpy(&value, element, static_cast<size_t>(storage_bytes(dtype)));
  return is_floating(dtype) ? value : static_cast<uint64_t>(canonical_int(dtype, value));
}

inline int64_t decode_int(DType dtype, const void* element) { return static_cast<int64_t>(load_bits(dtype, element)); }
inline uint64_t encode_int(DType dtype, int64_t value) {
  return static_cast<uint64_t>(canonical_int(dtype, static_cast<uint64_t>(value)));
}

inline double decode_element(DType dtype, const void* element) { return load_as_double(dtype, element); }
// Rounds once, to nearest even; integers saturate and NaN gives 0.
inline uint64_t encode_element(DType dtype, double value) {
  uint64_t element = 0;
  store_from_double(dtype, &element, value);
  return load_bits(dtype, &element);
}

// n copies of one element of 1, 2, 4 or 8 bytes.
inline void fill_elements(void* to, const void* element, int element_bytes, int64_t n) {
  const auto fill = [&]<typename T>(T value) {
    std::memcpy(&value, element, sizeof(T));
    T* p = static_cast<T*>(to);
    for (int64_t i = 0; i < n; ++i) p[i] = value;
  };
  switch (element_bytes) {
    case 1:
      return fill(uint8_t{});
    case 2:
      return fill(uint16_t{});
    case 4:
      return fill(uint32_t{});
    default:
      return fill(uint64_t{});
  }
}

}  // namespace tilecheck
