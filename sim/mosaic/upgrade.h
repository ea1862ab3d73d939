// Brings the operations of older Mosaic IR versions to the newest form.
#pragma once

#include <string_view>

#include "sim/mosaic/ir.h"

namespace tilecheck::mosaic {

// The newest `stable_mosaic.version` whose changes are known: JAX 0.10.2 writes 15, 0.11.2 writes 17.
inline constexpr int kNewestIrVersion = 17;

// In place. Also folds old spellings into one (vector.store into tpu.vector_store, `position` into `static_position`).
// Throws InputError for a newer version unless `force`, and for the layouts of payloads before there was a stable form.
void upgrade(Module& module, std::string_view name, bool force);

}  // namespace tilecheck::mosaic
