// Legal kernels that JAX's interpreters refuse, or get wrong: right here, and silent.
#include <map>

#include "kernels/tiling.h"
#include "tests/unit/kernels/run_kernel.h"

namespace tilecheck::testing_kernels {
namespace {

using Refs = std::span<const Ref>;
using Reference = std::function<double(const HostArray& x, int64_t element)>;

Window whole(const char* name, DType dtype, const Shape& shape, Space space = Space::vmem) {
  return {.name = name, .dtype = dtype, .array = shape, .space = space, .at = here()};
}
Scratch semaphores(const char* name, DType dtype, const Shape& shape = {}) {
  return {.name = name, .dtype = dtype, .shape = shape, .space = Space::semaphore};
}

KernelCase one_to_one(const char* name, const Window& x, const Window& y, const Body& body, const Reference& expected) {
  KernelCase c;
  c.spec.name = name;
  c.spec.at = here();
  c.spec.in = {x};
  c.spec.out = {y};
  c.body = body;
  c.reference = [shape = y.array, expected](std::span<const HostArray> in) {
    HostArray result(DType::f64, shape);
    for (int64_t i = 0; i < result.size(); ++i) result.set(i, expected(in[0], i));
    return Arrays{result};
  };
  return c;
}

void expect_right(const KernelCase& c) { expect_clean(run(c, {.analyse_fit = false}).outcome); }

// JAX's TPU interpreter raises AttributeError.
TEST(JaxLegal, AReshapedRefIsRead) {
  const auto body = [](Core& core, Refs r) { core.store(r[1], core.load(r[0].reshaped({16, 128}))); };
  expect_right(one_to_one("reshaped", whole("x", DType::f32, {2, 8, 128}), whole("y", DType::f32, {16, 128}), body,
                          [](const HostArray& x, int64_t i) { return x.at(i); }));
}

// The same. Rows 2r and 2r + 1 are the low and the high half of the words of row r.
TEST(JaxLegal, ABitcastRefIsRead) {
  const auto body = [](Core& core, Refs r) {
    core.store(r[1].bitcast(DType::i32), core.load(r[0].bitcast(DType::i32)));
  };
  expect_right(one_to_one("bitcast", whole("x", DType::bf16, {16, 128}), whole("y", DType::bf16, {16, 128}), body,
                          [](const HostArray& x, int64_t i) { return x.at(i); }));
}

// JAX's TPU interpreter says out of bounds: it takes the first dimension's extent for all of them.
TEST(JaxLegal, AMaskedStoreOfABlockWithAShortSecondDimension) {
  const auto body = [](Core& core, Refs r) {
    core.store(r[1], 0);
    core.store(r[1], core.load(r[0]), {.mask = lt(core.iota(DType::i32, {8, 2, 128}, 2), 100)});
  };
  expect_right(one_to_one("masked_store", whole("x", DType::f32, {8, 2, 128}), whole("y", DType::f32, {8, 2, 128}),
                          body, [](const HostArray& x, int64_t i) { return i % 128 < 100 ? x.at(i) : 0; }));
}

// JAX: not implemented in the interpreter.
TEST(JaxLegal, ASemaphoreIsRead) {
  KernelCase c = one_to_one(
      "semaphore_read", whole("x", DType::i32, {8, 128}), whole("y", DType::i32, {8, 128}),
      [](Core& core, Refs r) {
        core.signal(r[2], 3);
        const int64_t count = core.read(r[2]);
        core.wait(r[2], 3);
        core.store(r[1], core.load(r[0]) + static_cast<double>(count));
      },
      [](const HostArray& x, int64_t i) { return x.at(i) + 3; });
  c.spec.scratch = {semaphores("sem", DType::semaphore)};
  expect_right(c);
}

// JAX's TPU interpreter raises IndexError on the last window. Rows beyond the array are undefined, and selected away.
TEST(JaxLegal, AnElementWindowWithPaddingOnBothSides) {
  KernelCase c = one_to_one(
      "padded_windows", whole("x", DType::f32, {32, 128}), whole("y", DType::f32, {32, 128}),
      [](Core& core, Refs r) {
        const int64_t step = core.program_id(0);
        const Tile x = core.load(r[0]);
        const Tile row = core.iota(DType::i32, {10, 1}, 0) + static_cast<double>(8 * step - 1);
        const Tile inside = ge(row, 0) & lt(row, 32);
        const Tile known = keep_where(inside, x, 0);
        const Tile above = slice(known, {0, 0}, {8, 128}), below = slice(known, {2, 0}, {8, 128});
        core.store(r[1], above + below);
      },
      [](const HostArray& x, int64_t i) {
        const double above = i >= 128 ? x.at(i - 128) : 0;
        const double below = i + 128 < x.size() ? x.at(i + 128) : 0;
        return static_cast<double>(static_cast<float>(above + below));
      });
  c.spec.grid = {4};
  c.spec.in[0].block = {BlockDim::element(10, 1, 1), 128};
  c.spec.in[0].index = [](Index i) { return Indices{i * 8, 0}; };
  c.spec.out[0].block = {8, 128};
  c.spec.out[0].index = [](Index i) { return Indices{i, 0}; };
  expect_right(c);
}

// JAX: not implemented (empty_ref). Scoped memory is nobody's before it is written.
TEST(JaxLegal, MemoryIsAllocatedInsideAKernel) {
  expect_right(one_to_one(
      "empty_ref", whole("x", DType::f32, {8, 128}), whole("y", DType::f32, {8, 128}),
      [](Core& core, Refs r) {
        const Scratch empty{.name = "empty", .shape = {8, 128}};
        core.scope(std::span(&empty, 1), [&](Refs scoped) {
          core.store(scoped[0], core.load(r[0]));
          core.store(r[1], core.load(scoped[0]));
        });
      },
      [](const HostArray& x, int64_t i) { return x.at(i); }));
}

// JAX: the verifier of XLA's CPU compiler refuses it.
TEST(JaxLegal, AProductOfFourBitIntegers) {
  KernelCase c = one_to_one(
      "int4_matmul", whole("x", DType::i4, {16, 16}), whole("y", DType::i32, {16, 16}),
      [](Core& core, Refs r) {
        const Tile x = core.load(r[0]);
        core.store(r[1], matmul(x, x, DotDims::transposed_rhs(), core.full(DType::i32, {16, 16}, 0)));
      },
      [](const HostArray& x, int64_t i) {
        double sum = 0;
        for (int64_t k = 0; k < 16; ++k) sum += x.at(i / 16 * 16 + k) * x.at(i % 16 * 16 + k);
        return sum;
      });
  c.hints = {{.int_low = -8, .int_high = 8}};
  expect_right(c);
}

// JAX's HLO interpreter raises TypeError.
TEST(JaxLegal, AnInnerPipelineOverAnExtentThatBlocksDoNotDivide) {
  expect_clean(run_kernel("nested_pipeline", parse_set("m=20 n=300 k=100 block_m=8 block_n=128 block_k=32")).outcome);
}

// JAX's own all_gather of 4 devices, which its TPU interpreter gets wrong: each message waits for the one before to
// have left, and all arrive on one semaphore. Right wherever messages between two devices keep their order; a warning
// says that this is what it relies on.
TEST(JaxLegal, AnAllGatherWhoseMessagesShareASemaphoreIsRightAndWarnedOf) {
  constexpr int kDevices = 4;
  KernelCase c;
  c.spec.name = "all_gather_on_one_semaphore";
  c.spec.at = here();
  c.spec.in = {whole("x", DType::f32, {8, 128}, Space::any)};
  c.spec.out = {whole("y", DType::f32, {8 * kDevices, 128}, Space::any)};
  c.spec.scratch = {semaphores("sent", DType::dma_semaphore), semaphores("received", DType::dma_semaphore)};
  c.spec.collective_id = 0;
  c.spec.has_communication = true;
  c.devices = kDevices;
  c.body = [](Core& core, Refs r) {
    const int me = core.device_id(), right = (me + 1) % kDevices, left = (me + kDevices - 1) % kDevices;
    const Ref barrier = core.barrier_semaphore();
    for (const int neighbour : {left, right}) core.signal(barrier, 1, {.device = neighbour});
    core.wait(barrier, 2);
    const auto part = [&](int device) { return r[1]({ds(8 * device, 8)}); };
    core.sync_copy(r[0], part(me));
    for (int hop = 0; hop < kDevices - 1; ++hop) {
      const Ref mine = part((me - hop + kDevices) % kDevices);
      core.wait(core.start_remote_copy(mine, mine, r[2], r[3], {.device = right}));
    }
  };
  c.device_reference = [](std::span<const Arrays> in) {
    HostArray all(DType::f64, {8 * kDevices, 128});
    for (int d = 0; d < kDevices; ++d)
      for (int64_t i = 0; i < 1024; ++i) all.set(1024 * d + i, in[static_cast<size_t>(d)][0].at(i));
    return std::vector<Arrays>(kDevices, Arrays{all});
  };
  for (const char* schedule : {"lazy", "eager", "lifo", "torn", "random:1", "random:2", "pct:1:3"}) {
    RunOptions options;
    options.analyse_fit = false;
    options.launch.sync.schedule = parse_schedule(schedule);
    const Outcome o = run(c, options).outcome;
    EXPECT_FALSE(o.report.findings.empty());
    for (const Finding& f : o.report.findings) EXPECT_EQ(f.kind, Kind::relies_on_message_order) << describe(o);
    for (const ResultOutcome& result : o.results) EXPECT_TRUE(result.comparison->pass()) << schedule;
  }
}

// JAX's TPU interpreter hangs where a kernel signals a core that does not run.
TEST(JaxLegal, AKernelThatNeedsASecondCoreSaysSo) {
  KernelCase c = one_to_one(
      "two_cores", whole("x", DType::f32, {8, 128}), whole("y", DType::f32, {8, 128}),
      [](Core& core, Refs r) {
        core.signal(r[2], 1, {.core = 1 - core.core_index()});
        core.wait(r[2]);
        core.store(r[1], core.load(r[0]));
      },
      [](const HostArray& x, int64_t i) { return x.at(i); });
  c.spec.scratch = {semaphores("sem", DType::semaphore)};
  const Outcome alone = run(c, {.analyse_fit = false}).outcome;
  EXPECT_EQ(alone.report.findings.at(0).kind, Kind::collective_mismatch) << describe(alone);
  c.cores = 2;
  expect_right(c);
}

// JAX's HLO interpreter refuses it: four devices as a 2 by 2 mesh, where each row's devices exchange their arrays.
TEST(JaxLegal, DevicesOfATwoDimensionalMesh) {
  KernelCase c;
  c.spec.name = "rows_of_a_mesh";
  c.spec.at = here();
  c.spec.in = {whole("x", DType::f32, {8, 128}, Space::any)};
  c.spec.out = {whole("y", DType::f32, {8, 128}, Space::any)};
  c.spec.scratch = {semaphores("sent", DType::dma_semaphore), semaphores("received", DType::dma_semaphore)};
  c.spec.collective_id = 0;
  c.spec.has_communication = true;
  c.devices = 4;
  c.mesh = {2, 2};
  c.body = [](Core& core, Refs r) {
    const int row = core.device_id() / 2, column = core.device_id() % 2, other = 2 * row + 1 - column;
    core.signal(core.barrier_semaphore(), 1, {.device = other});
    core.wait(core.barrier_semaphore());
    core.wait(core.start_remote_copy(r[0], r[1], r[2], r[3], {.device = other}));
  };
  c.device_reference = [](std::span<const Arrays> in) {
    std::vector<Arrays> all;
    for (size_t d = 0; d < 4; ++d) all.push_back({in[d ^ 1][0].convert(DType::f64)});
    return all;
  };
  expect_right(c);
}

// In JAX an earlier kernel that raised makes the next ones raise.
TEST(JaxLegal, ABrokenKernelDoesNotSpoilTheNext) {
  const Set set = parse_set("devices=3 rows=8 chunk_rows=2");
  EXPECT_FALSE(run_kernel("all_gather/ends_early", {}).outcome.report.findings.empty());
  expect_clean(run_kernel("all_gather", set).outcome);
}

}  // namespace
}  // namespace tilecheck::testing_kernels
