// Layer normalisation of each row of a matrix: zero mean, unit variance, then a learned scale and shift.
//
// As in softmax_rows a block holds whole rows. gamma and beta have one index map value for all steps: the pipeline
// fetches them once and gives them one slot, not two. The variance is the mean square of x - mean, not the mean of
// squares less the squared mean: the latter cancels when the mean is large.
#include "harness/format.h"
#include "harness/reference_array.h"
#include "kernels/list.h"
#include "kernels/naive.h"
#include "kernels/tiling.h"
#include "kernels/twins.h"
#include "reference/basic.h"
#include "sim/types/error.h"

namespace tilecheck {
namespace {

Tile layer_norm(const Tile& x, const Tile& gamma, const Tile& beta, double epsilon) {
  const double columns = static_cast<double>(x.shape()[1]);
  const Tile centred = x - reduce_sum(x, {1}, true) / columns;
  const Tile variance = reduce_sum(centred * centred, {1}, true) / columns;
  return centred * rsqrt(variance + epsilon) * gamma + beta;
}

Body body_for(double epsilon) {
  return [=](Core& core, std::span<const Ref> refs) {
    const auto load = [&](const Ref& ref) { return convert(core.load(ref), DType::f32); };
    const Ref &x = refs[0], &gamma = refs[1], &beta = refs[2], &y = refs[3];
    core.store(y, convert(layer_norm(load(x), load(gamma), load(beta), epsilon), y.dtype));
  };
}

KernelCase make(const ParamValues& params) {
  const int64_t rows = params.integer("rows"), columns = params.integer("columns");
  const int64_t block_rows = params.integer("block_rows");
  const double epsilon = params.number("epsilon");
  if (epsilon < 0) throw InputError("--set epsilon", "expected a number of at least 0");
  const DType dtype = params.dtype("dtype");
  const auto rows_window = [&](const char* name, Loc at) {
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
  const auto column_window = [&](const char* name, Loc at) {
    return Window{.name = name,
                  .dtype = dtype,
                  .array = {1, columns},
                  .block = {1, columns},
                  .index =
                      [](Index) {
                        return Indices{0, 0};
                      },
                  .at = at};
  };

  KernelCase c;
  c.spec.name = "layer_norm";
  c.spec.at = here();
  c.spec.grid = {block_count(rows, block_rows)};
  c.spec.semantics = {Semantics::parallel};
  c.spec.in = {rows_window("x", here()), column_window("gamma", here()), column_window("beta", here())};
  c.spec.out = {rows_window("y", here())};
  c.body = body_for(epsilon);
  c.hints = {{.low = -2, .high = 4}, {.low = 0.5, .high = 1.5}, {}};
  c.is_inexact_on_integers = true;
  c.reference = [epsilon](std::span<const HostArray> in) {
    const auto row = [](const HostArray& array) {
      return reference::Array({array.size()}, to_reference(array).values);
    };
    return Arrays{from_reference(reference::layer_norm(to_reference(in[0]), row(in[1]), row(in[2]), epsilon))};
  };
  c.naive = [epsilon](std::span<const HostArray> in, Numerics numerics) {
    Naive naive(numerics);
    return Arrays{Naive::array(layer_norm(naive.tile(in[0]), naive.tile(in[1]), naive.tile(in[2]), epsilon))};
  };
  c.headline = "x " + array_text(dtype, {rows, columns});
  return c;
}

}  // namespace

Kernel layer_norm_kernel() {
  return {.name = "layer_norm",
          .summary = "(x - mean) / sqrt(variance + epsilon) * gamma + beta, row by row",
          .params = {int_param("rows", 1024, "rows", {1, 8, 100, 256}),
                     int_param("columns", 1024, "columns", {2, 100, 128, 500}),
                     int_param("block_rows", 256, "rows in a block", {8, 64, 256}),
                     number_param("epsilon", 1e-5, "added to the variance", {1e-5, 1e-3}),
                     dtype_param("dtype", DType::f32, {DType::f32, DType::bf16, DType::f16})},
          .make = make,
          .broken = layer_norm_twins()};
}

}  // namespace tilecheck
