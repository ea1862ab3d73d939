// What the TPU compiler refuses: rules of libtpu 0.0.42.1 and of JAX 0.10.2's own lowering, per generation.
//
// libtpu's rules were measured by compiling some 1,100 small kernels ahead of time on seven generations; the numbers
// they need are in compile_table.h. A rule names what the compiler names: windows, slices, element types, operations.
#pragma once

#include <vector>

#include "sim/fit/body.h"
#include "sim/report/report.h"
#include "sim/spec/kernel_spec.h"
#include "sim/target/target.h"

namespace tilecheck::fit {

struct CompileOptions {
  // The kernel came through JAX's lowering: what that refuses cannot be there, so only libtpu's rules are asked.
  bool lowered_by_jax = false;
};

// Windows, scratch, grid and parameters: block-shape, memory-space, unsupported-buffering, unsupported-window,
// dimension-semantics, internal-scratch, alias-mismatch, dtype-unsupported. What does not fit a memory is
// vmem_report's.
std::vector<Finding> check_spec(const KernelSpec& spec, const Target& target, const CompileOptions& options = {});

// The body's operations: unaligned-slice, memory-space, dtype-unsupported, operation-unsupported, semaphore-misuse,
// type-mismatch. Findings alike at one place are folded (`repeats`).
std::vector<Finding> check_body(const KernelSpec& spec, const Body& body, const Target& target,
                                const CompileOptions& options = {});

}  // namespace tilecheck::fit
