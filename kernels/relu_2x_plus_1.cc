// relu(2x + 1) of a 1-D array: the smallest whole kernel, and the first to read.
//
// Each grid step owns one block. The pipeline brings it from HBM to VMEM before the body runs and takes the result back
// afterwards, while the next step computes. A last block that sticks out of the array needs no care here: what lies
// beyond the end is undefined, is computed along, and never leaves VMEM.
#include "harness/format.h"
#include "harness/reference_array.h"
#include "kernels/list.h"
#include "kernels/tiling.h"
#include "kernels/twins.h"
#include "reference/basic.h"

namespace tilecheck {
namespace {

void body(Core& core, std::span<const Ref> refs) {
  const Ref &x = refs[0], &y = refs[1];
  core.store(y, maximum(core.load(x) * 2 + 1, 0));
}

KernelCase make(const ParamValues& params) {
  const int64_t n = params.integer("n"), block = params.integer("block");
  const DType dtype = params.dtype("dtype");
  const IndexMap own_block = [](Index i) { return Indices{i}; };

  KernelCase c;
  c.spec.name = "relu_2x_plus_1";
  c.spec.at = here();
  c.spec.grid = {block_count(n, block)};
  c.spec.semantics = {Semantics::parallel};
  c.spec.in = {{.name = "x", .dtype = dtype, .array = {n}, .block = {block}, .index = own_block, .at = here()}};
  c.spec.out = {{.name = "y", .dtype = dtype, .array = {n}, .block = {block}, .index = own_block, .at = here()}};
  c.body = body;
  c.hints = {{.int_low = -8, .int_high = 8}};
  c.reference = [](std::span<const HostArray> in) {
    return Arrays{from_reference(reference::relu_2x_plus_1(to_reference(in[0])))};
  };
  c.headline = "x " + array_text(dtype, {n});
  return c;
}

}  // namespace

Kernel relu_2x_plus_1_kernel() {
  return {.name = "relu_2x_plus_1",
          .summary = "max(2 x + 1, 0), element by element",
          .params = {int_param("n", 1024, "elements", {1, 100, 1000, 1024}),
                     int_param("block", 256, "elements in a block", {8, 128, 256, 1000}),
                     dtype_param("dtype", DType::f32, {DType::f32, DType::bf16, DType::f16, DType::i32})},
          .make = make,
          .broken = relu_2x_plus_1_twins()};
}

}  // namespace tilecheck
