// The transpose of a matrix, block by block: block (i, j) of x becomes block (j, i) of y.
//
// Both windows want their last dimension to be a multiple of 128 lanes, and here either dimension is last in one of
// them: square blocks of 128 are the smallest that suit both. Larger ones make longer copies, at four times the VMEM
// for twice the run.
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
  core.store(y, transpose(core.load(x)));
}

KernelCase make(const ParamValues& params) {
  const int64_t rows = params.integer("rows"), columns = params.integer("columns");
  const int64_t block_rows = params.integer("block_rows"), block_columns = params.integer("block_columns");
  const DType dtype = params.dtype("dtype");

  KernelCase c;
  c.spec.name = "transpose";
  c.spec.at = here();
  c.spec.grid = {block_count(rows, block_rows), block_count(columns, block_columns)};
  c.spec.semantics = {Semantics::parallel, Semantics::parallel};
  c.spec.in = {{.name = "x",
                .dtype = dtype,
                .array = {rows, columns},
                .block = {block_rows, block_columns},
                .index =
                    [](Index i, Index j) {
                      return Indices{i, j};
                    },
                .at = here()}};
  c.spec.out = {{.name = "y",
                 .dtype = dtype,
                 .array = {columns, rows},
                 .block = {block_columns, block_rows},
                 .index =
                     [](Index i, Index j) {
                       return Indices{j, i};
                     },
                 .at = here()}};
  c.body = body;
  c.reference = [](std::span<const HostArray> in) {
    return Arrays{from_reference(reference::transpose(to_reference(in[0])))};
  };
  c.rules = {{.bit_equal = true}};  // nothing is computed
  c.headline = "x " + array_text(dtype, {rows, columns});
  return c;
}

}  // namespace

Kernel transpose_kernel() {
  return {.name = "transpose",
          .summary = "the transpose of a matrix",
          .params = {int_param("rows", 512, "rows of x", {1, 100, 128, 300}),
                     int_param("columns", 384, "columns of x", {1, 128, 200}),
                     int_param("block_rows", 128, "rows in a block of x", {8, 128}),
                     int_param("block_columns", 128, "columns in a block of x", {8, 128}),
                     dtype_param("dtype", DType::f32, {DType::f32, DType::bf16, DType::f16, DType::i32})},
          .make = make,
          .broken = transpose_twins()};
}

}  // namespace tilecheck
