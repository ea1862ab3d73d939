// Deterministic contents for operands that the user does not give: the same bytes on every machine.
//
// The generator is counter-based: the random word w(seed, stream, n) is splitmix64's finalizer applied to
// mix(mix(seed) + stream) + (n + 1) * 0x9e3779b97f4a7c15, so that an element depends on nothing but these three
// numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "sim/types/host_array.h"

namespace tilecheck {

enum class FillKind : uint8_t {
  random,    // floats: uniform in [low, high); integers: as `integers`; bool: a fair coin
  normal,    // floats: mean 0, deviation 1 (the sum of 12 uniforms, so within -6..6); else as `random`
  zeros,     //
  iota,      // 0, 1, 2, ... starting again at 0 before the first number the type does not hold (i4: 8, bf16: 256)
  integers,  // floats: whole numbers in [-4, 4]; integers: uniform in [int_low, int_high), cut to the type's range
};
// "random", "normal", "zeros", "iota", "int"; none for another word.
std::optional<FillKind> parse_fill(std::string_view text);

struct Fill {
  FillKind kind = FillKind::random;
  uint64_t seed = 0;
  uint64_t stream = 0;  // which operand (and device): other streams are independent
  double low = -1, high = 1;
  int64_t int_low = 0, int_high = 8;
};

// Semaphores are always filled with 0. float8_e8m0fnu holds powers of two only: any kind but zeros gives 2^-4 .. 2^3,
// and zeros the smallest.
void fill(HostArray& array, const Fill& how);
HostArray filled(DType dtype, const Shape& shape, const Fill& how);

// The word w(seed, stream, n).
uint64_t random_word(uint64_t seed, uint64_t stream, uint64_t n);

}  // namespace tilecheck
