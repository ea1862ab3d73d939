// Kernels that JAX's interpreters run without a word although they are broken, in C++ (tests/fixtures/defects.py has
// them as payloads), each beside its mended twin. 64 rows of 128 and less.
#include "harness/run.h"
#include "kernels/tiling.h"
#include "tests/unit/kernels/run_kernel.h"

namespace tilecheck::testing_kernels {
namespace {

using Refs = std::span<const Ref>;

struct Defect {
  const char* name;
  Kind kind;
  int64_t x_rows, y_rows;
  Space space;  // of x and y
  std::vector<Scratch> scratch;
  std::function<void(Core&, Refs, bool broken)> body;  // refs: x, y, scratch
  // y's row r of the mended kernel, as a function of x's rows; unset: no result to compare.
  std::function<double(const HostArray& x, int64_t row, int64_t column)> y;
};

Scratch vmem(const Shape& shape) { return {.name = "buf", .shape = shape}; }
Scratch dma(const Shape& shape = {}) {
  return {.name = "sem", .dtype = DType::dma_semaphore, .shape = shape, .space = Space::semaphore};
}
Scratch regular() { return {.name = "sem", .dtype = DType::semaphore, .shape = {}, .space = Space::semaphore}; }

double at(const HostArray& x, int64_t row, int64_t column) { return x.at(row * 128 + column); }
double same_row(const HostArray& x, int64_t row, int64_t column) { return at(x, row, column); }
double second_half(const HostArray& x, int64_t row, int64_t column) { return at(x, row + 8, column); }
Ref eight(const Ref& ref, int64_t i) { return ref({ds(8 * i, 8)}); }

const std::vector<Defect>& ordering_defects() {
  static const std::vector<Defect> all{
      {"a_wait_never_signalled",
       Kind::deadlock,
       8,
       8,
       Space::vmem,
       {regular()},
       [](Core& core, Refs r, bool broken) {
         if (!broken) core.signal(r[2]);
         core.wait(r[2]);
         core.store(r[1], core.load(r[0]));
       },
       same_row},
      {"a2_wait_never_started",
       Kind::wait_without_start,
       8,
       8,
       Space::any,
       {vmem({8, 128}), dma()},
       [](Core& core, Refs r, bool broken) {
         if (!broken) core.start_copy(r[0], r[2], r[3]);
         core.wait_bytes_of(r[3], r[2]);
         core.sync_copy(r[2], r[1]);
       },
       same_row},
      {"b_copy_never_awaited",
       Kind::dma_not_awaited,
       8,
       8,
       Space::any,
       {dma()},
       [](Core& core, Refs r, bool broken) {
         const CopyHandle copy = core.start_copy(r[0], r[1], r[2]);
         if (!broken) core.wait(copy);
       },
       same_row},
      {"c_semaphore_left_at_3",
       Kind::semaphore_not_drained,
       8,
       8,
       Space::vmem,
       {regular()},
       [](Core& core, Refs r, bool broken) {
         core.signal(r[2], 4);
         core.wait(r[2], broken ? 1 : 4);
         core.store(r[1], core.load(r[0]));
       },
       same_row},
      {"d_store_into_outgoing",
       Kind::race,
       16,
       16,
       Space::any,
       {vmem({8, 128}), dma(), vmem({16, 128})},
       [](Core& core, Refs r, bool broken) {
         core.sync_copy(r[0], r[4]);
         for (int64_t t = 0; t < 2; ++t) {
           core.store(r[2], core.load(eight(r[4], t)) + 1);
           const CopyHandle out = core.start_copy(r[2], eight(r[1], t), r[3]);
           if (!broken || t == 1) core.wait(out);
         }
         if (broken) core.wait_bytes_of(r[3], r[2]);
       },
       [](const HostArray& x, int64_t row, int64_t column) {
         return static_cast<double>(static_cast<float>(at(x, row, column)) + 1);
       }},
      {"d2_copy_into_outgoing",
       Kind::race,
       16,
       16,
       Space::any,
       {vmem({8, 128}), dma({2})},
       [](Core& core, Refs r, bool broken) {
         core.sync_copy(eight(r[0], 0), r[2]);
         const CopyHandle first = core.start_copy(r[2], eight(r[1], 0), r[3]({0}));
         if (!broken) core.wait(first);
         core.wait(core.start_copy(eight(r[0], 1), r[2], r[3]({1})));
         if (broken) core.wait(first);
         core.wait(core.start_copy(r[2], eight(r[1], 1), r[3]({0})));
       },
       same_row},
      {"e_read_before_wait",
       Kind::race,
       8,
       8,
       Space::any,
       {vmem({8, 128}), dma(), vmem({8, 128})},
       [](Core& core, Refs r, bool broken) {
         const CopyHandle copy = core.start_copy(r[0], r[2], r[3]);
         if (!broken) core.wait(copy);
         core.store(r[4], core.load(r[2]));
         if (broken) core.wait(copy);
         core.sync_copy(r[4], r[1]);
       },
       same_row},
      {"f_half_awaited",
       Kind::race,
       16,
       16,
       Space::any,
       {vmem({16, 128}), dma(), vmem({16, 128})},
       [](Core& core, Refs r, bool broken) {
         for (int64_t t = 0; t < 2; ++t) core.start_copy(eight(r[0], t), eight(r[2], t), r[3]);
         core.wait_bytes_of(r[3], eight(r[2], 0));
         if (!broken) core.wait_bytes_of(r[3], eight(r[2], 1));
         core.store(r[4], core.load(r[2]));
         if (broken) core.wait_bytes_of(r[3], eight(r[2], 1));
         core.sync_copy(r[4], r[1]);
       },
       same_row},
      {"f2_short_wait",
       Kind::race,
       16,
       16,
       Space::any,
       {vmem({16, 128}), dma(), vmem({16, 128})},
       [](Core& core, Refs r, bool broken) {
         core.start_copy(r[0], r[2], r[3]);
         core.wait_bytes_of(r[3], broken ? eight(r[2], 0) : r[2]);
         core.store(r[4], core.load(r[2]));
         core.sync_copy(r[4], r[1]);
       },
       same_row},
      {"j_two_into_one",
       Kind::race,
       16,
       8,
       Space::any,
       {dma({2})},
       [](Core& core, Refs r, bool broken) {
         const CopyHandle first = core.start_copy(eight(r[0], 0), r[1], r[2]({0}));
         if (!broken) core.wait(first);
         const CopyHandle second = core.start_copy(eight(r[0], 1), r[1], r[2]({1}));
         if (broken) core.wait(first);
         core.wait(second);
       },
       second_half},
      {"j2_two_into_one_awaited_in_the_other_order",
       Kind::race,
       16,
       8,
       Space::any,
       {dma({2})},
       [](Core& core, Refs r, bool broken) {
         const CopyHandle first = core.start_copy(eight(r[0], 0), r[1], r[2]({0}));
         if (!broken) core.wait(first);
         const CopyHandle second = core.start_copy(eight(r[0], 1), r[1], r[2]({1}));
         core.wait(second);
         if (broken) core.wait(first);
       },
       second_half},
      {"j3_store_into_source",
       Kind::race,
       8,
       8,
       Space::any,
       {vmem({8, 128}), dma()},
       [](Core& core, Refs r, bool broken) {
         core.sync_copy(r[0], r[2]);
         const CopyHandle out = core.start_copy(r[2], r[1], r[3]);
         if (!broken) core.wait(out);
         core.store(r[2], 0);
         if (broken) core.wait(out);
       },
       same_row},
  };
  return all;
}

const std::vector<Defect>& memory_defects() {
  static const std::vector<Defect> all{
      {"g_read_negative_row",
       Kind::out_of_bounds_read,
       64,
       8,
       Space::vmem,
       {},
       [](Core& core, Refs r, bool broken) { core.store(r[1], core.load(r[0]({ds(broken ? -3 : 0, 8)}))); },
       same_row},
      {"g2_copy_negative_row",
       Kind::out_of_bounds_read,
       64,
       8,
       Space::any,
       {},
       [](Core& core, Refs r, bool broken) { core.sync_copy(r[0]({ds(broken ? -3 : 0, 8)}), r[1]); },
       same_row},
      {"g3_read_past_end",
       Kind::out_of_bounds_read,
       64,
       8,
       Space::vmem,
       {},
       [](Core& core, Refs r, bool broken) { core.store(r[1], core.load(r[0]({ds(broken ? 60 : 8, 8)}))); },
       second_half},
      {"g4_store_past_end",
       Kind::out_of_bounds_write,
       64,
       64,
       Space::vmem,
       {},
       [](Core& core, Refs r, bool broken) {
         core.store(r[1], core.load(r[0]));
         core.store(r[1]({ds(broken ? 60 : 56, 8)}), core.load(eight(r[0], 7)));
       },
       same_row},
      {"m_unwritten_scratch",
       Kind::undefined_output,
       8,
       8,
       Space::vmem,
       {vmem({8, 128})},
       [](Core& core, Refs r, bool broken) {
         if (!broken) core.store(r[2], 0);
         core.store(r[2], core.load(r[0]), {.add = true});
         core.store(r[1], core.load(r[2]));
       },
       same_row},
  };
  return all;
}

KernelCase case_of(const Defect& d, bool broken) {
  KernelCase c;
  c.spec.name = d.name;
  c.spec.at = here();
  c.spec.in = {{.name = "x", .array = {d.x_rows, 128}, .space = d.space, .at = here()}};
  c.spec.out = {{.name = "y", .array = {d.y_rows, 128}, .space = d.space, .at = here()}};
  c.spec.scratch = d.scratch;
  c.body = [body = d.body, broken](Core& core, Refs refs) { body(core, refs, broken); };
  c.reference = [y = d.y, rows = d.y_rows](std::span<const HostArray> in) {
    HostArray result(DType::f64, {rows, 128});
    for (int64_t i = 0; i < result.size(); ++i) result.set(i, y(in[0], i / 128, i % 128));
    return Arrays{result};
  };
  c.rules = {{.bit_equal = true}};
  return c;
}

bool has(const Outcome& o, Kind kind) {
  return std::ranges::any_of(o.report.findings, [&](const Finding& f) { return f.kind == kind; });
}

void expect_named_and_mended(const Defect& d, const char* schedule) {
  SCOPED_TRACE(std::string(d.name) + " " + schedule);
  RunOptions options;
  options.analyse_fit = false;
  options.launch.sync.schedule = parse_schedule(schedule);
  const Outcome broken = run(case_of(d, true), options).outcome;
  EXPECT_TRUE(has(broken, d.kind)) << describe(broken);
  expect_clean(run(case_of(d, false), options).outcome);
}

TEST(JaxDefects, OrderingDefectsAreNamedUnderEverySchedule) {
  for (const Defect& d : ordering_defects())
    for (const char* schedule : {"lazy", "eager", "lifo", "torn", "random:3", "pct:3:2"})
      expect_named_and_mended(d, schedule);
}

TEST(JaxDefects, MemoryDefectsAreNamed) {
  for (const Defect& d : memory_defects()) expect_named_and_mended(d, "lazy");
}

// f2 leaves bytes on its semaphore, too.
TEST(JaxDefects, AShortWaitLeavesBytesOnItsSemaphore) {
  const auto& all = ordering_defects();
  const auto f2 = std::ranges::find_if(all, [](const Defect& d) { return std::string(d.name) == "f2_short_wait"; });
  EXPECT_TRUE(has(run(case_of(*f2, true), {.analyse_fit = false}).outcome, Kind::semaphore_not_drained));
}

// h: 10 GiB of scratch, on a chip with 128 MiB.
TEST(JaxDefects, ScratchBeyondVmemIsRefused) {
  for (const bool broken : {true, false}) {
    const Defect d{"h_too_much_vmem",
                   Kind::vmem_overflow,
                   8,
                   8,
                   Space::vmem,
                   {vmem({broken ? 20 * 1024 * 1024 : 16, 128})},
                   [](Core& core, Refs r, bool) {
                     core.store(eight(r[2], 0), core.load(r[0]));
                     core.store(r[1], core.load(eight(r[2], 0)));
                   },
                   same_row};
    const Outcome o = run(case_of(d, broken)).outcome;
    EXPECT_EQ(has(o, Kind::vmem_overflow), broken) << describe(o);
    EXPECT_EQ(o.ran, !broken);
  }
}

// i: JAX's lowering refuses the block, its interpreters do not.
TEST(JaxDefects, BlocksThatAreNoWholeTilesAreRefused) {
  for (const bool broken : {true, false}) {
    KernelCase c;
    const BlockShape block = broken ? BlockShape{7, 100} : BlockShape{8, 128};
    c.spec.name = "i_blocks_of_7_by_100";
    c.spec.grid = broken ? Dims{3, 3} : Dims{3, 3};
    const IndexMap map = [](Index i, Index j) { return Indices{i, j}; };
    c.spec.in = {{.name = "x", .array = {21, 300}, .block = block, .index = map}};
    c.spec.out = {{.name = "y", .array = {21, 300}, .block = block, .index = map}};
    c.body = [](Core& core, Refs r) { core.store(r[1], core.load(r[0])); };
    c.reference = [](std::span<const HostArray> in) { return Arrays{in[0].convert(DType::f64)}; };
    const Outcome o = run(c).outcome;
    EXPECT_EQ(has(o, Kind::block_shape), broken) << describe(o);
    EXPECT_TRUE(o.results[0].comparison->pass());
  }
}

// n: the last block that is written wins, and which that is nobody says.
TEST(JaxDefects, AParallelDimensionThatSharesABlockDependsOnItsOrder) {
  for (const bool broken : {true, false}) {
    KernelCase c;
    c.spec.name = "n_parallel_steps_share_block";
    c.spec.grid = {4};
    c.spec.semantics = {broken ? Semantics::parallel : Semantics::arbitrary};
    c.spec.in = {{.name = "x", .array = {32, 128}, .block = {8, 128}, .index = [](Index i) { return Indices{i, 0}; }}};
    c.spec.out = {{.name = "y", .array = {8, 128}, .block = {8, 128}, .index = [](Index) { return Indices{0, 0}; }}};
    c.body = [](Core& core, Refs r) { core.store(r[1], core.load(r[0])); };
    const Outcome o = run(c).outcome;
    EXPECT_EQ(has(o, Kind::parallel_order_dependent), broken) << describe(o);
  }
}

// i2 is only odd: a copy of 3 rows from row 5 on, 50 columns from column 7 on. The bytes it moves are what it says; the
// C++ door has no compiler that could refuse it, so the copy is made, and made right.
TEST(JaxDefects, AnUnalignedCopyMovesWhatItSays) {
  KernelCase c;
  c.spec.name = "i2_unaligned_copy";
  c.spec.in = {{.name = "x", .array = {16, 128}, .space = Space::any}};
  c.spec.out = {{.name = "y", .array = {3, 50}, .space = Space::any}};
  c.body = [](Core& core, Refs r) { core.sync_copy(r[0]({ds(5, 3), ds(7, 50)}), r[1]); };
  c.reference = [](std::span<const HostArray> in) {
    HostArray y(DType::f64, {3, 50});
    for (int64_t i = 0; i < y.size(); ++i) y.set(i, at(in[0], 5 + i / 50, 7 + i % 50));
    return Arrays{y};
  };
  const Outcome o = run(c, {.analyse_fit = false}).outcome;
  expect_clean(o);
}

}  // namespace
}  // namespace tilecheck::testing_kernels
