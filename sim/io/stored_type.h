// How the bytes of an array file become elements of one of our types. Shared by .npy and safetensors.
#pragma once

#include <optional>
#include <string>

#include "sim/types/host_array.h"

namespace tilecheck {

// What a file says about its elements. `dtype` is none where it says only how many bytes each has (numpy's void).
struct StoredType {
  std::string text;  // as the file writes it: "<V2", "BF16"
  int item_bytes = 0;
  std::optional<DType> dtype;
};

// The type to read `stored` as when the caller expects `wanted`. Without `wanted` the file must say it. Accepted where
// they differ: void of the right width; int8 as i4 or i2, uint8 as u4, u2; the integers that semaphores are.
// `where` names the file and offset for the InputError.
DType resolve_stored_type(const StoredType& stored, std::optional<DType> wanted, const std::string& where);

// Makes freshly read bytes canonical: sub-byte integers sign- or zero-extended from their low bits (ml_dtypes stores
// the bits alone), f4e2m1fn cut to four bits, bool 0 or 1. If the file's own type was wider (an int8 file read as i4),
// a value that does not fit is an InputError.
void canonicalize_elements(HostArray& array, const StoredType& stored, const std::string& where);

}  // namespace tilecheck
