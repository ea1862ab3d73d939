#include "sim/types/dtype.h"

#include <array>
#include <cassert>

namespace tilecheck {
namespace {

using enum DTypeClass;

// In the order of DType. Names: JAX 0.10.2, ml_dtypes 0.6.0 and MLIR's type syntax.
constexpr std::array<DTypeInfo, kDTypeCount> kDTypes = {{
    {"f64", "float64", "f64", 64, 8, floating},
    {"f32", "float32", "f32", 32, 4, floating},
    {"bf16", "bfloat16", "bf16", 16, 2, floating},
    {"f16", "float16", "f16", 16, 2, floating},
    {"f8e4m3fn", "float8_e4m3fn", "f8E4M3FN", 8, 1, floating},
    {"f8e5m2", "float8_e5m2", "f8E5M2", 8, 1, floating},
    {"f8e4m3b11fnuz", "float8_e4m3b11fnuz", "f8E4M3B11FNUZ", 8, 1, floating},
    {"f8e8m0fnu", "float8_e8m0fnu", "f8E8M0FNU", 8, 1, floating},
    {"f4e2m1fn", "float4_e2m1fn", "f4E2M1FN", 4, 1, floating},
    {"i64", "int64", "i64", 64, 8, signed_int},
    {"i32", "int32", "i32", 32, 4, signed_int},
    {"i16", "int16", "i16", 16, 2, signed_int},
    {"i8", "int8", "i8", 8, 1, signed_int},
    {"i4", "int4", "i4", 4, 1, signed_int},
    {"i2", "int2", "i2", 2, 1, signed_int},
    {"u64", "uint64", "ui64", 64, 8, unsigned_int},
    {"u32", "uint32", "ui32", 32, 4, unsigned_int},
    {"u16", "uint16", "ui16", 16, 2, unsigned_int},
    {"u8", "uint8", "ui8", 8, 1, unsigned_int},
    {"u4", "uint4", "ui4", 4, 1, unsigned_int},
    {"u2", "uint2", "ui2", 2, 1, unsigned_int},
    {"bool", "bool", "i1", 1, 1, boolean},
    {"semaphore", "sem", "!tpu.semaphore", 32, 4, DTypeClass::semaphore},
    {"dma_semaphore", "dma_sem", "!tpu.dma_semaphore", 64, 8, DTypeClass::semaphore},
}};

}  // namespace

const DTypeInfo& info(DType dtype) {
  assert(static_cast<size_t>(dtype) < kDTypes.size());
  return kDTypes[static_cast<size_t>(dtype)];
}

std::optional<DType> parse_dtype(std::string_view text) {
  for (size_t i = 0; i < kDTypes.size(); ++i)
    if (text == kDTypes[i].name || text == kDTypes[i].jax_name || text == kDTypes[i].mlir_name)
      return static_cast<DType>(i);
  return std::nullopt;
}

}  // namespace tilecheck
