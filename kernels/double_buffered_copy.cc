// Slots go round: while block i is worked on, the loads of the next slots - 1 blocks and the stores of the last
// slots - 1 are in flight. Each slot has a semaphore of its own, so that a wait can tell copies apart: two copies that
// share one would be known to be over only when all their bytes are there.
#include "kernels/double_buffered_copy.h"

#include <algorithm>

#include "harness/format.h"
#include "harness/reference_array.h"
#include "kernels/list.h"
#include "kernels/tiling.h"
#include "kernels/twins.h"
#include "reference/basic.h"

namespace tilecheck {
namespace {

Body body_for(const DoubleBufferedCopy& p) {
  return [p](Core& core, std::span<const Ref> all) {
    const DoubleBufferedCopyRefs refs(p, all);
    const int64_t blocks = p.blocks();
    const auto load = [&](int64_t i) { core.start_copy(refs.x_block(i), refs.x_slot(i), refs.loaded(i)); };
    const auto wait_stored = [&](int64_t i) { core.wait_bytes_of(refs.stored(i), refs.y_block(i)); };

    core.loop(0, std::min(p.slots - 1, blocks), load);
    core.loop(0, blocks, [&](int64_t i) {
      // The slot that this load fills was read in the step before.
      core.when(i + p.slots - 1 < blocks, [&] { load(i + p.slots - 1); });
      core.wait_bytes_of(refs.loaded(i), refs.x_slot(i));
      core.when(i >= p.slots, [&] { wait_stored(i - p.slots); });
      core.store(refs.y_slot(i), maximum(core.load(refs.x_slot(i)) * 2 + 1, 0));
      core.start_copy(refs.y_slot(i), refs.y_block(i), refs.stored(i));
    });
    core.loop(std::max<int64_t>(0, blocks - p.slots), blocks, wait_stored);
  };
}

}  // namespace

DoubleBufferedCopy::DoubleBufferedCopy(const ParamValues& values)
    : dtype(values.dtype("dtype")),
      rows(values.integer("rows")),
      columns(values.integer("columns")),
      block_rows(values.integer("block_rows")),
      slots(values.integer("slots")) {}

DoubleBufferedCopyRefs::DoubleBufferedCopyRefs(const DoubleBufferedCopy& problem, std::span<const Ref> refs)
    : p(problem), x(refs[0]), y(refs[1]), x_slots(refs[2]), y_slots(refs[3]), x_done(refs[4]), y_done(refs[5]) {}

KernelCase double_buffered_copy_case(const DoubleBufferedCopy& p) {
  KernelCase c;
  c.spec.name = "double_buffered_copy";
  c.spec.at = here();
  c.spec.in = {{.name = "x", .dtype = p.dtype, .array = {p.rows, p.columns}, .space = Space::any, .at = here()}};
  c.spec.out = {{.name = "y", .dtype = p.dtype, .array = {p.rows, p.columns}, .space = Space::any, .at = here()}};
  const Shape slots{p.slots, p.block_rows, p.columns};
  c.spec.scratch = {{.name = "x slots", .dtype = p.dtype, .shape = slots},
                    {.name = "y slots", .dtype = p.dtype, .shape = slots},
                    {.name = "loaded", .dtype = DType::dma_semaphore, .shape = {p.slots}, .space = Space::semaphore},
                    {.name = "stored", .dtype = DType::dma_semaphore, .shape = {p.slots}, .space = Space::semaphore}};
  c.body = body_for(p);
  c.reference = [](std::span<const HostArray> in) {
    return Arrays{from_reference(reference::relu_2x_plus_1(to_reference(in[0])))};
  };
  c.headline = "x " + array_text(p.dtype, {p.rows, p.columns});
  return c;
}

Kernel double_buffered_copy_kernel() {
  return {.name = "double_buffered_copy",
          .summary = "max(2x + 1, 0) of a matrix in HBM: loads, work and stores overlap by hand-made copies",
          .params = {int_param("rows", 1000, "rows", {1, 8, 64, 100}),
                     int_param("columns", 512, "columns", {128, 200, 256}),
                     int_param("block_rows", 128, "rows in a block", {8, 16, 64}),
                     int_param("slots", 2, "blocks of x, and of y, that VMEM holds", {2, 1, 3}),
                     dtype_param("dtype", DType::f32, {DType::f32, DType::bf16, DType::f16, DType::i32})},
          .make = [](const ParamValues& values) { return double_buffered_copy_case(DoubleBufferedCopy(values)); },
          .broken = double_buffered_copy_twins()};
}

}  // namespace tilecheck
