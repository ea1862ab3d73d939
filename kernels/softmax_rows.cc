// Softmax of each row of a matrix.
//
// A row is reduced twice (its maximum, its sum), so a block holds whole rows: the block's columns are the array's, and
// only rows are cut. What limits block_rows is VMEM: the block twice over for each of x and y, and one f32 copy of the
// block that lives across the reductions. All arithmetic is in f32, whatever the array's type.
#include "harness/format.h"
#include "harness/reference_array.h"
#include "kernels/list.h"
#include "kernels/naive.h"
#include "kernels/tiling.h"
#include "kernels/twins.h"
#include "reference/basic.h"

namespace tilecheck {
namespace {

Tile softmax(const Tile& x) {
  const Tile e = exp(x - reduce_max(x, {1}, true));
  return e / reduce_sum(e, {1}, true);
}

void body(Core& core, std::span<const Ref> refs) {
  const Ref &x = refs[0], &y = refs[1];
  core.store(y, convert(softmax(convert(core.load(x), DType::f32)), y.dtype));
}

KernelCase make(const ParamValues& params) {
  const int64_t rows = params.integer("rows"), columns = params.integer("columns");
  const int64_t block_rows = params.integer("block_rows");
  const DType dtype = params.dtype("dtype");
  const auto window = [&](const char* name, Loc at) {
    return Window{.name = name,
                  .dtype = dtype,
                  .array = {rows, columns},
                  .block = {block_rows, columns},
                  .index =
                      [](Index i) {
                        return Indices{i, 0};
                      },
                  .at = at};
  };

  KernelCase c;
  c.spec.name = "softmax_rows";
  c.spec.at = here();
  c.spec.grid = {block_count(rows, block_rows)};
  c.spec.semantics = {Semantics::parallel};
  c.spec.in = {window("x", here())};
  c.spec.out = {window("y", here())};
  c.body = body;
  c.hints = {{.low = -4, .high = 4}};
  c.is_inexact_on_integers = true;
  c.reference = [](std::span<const HostArray> in) {
    return Arrays{from_reference(reference::softmax_rows(to_reference(in[0])))};
  };
  c.naive = [](std::span<const HostArray> in, Numerics numerics) {
    Naive naive(numerics);
    return Arrays{Naive::array(softmax(naive.tile(in[0])))};
  };
  c.headline = "x " + array_text(dtype, {rows, columns});
  return c;
}

}  // namespace

Kernel softmax_rows_kernel() {
  return {.name = "softmax_rows",
          .summary = "exp(x) / sum of exp(x), row by row",
          .params = {int_param("rows", 1024, "rows", {1, 8, 100, 256}),
                     int_param("columns", 1024, "columns", {1, 100, 128, 500}),
                     int_param("block_rows", 256, "rows in a block", {8, 64, 256}),
                     dtype_param("dtype", DType::f32, {DType::f32, DType::bf16, DType::f16})},
          .make = make,
          .broken = softmax_rows_twins()};
}

}  // namespace tilecheck
