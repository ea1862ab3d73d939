// The safetensors format: 8 bytes of header length, a JSON header, the tensors' bytes.
// Format: the safetensors repository's README, "Format".
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/types/host_array.h"

namespace tilecheck {

// The names of the tensors, in the header's order.
std::vector<std::string> list_safetensors(const std::string& path);

// One tensor. Only its own bytes are read. dtype: see resolve_stored_type. Bad input, also an unknown name: an
// InputError; never allocates more than the file's size.
HostArray read_safetensors(const std::string& path, const std::string& tensor, std::optional<DType> dtype = {});
// The same from a file in memory. file: for messages.
HostArray parse_safetensors(std::span<const std::byte> bytes, const std::string& file, const std::string& tensor,
                            std::optional<DType> dtype = {});

}  // namespace tilecheck
