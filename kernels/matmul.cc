// The product of two matrices with the contracted axis innermost in the grid.
//
// Grid (m blocks, n blocks, k blocks): while k runs, the output block stays in VMEM and its sum in an f32 scratch
// accumulator, so each output element is rounded to its own type once, at the end. a is read once per n block and b
// once per m block: larger block_m and block_n cut HBM traffic, block_k only the number of steps.
//
// Where block_k does not divide k, the last block of a and b reaches beyond the arrays. What stands there is undefined,
// and 0 times undefined is undefined too (on the chip it may be NaN), so both sides are masked. Rows beyond m and
// columns beyond n need no mask: they only reach output elements that are never written back.
#include "harness/format.h"
#include "harness/reference_array.h"
#include "kernels/list.h"
#include "kernels/naive.h"
#include "kernels/tiling.h"
#include "kernels/twins.h"
#include "reference/basic.h"

namespace tilecheck {
namespace {

Body body_for(int64_t k, int64_t block_k) {
  return [=](Core& core, std::span<const Ref> refs) {
    const Ref &a = refs[0], &b = refs[1], &c = refs[2], &sum = refs[3];
    const int64_t step = core.program_id(2), last = core.num_programs(2) - 1;
    core.when(step == 0, [&] { core.store(sum, 0); });

    Tile a_tile = core.load(a), b_tile = core.load(b);
    if (k % block_k != 0) {
      const int64_t left = k - step * block_k;  // at least block_k in all steps but the last
      a_tile = keep_where(first_columns(core, block_k, left), a_tile, 0);
      b_tile = keep_where(first_rows(core, block_k, left), b_tile, 0);
    }
    core.store(sum, matmul(a_tile, b_tile, DotDims::plain(), core.load(sum)));

    core.when(step == last, [&] { core.store(c, convert(core.load(sum), c.dtype)); });
  };
}

KernelCase make(const ParamValues& params) {
  const int64_t m = params.integer("m"), n = params.integer("n"), k = params.integer("k");
  const int64_t block_m = params.integer("block_m"), block_n = params.integer("block_n");
  const int64_t block_k = params.integer("block_k");
  const DType dtype = params.dtype("dtype");
  const DType sum_dtype = is_floating(dtype) ? DType::f32 : DType::i32;
  const DType result_dtype = is_floating(dtype) ? dtype : DType::i32;

  KernelCase c;
  c.spec.name = "matmul";
  c.spec.at = here();
  c.spec.grid = {block_count(m, block_m), block_count(n, block_n), block_count(k, block_k)};
  c.spec.semantics = {Semantics::parallel, Semantics::parallel, Semantics::arbitrary};
  c.spec.in = {{.name = "a",
                .dtype = dtype,
                .array = {m, k},
                .block = {block_m, block_k},
                .index =
                    [](Index i, Index, Index p) {
                      return Indices{i, p};
                    },
                .at = here()},
               {.name = "b",
                .dtype = dtype,
                .array = {k, n},
                .block = {block_k, block_n},
                .index =
                    [](Index, Index j, Index p) {
                      return Indices{p, j};
                    },
                .at = here()}};
  c.spec.out = {{.name = "c",
                 .dtype = result_dtype,
                 .array = {m, n},
                 .block = {block_m, block_n},
                 .index =
                     [](Index i, Index j, Index) {
                       return Indices{i, j};
                     },
                 .at = here()}};
  c.spec.scratch = {{.name = "sum", .dtype = sum_dtype, .shape = {block_m, block_n}}};
  c.body = body_for(k, block_k);
  c.hints.assign(2, {.int_low = -8, .int_high = 8});
  c.reference = [](std::span<const HostArray> in) {
    return Arrays{from_reference(reference::matmul(to_reference(in[0]), to_reference(in[1])))};
  };
  c.naive = [result_dtype](std::span<const HostArray> in, Numerics numerics) {
    Naive naive(numerics);
    return Arrays{Naive::array(convert(matmul(naive.tile(in[0]), naive.tile(in[1])), result_dtype))};
  };
  c.headline = "a " + array_text(dtype, {m, k}) + ", b " + array_text(dtype, {k, n});
  return c;
}

}  // namespace

Kernel matmul_kernel() {
  return {.name = "matmul",
          .summary = "a(m, k) times b(k, n), accumulated in f32 (integers: i32)",
          .params = {int_param("m", 512, "rows of a", {1, 8, 100, 256}),
                     int_param("n", 512, "columns of b", {1, 100, 128, 256}),
                     int_param("k", 1024, "columns of a, rows of b", {1, 100, 128, 300}),
                     int_param("block_m", 256, "rows of a block of a", {8, 64, 128}),
                     int_param("block_n", 256, "columns of a block of b", {32, 128}),
                     int_param("block_k", 256, "contracted elements in a block", {16, 64, 128}),
                     dtype_param("dtype", DType::f32, {DType::f32, DType::bf16, DType::f16, DType::i8},
                                 "element type of a and b; of c too, but i32 for integers")},
          .make = make,
          .broken = matmul_twins()};
}

}  // namespace tilecheck
