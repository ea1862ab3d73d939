// numpy's .npy files: versions 1 to 3, little-endian, C or Fortran order.
// Format: numpy.lib.format in numpy 2.4. Types of ml_dtypes 0.6: bf16 is written '<V2', its 8- and 4-bit floats '<V1'
// (numpy writes e5m2 as '<f1', which it cannot read back; that is read here too).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "sim/io/stored_type.h"
#include "sim/types/host_array.h"

namespace tilecheck {

struct NpyHeader {
  StoredType stored;
  bool fortran_order = false;
  Shape shape;
  int64_t data_offset = 0;
};

// prefix: the file's first bytes, all of them or at least kNpyMaxHeaderBytes. Checks that file_bytes is exactly what
// the header asks for. file: for messages.
inline constexpr int64_t kNpyMaxHeaderBytes = 65536 + 12;
NpyHeader parse_npy_header(std::span<const std::byte> prefix, int64_t file_bytes, const std::string& file);

// The array, its elements row-major. dtype: see resolve_stored_type. Bad input: an InputError naming file, offset and
// what was expected; never allocates more than the file's size.
HostArray parse_npy(std::span<const std::byte> bytes, const std::string& file, std::optional<DType> dtype = {});
HostArray read_npy(const std::string& path, std::optional<DType> dtype = {});

// Version 1.0, as numpy with ml_dtypes writes it; whole or not at all.
void write_npy(const std::string& path, const HostArray& array);
// The header that write_npy writes, padded to a multiple of 64 bytes.
std::string npy_header(DType dtype, const Shape& shape);

}  // namespace tilecheck
