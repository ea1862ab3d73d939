// Reads MLIR bytecode into a Module.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "sim/mosaic/ir.h"

namespace tilecheck::mosaic {

// The IR as it stands in the payload, neither upgraded nor verified (load_module does all three). Containers of version
// 0 to 6. Throws InputError with the byte offset and what was expected there; `name` says what the bytes are. Memory
// and time are bounded by bytecode::kMaxMemoryFactor times the payload's size.
Module read_bytecode(std::span<const uint8_t> bytes, std::string_view name);

// Whether bytes begin as MLIR bytecode does.
bool is_bytecode(std::string_view bytes);

}  // namespace tilecheck::mosaic
