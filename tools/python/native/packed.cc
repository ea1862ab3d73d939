#include "tools/python/native/packed.h"

#include <algorithm>

namespace tilecheck::python {

bool is_sub_byte(DType dtype) { return bits(dtype) < 8 && dtype != DType::b1; }

HostArray unpack(const CallArray& packed) {
  HostArray values(packed.type.dtype, packed.type.shape);
  const int width = bits(packed.type.dtype), per_byte = 8 / width;
  const auto* from = static_cast<const uint8_t*>(packed.data);
  auto* to = values.as<uint8_t>();
  const bool is_signed = is_signed_int(packed.type.dtype);
  for (int64_t i = 0; i < values.size(); ++i) {
    const int word = from[i / per_byte] >> (i % per_byte * width) & ((1 << width) - 1);
    // A signed element is kept sign-extended, as numpy keeps ml_dtypes' int4.
    to[i] = static_cast<uint8_t>(is_signed && word >> (width - 1) ? word - (1 << width) : word);
  }
  return values;
}

void pack(const HostArray& values, const CallArray& packed) {
  const int width = bits(packed.type.dtype), per_byte = 8 / width;
  const auto* from = values.as<uint8_t>();
  auto* to = static_cast<uint8_t*>(packed.data);
  for (int64_t begin = 0; begin < values.size(); begin += per_byte) {
    int byte = 0;
    for (int64_t i = begin; i < std::min(begin + per_byte, values.size()); ++i)
      byte |= (from[i] & ((1 << width) - 1)) << ((i - begin) * width);
    to[begin / per_byte] = static_cast<uint8_t>(byte);
  }
}

}  // namespace tilecheck::python
