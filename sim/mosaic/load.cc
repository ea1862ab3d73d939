#include "sim/mosaic/load.h"

#include "sim/mosaic/bytecode_reader.h"
#include "sim/mosaic/upgrade.h"
#include "sim/mosaic/verifier.h"

namespace tilecheck::mosaic {

Module load_module(std::span<const uint8_t> bytes, std::string_view name, const LoadOptions& options) {
  Module module = read_bytecode(bytes, name);
  upgrade(module, name, options.force);
  verify(module, name);
  return module;
}

}  // namespace tilecheck::mosaic
