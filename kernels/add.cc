// x + y of two matrices, block by block.
//
// Blocks of 256 rows and all columns are contiguous in HBM, so each copy is one long run; splitting the columns too
// (block_columns) only pays when a row is so long that three double-buffered blocks do not fit in VMEM.
#include "harness/format.h"
#include "harness/reference_array.h"
#include "kernels/list.h"
#include "kernels/tiling.h"
#include "kernels/twins.h"
#include "reference/basic.h"

namespace tilecheck {
namespace {

void body(Core& core, std::span<const Ref> refs) {
  const Ref &x = refs[0], &y = refs[1], &z = refs[2];
  core.store(z, core.load(x) + core.load(y));
}

KernelCase make(const ParamValues& params) {
  const int64_t rows = params.integer("rows"), columns = params.integer("columns");
  const int64_t block_rows = params.integer("block_rows"), block_columns = params.integer("block_columns");
  const DType dtype = params.dtype("dtype");
  const auto window = [&](const char* name, Loc at) {
    return Window{.name = name,
                  .dtype = dtype,
                  .array = {rows, columns},
                  .block = {block_rows, block_columns},
                  .index =
                      [](Index i, Index j) {
                        return Indices{i, j};
                      },
                  .at = at};
  };

  KernelCase c;
  c.spec.name = "add";
  c.spec.at = here();
  c.spec.grid = {block_count(rows, block_rows), block_count(columns, block_columns)};
  c.spec.semantics = {Semantics::parallel, Semantics::parallel};
  c.spec.in = {window("x", here()), window("y", here())};
  c.spec.out = {window("z", here())};
  if (params.flag("in_place")) c.spec.aliases = {{.input = 0, .output = 0}};
  c.body = body;
  c.reference = [](std::span<const HostArray> in) {
    return Arrays{from_reference(reference::add(to_reference(in[0]), to_reference(in[1])))};
  };
  c.headline = "x,y " + array_text(dtype, {rows, columns});
  return c;
}

}  // namespace

Kernel add_matrices_kernel() {
  return {.name = "add",
          .summary = "x + y of two matrices",
          .params = {int_param("rows", 1024, "rows", {1, 8, 100, 256}),
                     int_param("columns", 512, "columns", {1, 128, 200, 512}),
                     int_param("block_rows", 256, "rows in a block", {8, 64, 256}),
                     int_param("block_columns", 512, "columns in a block", {128, 512}),
                     dtype_param("dtype", DType::f32, {DType::f32, DType::bf16, DType::f16, DType::i32}),
                     bool_param("in_place", false, "z takes the place of x: both are one array")},
          .make = make,
          .broken = add_twins()};
}

}  // namespace tilecheck
