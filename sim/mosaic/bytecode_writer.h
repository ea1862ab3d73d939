// Writes a Module as MLIR bytecode of version 0, as JAX sends kernels to the TPU compiler.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/mosaic/ir.h"

namespace tilecheck::mosaic {

struct WriteOptions {
  bool locations = true;     // else all are unknown
  bool module_attrs = true;  // the module's own attributes, the IR version among them
};

// Operations get the stable_mosaic prefix, except where the module has no IR version (ir_version 0): then the payload
// is one from before the stable form. read_bytecode gives the same module back, up to the numbering of values and
// locations. The module must be well-formed (as read_bytecode or ModuleBuilder make it). Attributes of kind `unknown`
// that only a newer MLIR can write are refused by InputError.
std::vector<uint8_t> write_bytecode(const Module& module, const WriteOptions& options = {});

}  // namespace tilecheck::mosaic
