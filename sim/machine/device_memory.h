// One device's arrays in HBM: made from the operands, read back as results.
#pragma once

#include "sim/machine/state.h"

namespace tilecheck {

// Operands without a copy where nothing writes them; results fresh, or shared with the operand they alias. InputError
// for operands that do not fit the spec.
DeviceMemory device_memory(const KernelSpec& spec, const DeviceArgs& args, const LaunchOptions& options, int device);

// The results, with what is undefined in them as findings (machine-rules 15).
DeviceResults collect_results(const KernelSpec& spec, DeviceMemory& memory, const Engine& engine, FindingSink& sink);

}  // namespace tilecheck
