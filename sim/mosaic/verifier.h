// Checks that a module is well-formed and well-typed, so that what reads it later may trust it.
#pragma once

#include <string_view>

#include "sim/mosaic/ir.h"

namespace tilecheck::mosaic {

// Vectors of more elements are refused (a kernel's values live in VMEM, which is smaller on every chip).
inline constexpr int64_t kMaxVectorElements = int64_t{1} << 28;

// After it, of an upgraded module: every operand is defined before its use and in sight; every operation of the table
// has the operands, results, regions, segments and attributes that its rules ask for; every region has one block that
// ends in the right terminator; types are scalars, index, static vectors and memrefs; calls are not recursive.
// Operations outside the table are left for the executor to name. Throws InputError saying where (byte and source line)
// and what was expected; Incomplete for branches between blocks and for types that Tilecheck does not have.
void verify(const Module& module, std::string_view name);

}  // namespace tilecheck::mosaic
