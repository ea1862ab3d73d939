// What of a spec alone shows that the machine does not model it.
#pragma once

#include <string>

#include "sim/spec/kernel_spec.h"
#include "sim/target/target.h"

namespace tilecheck {

bool has_parallel_axis(const KernelSpec& spec);

// Why a kernel cannot be run, or judged, on `cores` cores of a target (null: of one without several); empty: it can.
std::string why_not_modelled(const KernelSpec& spec, const Target* target, int cores);

}  // namespace tilecheck
