// The outer grid has one step for each block of rows of c, and may be shared by cores. Everything stays in HBM: inside,
// a pipeline brings the blocks of a and b and takes away those of c (inner_pipeline.h).
//
// Cores get equal shares of the grid, which has steps without rows where the blocks do not divide: a core without a
// step of its own would take another's, and both would write that block.
//
// Each outer step begins with an empty pipeline and waits for its last stores before its slots' scope ends.
#include "kernels/nested_pipeline.h"

#include <algorithm>

#include "harness/format.h"
#include "harness/reference_array.h"
#include "kernels/list.h"
#include "kernels/naive.h"
#include "kernels/tiling.h"
#include "kernels/twins.h"
#include "reference/basic.h"

namespace tilecheck {

NestedPipeline::NestedPipeline(const ParamValues& values)
    : dtype(values.dtype("dtype")),
      m(values.integer("m")),
      n(values.integer("n")),
      k(values.integer("k")),
      block_m(values.integer("block_m")),
      block_n(values.integer("block_n")),
      block_k(values.integer("block_k")),
      cores(static_cast<int>(values.integer("cores"))) {}

Dims NestedPipeline::inner_grid() const { return {block_count(n, block_n), block_count(k, block_k)}; }

std::vector<InnerWindow> NestedPipeline::windows(int64_t i, std::span<const Ref> refs) const {
  const Slice rows = ds(i * block_m, std::min(block_m, m - i * block_m));
  return {{.array = refs[0]({rows}),
           .block = {block_m, block_k},
           .index =
               [](const Dims& step) {
                 return Dims{0, step[1]};
               }},
          {.array = refs[1],
           .block = {block_k, block_n},
           .index =
               [](const Dims& step) {
                 return Dims{step[1], step[0]};
               }},
          {.array = refs[2]({rows}),
           .block = {block_m, block_n},
           .index =
               [](const Dims& step) {
                 return Dims{0, step[0]};
               },
           .output = true}};
}

void NestedPipeline::work(Core& core, const Dims& step, std::span<const Ref> slots, const Ref& sum) const {
  core.when(step[1] == 0, [&] { core.store(sum, 0); });
  // What lies beyond the arrays is undefined, and would spoil the sum.
  const int64_t left = k - step[1] * block_k;
  Tile a = core.load(slots[0]), b = core.load(slots[1]);
  if (left < block_k) {
    a = keep_where(first_columns(core, block_k, left), std::move(a), 0);
    b = keep_where(first_rows(core, block_k, left), std::move(b), 0);
  }
  core.store(sum, matmul(a, b, DotDims::plain(), core.load(sum)));
  core.when(step[1] == inner_grid()[1] - 1, [&] { core.store(slots[2], convert(core.load(sum), slots[2].dtype)); });
}

KernelCase nested_pipeline_case(const NestedPipeline& p) {
  const auto array = [&](const char* name, const Shape& shape, Loc at) {
    return Window{.name = name, .dtype = p.dtype, .array = shape, .space = Space::any, .at = at};
  };
  KernelCase c;
  c.spec.name = "nested_pipeline";
  c.spec.at = here();
  c.spec.grid = {round_up(block_count(p.m, p.block_m), p.cores)};
  c.spec.semantics = {Semantics::parallel};
  c.spec.in = {array("a", {p.m, p.k}, here()), array("b", {p.k, p.n}, here())};
  c.spec.out = {array("c", {p.m, p.n}, here())};
  c.spec.scratch = {{.name = "sum", .shape = {p.block_m, p.block_n}}};
  c.body = [p](Core& core, std::span<const Ref> refs) {
    const int64_t i = core.program_id(0);
    core.when(i * p.block_m < p.m, [&] {
      inner_pipeline(core, p.inner_grid(), p.windows(i, refs),
                     [&](const Dims& step, std::span<const Ref> slots) { p.work(core, step, slots, refs[3]); });
    });
  };
  c.reference = [](std::span<const HostArray> in) {
    return Arrays{from_reference(reference::matmul(to_reference(in[0]), to_reference(in[1])))};
  };
  c.naive = [dtype = p.dtype](std::span<const HostArray> in, Numerics numerics) {
    Naive naive(numerics);
    return Arrays{Naive::array(convert(matmul(naive.tile(in[0]), naive.tile(in[1])), dtype))};
  };
  c.cores = p.cores;
  c.headline = "a " + array_text(p.dtype, {p.m, p.k}) + ", b " + array_text(p.dtype, {p.k, p.n});
  return c;
}

Kernel nested_pipeline_kernel() {
  Param cores = int_param("cores", 1, "cores of the device, which share the rows", {1, 2});
  cores.max = 2;
  return {.name = "nested_pipeline",
          .summary = "a(m, k) times b(k, n): a pipeline of hand-made copies inside each step of a grid over rows",
          .params = {int_param("m", 256, "rows of a", {32, 1, 100}), int_param("n", 256, "columns of b", {128, 1, 200}),
                     int_param("k", 512, "columns of a, rows of b", {64, 1, 100}),
                     int_param("block_m", 128, "rows of a block of a", {16, 64}),
                     int_param("block_n", 128, "columns of a block of b", {128, 256}),
                     int_param("block_k", 128, "contracted elements in a block", {32, 128}),
                     dtype_param("dtype", DType::f32, {DType::f32, DType::bf16}), cores},
          .make = [](const ParamValues& values) { return nested_pipeline_case(NestedPipeline(values)); },
          .broken = nested_pipeline_twins()};
}

}  // namespace tilecheck
