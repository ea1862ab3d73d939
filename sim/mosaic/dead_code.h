// Removes operations whose results nothing uses.
#pragma once

#include <cstdint>

#include "sim/mosaic/ir.h"

namespace tilecheck::mosaic {

struct RemovedOps {
  int64_t ops = 0;         // all of them, loads and control operations included
  int64_t loads = 0;       // vector.load, memref.load, tpu.strided_load, ...
  int64_t load_bytes = 0;  // what each would read, once
};

// Drops pure operations, reads and allocations without users, and branches, counted loops and scopes that are left with
// none but such. Every store in a Pallas kernel is preceded by a load of the old value that nothing uses; the TPU
// compiler drops it too, and executed it would be a false read of undefined memory. While loops stay: they may not end.
// Value ids keep their numbers. Needs a verified module.
RemovedOps remove_dead_code(Module& module);

// Whether the operation reads memory (vector.load, memref.load, ...), and how many bytes it reads.
bool is_load(OpCode code);
int64_t load_bytes(const Function& function, const Op& op);

}  // namespace tilecheck::mosaic
