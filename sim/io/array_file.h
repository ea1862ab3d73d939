// An array from any file a user may name.
#pragma once

#include <optional>
#include <string>

#include "sim/types/host_array.h"

namespace tilecheck {

// text: "FILE.npy" or "FILE.safetensors:TENSOR". dtype: what the caller expects, see resolve_stored_type.
// An InputError for everything that cannot be read.
HostArray read_array(const std::string& text, std::optional<DType> dtype = {});

}  // namespace tilecheck
