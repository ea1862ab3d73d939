#include "sim/io/stored_type.h"

#include "sim/types/error.h"

namespace tilecheck {
namespace {

bool may_hold(DType stored, DType wanted) {
  switch (wanted) {
    case DType::i4:
    case DType::i2:
      return stored == DType::i8;
    case DType::u4:
    case DType::u2:
      return stored == DType::u8;
    case DType::semaphore:
      return stored == DType::i32;
    case DType::dma_semaphore:
      return stored == DType::i64;
    default:
      return false;
  }
}

}  // namespace

DType resolve_stored_type(const StoredType& stored, std::optional<DType> wanted, const std::string& where) {
  if (!wanted) {
    if (stored.dtype) return *stored.dtype;
    throw InputError(where, "type '" + stored.text + "' only says that elements have " +
                                std::to_string(stored.item_bytes) + " byte(s); give the type (--dtype NAME)");
  }
  if (stored.dtype ? (*stored.dtype == *wanted || may_hold(*stored.dtype, *wanted))
                   : storage_bytes(*wanted) == stored.item_bytes)
    return *wanted;
  throw InputError(where, "holds '" + stored.text + "'" +
                              (stored.dtype ? " (" + std::string(info(*stored.dtype).jax_name) + ")" : std::string()) +
                              "; expected " + std::string(info(*wanted).jax_name));
}

void canonicalize_elements(HostArray& array, const StoredType& stored, const std::string& where) {
  const DType dtype = array.dtype();
  if (dtype == DType::b1) {
    auto* values = array.as<uint8_t>();
    for (int64_t i = 0; i < array.size(); ++i) values[i] = values[i] != 0;
    return;
  }
  if (bits(dtype) >= 8) return;
  const bool check = stored.dtype && *stored.dtype != dtype;
  const int unused = 8 - bits(dtype);
  auto* values = array.as<uint8_t>();
  for (int64_t i = 0; i < array.size(); ++i) {
    const auto shifted = static_cast<uint8_t>(values[i] << unused);
    const auto value =
        static_cast<uint8_t>(is_signed_int(dtype) ? static_cast<int8_t>(shifted) >> unused : shifted >> unused);
    if (check && value != values[i])
      throw InputError(
          where, "element " + std::to_string(i) + " is outside the range of " + std::string(info(dtype).jax_name));
    values[i] = value;
  }
}

}  // namespace tilecheck
