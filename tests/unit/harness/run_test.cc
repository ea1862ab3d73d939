#include "harness/run.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "harness/definedness.h"
#include "harness/matchers.h"
#include "harness/twins.h"
#include "sim/io/npy.h"
#include "sim/types/error.h"

namespace tilecheck {
namespace {

using testing::HasSubstr;
using testing::Not;

// y = x + 1 in blocks of 8 rows; `rows` of each block are stored.
KernelCase increment(int64_t rows, int64_t n = 16, DType dtype = DType::f32) {
  KernelCase c;
  c.spec.name = "increment";
  c.spec.grid = {(n + 7) / 8};
  const auto window = [&](const char* name) {
    return Window{.name = name, .dtype = dtype, .array = {n, 128}, .block = {8, 128}, .index = [](Index i) {
                    return Indices{i, 0};
                  }};
  };
  c.spec.in = {window("x")};
  c.spec.out = {window("y")};
  c.body = [rows](Core& core, std::span<const Ref> refs) {
    const Tile sum = core.load(refs[0].at({ds(0, rows), all()})) + 1.0;
    core.store(refs[1].at({ds(0, rows), all()}), sum);
  };
  c.reference = [](std::span<const HostArray> in) {
    HostArray y(DType::f64, in[0].shape());
    for (int64_t i = 0; i < y.size(); ++i) y.set(i, in[0].at(i) + 1);
    return Arrays{y};
  };
  return c;
}

Kernel increment_kernel() {
  return {.name = "increment",
          .summary = "x + 1",
          .params = {int_param("n", 16, "rows", {16, 20}), dtype_param("dtype", DType::f32, {DType::f32, DType::bf16})},
          .make = [](const ParamValues& v) { return increment(8, v.integer("n"), v.dtype("dtype")); },
          .broken = {{.name = "half_written",
                      .what = "stores half of each block",
                      .kind = Kind::undefined_output,
                      .set = {{"n", "32"}},
                      .make = [](const ParamValues& v) { return increment(4, v.integer("n"), v.dtype("dtype")); }},
                     {.name = "not_broken",
                      .what = "is said to race, and does not",
                      .kind = Kind::race,
                      .make = [](const ParamValues& v) { return increment(8, v.integer("n"), v.dtype("dtype")); }}}};
}

class Runs : public testing::Test {
 protected:
  Runs() {
    if (!is_kernel_name("increment")) add_kernel(increment_kernel());
  }
};

TEST_F(Runs, MatchersTellRightFromWrong) {
  EXPECT_THAT(run(increment(8)), IsClean());
  EXPECT_THAT(run(increment(8)), IsSilent());
  const RunResult half = run(increment(4));
  EXPECT_THAT(half, Not(IsClean()));
  EXPECT_THAT(half, HasFinding(Kind::undefined_output));
  EXPECT_THAT(half, Not(HasFinding(Kind::race)));
  EXPECT_THAT(half, Not(IsIncomplete()));
  EXPECT_THAT(testing::PrintToString(half), HasSubstr("undefined-output"));
}

TEST_F(Runs, GivenOperandsAreUsedAndChecked) {
  const KernelCase c = increment(8);
  HostArray x(DType::f32, {16, 128});
  for (int64_t i = 0; i < x.size(); ++i) x.set(i, static_cast<double>(i));
  const RunResult r = run(c.spec, c.body, Arrays{x});
  ASSERT_EQ(r.devices.size(), 1u);
  for (int64_t i = 0; i < x.size(); ++i) ASSERT_EQ(r.devices[0].out[0].at(i), static_cast<double>(i) + 1);
  EXPECT_FALSE(r.outcome.results[0].comparison);
  EXPECT_THROW(run(c.spec, c.body, Arrays{HostArray(DType::f32, {16, 64})}), InputError);
  EXPECT_THROW(run(c.spec, c.body, Arrays{HostArray(DType::i32, {16, 128})}), InputError);
  EXPECT_THROW(run(c.spec, c.body, Arrays{}), InputError);
}

TEST_F(Runs, WorstElementNamesTheStepThatWroteIt) {
  KernelCase c = increment(8);
  c.body = [](Core& core, std::span<const Ref> refs) {
    core.store(refs[1], core.load(refs[0]) + (core.program_id(0) == 1 ? 2.0 : 1.0));
  };
  const RunResult r = run(c);
  EXPECT_THAT(r, HasFinding(Kind::result_mismatch));
  EXPECT_EQ(r.outcome.results[0].worst_step, (Dims{1}));
  EXPECT_GE(r.outcome.results[0].comparison->worst[0], 8);
}

TEST_F(Runs, AllZeroComparisonIsNoPass) {
  KernelCase c = increment(8);
  c.body = [](Core& core, std::span<const Ref> refs) { core.store(refs[1], core.load(refs[0])); };
  c.reference = [](std::span<const HostArray> in) { return Arrays{HostArray(DType::f64, in[0].shape())}; };
  RunOptions zeros;
  zeros.fill = FillKind::zeros;
  EXPECT_THAT(run(c, zeros), HasFinding(Kind::nothing_compared));
  EXPECT_THAT(run(c, zeros), Not(IsClean()));
}

TEST_F(Runs, ExpectedFilesOfNoResultAreRefused) {
  RunOptions options;
  options.expect[{1, 0}] = "absent.npy";
  EXPECT_THROW(run(increment(8), options), InputError);
}

TEST_F(Runs, DerivedOperandsFollowTheOthersWhateverTheFill) {
  KernelCase c = increment(8);
  c.spec.in.push_back(c.spec.in[0]);
  c.spec.in[1].name = "twice x";
  c.hints.resize(2);
  c.hints[1].derived = [](std::span<const HostArray> in) {
    HostArray twice(in[0].dtype(), in[0].shape());
    for (int64_t i = 0; i < twice.size(); ++i) twice.set(i, 2 * in[0].at(i));
    return twice;
  };
  c.body = [](Core& core, std::span<const Ref> refs) {
    core.store(refs[2], core.load(refs[1]) - core.load(refs[0]) + 1.0);
  };
  RunOptions options;
  options.fill = FillKind::integers;
  EXPECT_THAT(run(c, options), IsClean());
}

TEST_F(Runs, FilesInAndOut) {
  const std::filesystem::path dir = std::filesystem::path(testing::TempDir()) / "tilecheck_run_test";
  std::filesystem::remove_all(dir);
  std::filesystem::create_directories(dir);
  HostArray x(DType::bf16, {20, 128});
  for (int64_t i = 0; i < x.size(); ++i) x.set(i, static_cast<double>(i % 17) - 8);
  write_npy((dir / "x.npy").string(), x);
  const std::map<std::string, std::string> set{{"n", "20"}, {"dtype", "bf16"}};
  RunOptions options;
  options.in["x"] = (dir / "x.npy").string();
  const RunResult r = run("increment", set, options);
  EXPECT_THAT(r, IsClean());
  write_results((dir / "out").string(), r.devices);
  const HostArray y = read_npy((dir / "out" / "result_0.npy").string(), DType::bf16);
  ASSERT_EQ(y.shape(), x.shape());
  for (int64_t i = 0; i < y.size(); ++i) ASSERT_EQ(y.at(i), x.at(i) + 1) << i;
  // The same by number; a wrong shape, a wrong type and a wrong name are refused.
  EXPECT_THAT(run("increment", set, {.in = {{"0", (dir / "x.npy").string()}}}), IsClean());
  EXPECT_THROW(run("increment", {{"n", "19"}, {"dtype", "bf16"}}, options), InputError);
  EXPECT_THROW(run("increment", {{"n", "20"}}, options), InputError);
  EXPECT_THROW(run("increment", set, {.in = {{"z", "x.npy"}}}), InputError);
  // Read as what it is, it is converted.
  options.dtypes["x"] = DType::bf16;
  const RunResult widened = run("increment", {{"n", "20"}}, options);
  EXPECT_THAT(widened, IsClean());
  EXPECT_TRUE(widened.outcome.warnings.empty());
  // The other way some values are lost, which is said.
  HostArray fine(DType::f32, {20, 128});
  for (const int64_t i : {3, 5, 7}) fine.set(i, 1 + 0x1p-20);
  fine.set(9, NAN);
  write_npy((dir / "fine.npy").string(), fine);
  const RunResult lossy =
      run("increment", set, {.in = {{"x", (dir / "fine.npy").string()}}, .dtypes = {{"x", DType::f32}}});
  ASSERT_EQ(lossy.outcome.warnings.size(), 1u);
  EXPECT_THAT(lossy.outcome.warnings[0],
              HasSubstr("fine.npy: 3 of 2560 elements changed, from f32 to the operand's bf16"));
  std::filesystem::remove_all(dir);
}

TEST_F(Runs, ArraysBeyondTheMemoryAreRefusedByName) {
  const Subject s = subject_of(increment(8, 1 << 20), "increment");  // 512 MiB in, 512 MiB out, 1 GiB of reference
  EXPECT_NO_THROW(refuse_too_large(s, {}, int64_t{2} << 30));
  EXPECT_NO_THROW(refuse_too_large(s, {.compare = false}, int64_t{1} << 30));
  try {
    refuse_too_large(s, {}, (int64_t{2} << 30) - 1);
    ADD_FAILURE() << "accepted";
  } catch (const InputError& e) {
    EXPECT_STREQ(e.what(),
                 "operand x: f32[1048576,128] has 512.00 MiB; operands, results and references take 2.00 GiB, this "
                 "machine has 2.00 GiB of memory");
  }
  EXPECT_THROW(run("increment", {{"n", "1000000000000"}}), InputError);
  EXPECT_GT(machine_memory_bytes(), int64_t{1} << 28);
}

TEST_F(Runs, TwinsAreNamedOrNot) {
  const std::vector<TwinOutcome> twins = check_twins(*kernel_named("increment").kernel);
  ASSERT_EQ(twins.size(), 2u);
  EXPECT_TRUE(twins[0].is_named && twins[0].kernel_clean) << text_report(twins[0].twin, {});
  EXPECT_FALSE(twins[1].is_named);
  EXPECT_TRUE(twins[1].kernel_clean);
}

TEST_F(Runs, MarksOfDefinednessAreTrue) {
  const struct {
    const char* what;
    int64_t rows;
    int64_t marked;
  } cases[] = {{"all written", 8, 0}, {"half written", 4, 2 * 4 * 128}};
  for (const auto& c : cases) {
    const DefinednessOutcome d = check_definedness(subject_of(increment(c.rows), "increment"), {}, 4);
    EXPECT_EQ(d.elements, 16 * 128) << c.what;
    EXPECT_EQ(d.marked, c.marked) << c.what;
    EXPECT_EQ(d.missed, 0) << c.what << " " << d.first_missed;
    EXPECT_EQ(d.never_moved, 0) << c.what;
    EXPECT_EQ(d.differing_marks, "") << c.what;
  }
}

}  // namespace
}  // namespace tilecheck
