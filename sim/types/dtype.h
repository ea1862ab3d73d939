// Element types: names, widths, and how one element is stored.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace tilecheck {

enum class DType : uint8_t {
  f64,
  f32,
  bf16,
  f16,
  f8e4m3fn,
  f8e5m2,
  f8e4m3b11fnuz,
  f8e8m0fnu,
  f4e2m1fn,
  i64,
  i32,
  i16,
  i8,
  i4,
  i2,
  u64,
  u32,
  u16,
  u8,
  u4,
  u2,
  b1,             // bool and MLIR's i1; one byte, 0 or 1
  semaphore,      // a regular semaphore's count: int32
  dma_semaphore,  // a DMA semaphore's count of bytes: int64
};
inline constexpr int kDTypeCount = static_cast<int>(DType::dma_semaphore) + 1;

enum class DTypeClass : uint8_t { floating, signed_int, unsigned_int, boolean, semaphore };

struct DTypeInfo {
  std::string_view name;       // "bf16", "i32", "bool": as Tilecheck prints it
  std::string_view jax_name;   // "bfloat16", "int32", "bool": as JAX and numpy/ml_dtypes name it
  std::string_view mlir_name;  // "bf16", "i32", "i1", "f8E4M3FN": as MLIR prints it (signless integers)
  int bits;                    // on the chip: 4 for i4, 1 for b1
  int storage_bytes;           // of one element in a HostArray, Tile or Buffer: sub-byte types take one byte each
  DTypeClass dtype_class;
};

const DTypeInfo& info(DType dtype);
inline std::string_view name(DType dtype) { return info(dtype).name; }
inline int bits(DType dtype) { return info(dtype).bits; }
inline int storage_bytes(DType dtype) { return info(dtype).storage_bytes; }
inline bool is_floating(DType dtype) { return info(dtype).dtype_class == DTypeClass::floating; }
inline bool is_signed_int(DType dtype) { return info(dtype).dtype_class == DTypeClass::signed_int; }
inline bool is_unsigned_int(DType dtype) { return info(dtype).dtype_class == DTypeClass::unsigned_int; }
inline bool is_int(DType dtype) { return is_signed_int(dtype) || is_unsigned_int(dtype); }
inline bool is_semaphore(DType dtype) { return info(dtype).dtype_class == DTypeClass::semaphore; }

// Accepts any of the three names of a type; none if it is not one of ours.
std::optional<DType> parse_dtype(std::string_view text);

}  // namespace tilecheck
