// From payload bytes to a module that may be trusted: read, upgrade, verify.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "sim/mosaic/ir.h"

namespace tilecheck::mosaic {

struct LoadOptions {
  bool force = false;  // try IR versions newer than kNewestIrVersion
};

// Throws InputError (bytes, IR version or typing; `name` says what the bytes are) or Incomplete (see verify).
Module load_module(std::span<const uint8_t> bytes, std::string_view name, const LoadOptions& options = {});

}  // namespace tilecheck::mosaic
