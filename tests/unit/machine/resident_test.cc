// Arrays that stay in VMEM or SMEM from one kernel to the next: the body has the array itself, nothing is copied.
#include "sim/target/target.h"
#include "sim/types/error.h"
#include "tests/unit/machine/world.h"

namespace tilecheck {
namespace {

constexpr const char* kSchedules[] = {"lazy", "eager", "lifo", "torn", "random:1"};

Window resident(std::string name, Space space, DType dtype = DType::f32, Shape array = {8, 128}) {
  Window w = window(std::move(name), array, {}, {});
  w.dtype = dtype;
  w.space = space;
  w.trivial = w.resident = true;
  return w;
}

Window semaphore(std::string name) {
  Window w = window(std::move(name), {}, {}, {});
  w.dtype = DType::dma_semaphore;
  w.space = Space::semaphore;
  w.trivial = true;
  return w;
}

// An operand and a result that are one array.
KernelSpec in_place(Space space, DType dtype, const Shape& array) {
  KernelSpec s;
  s.name = "in_place";
  s.in.push_back(resident("x", space, dtype, array));
  s.out.push_back(resident("y", space, dtype, array));
  s.aliases.push_back({0, 0});
  return s;
}

std::string incomplete(const KernelSpec& spec, const LaunchOptions& options = {}) {
  try {
    run(
        spec, [](Core&, std::span<const Ref>) {},
        std::vector<HostArray>(spec.in.size(), HostArray(DType::f32, {8, 128})), options);
  } catch (const Incomplete& e) {
    return e.what();
  }
  return "";
}

TEST(Resident, AnAliasedArrayIsChangedInPlace) {
  const LaunchResult vector = run(
      in_place(Space::vmem, DType::f32, {8, 128}),
      [](Core& core, std::span<const Ref> refs) { core.store(refs[0]({ds(0, 4)}), core.load(refs[1]({ds(4, 4)}))); },
      {iota_array(DType::f32, {8, 128})});
  EXPECT_EQ(kinds(vector, Severity::note), "");
  EXPECT_EQ(vector.devices[0].out[0].at(0), 512);
  EXPECT_EQ(vector.devices[0].out[0].at(1023), 1023);
  EXPECT_TRUE(vector.report.counters.windows.empty() || vector.report.counters.windows[0].moved_bytes == 0);

  const LaunchResult scalar = run(in_place(Space::smem, DType::i32, {8}),
                                  [](Core& core, std::span<const Ref> refs) {
                                    for (int64_t i = 0; i < 8; ++i)
                                      core.store(refs[1]({i}), core.load(refs[0]({i})) + 1.0);
                                  },
                                  {iota_array(DType::i32, {8})});
  EXPECT_EQ(kinds(scalar, Severity::note), "");
  EXPECT_EQ(scalar.devices[0].out[0].at(7), 8);
}

TEST(Resident, WhatIsNeverWrittenIsUndefined) {
  KernelSpec s;
  s.name = "half";
  s.out.push_back(resident("o", Space::vmem));
  const LaunchResult r =
      run(s, [](Core& core, std::span<const Ref> refs) { core.store(refs[0]({ds(0, 4)}), 1.0); }, {});
  EXPECT_EQ(kinds(r, Severity::note), "undefined-output");
  EXPECT_EQ(r.devices[0].out[0].at(511), 1);
}

// Later kernels, and the caller, have the same bytes.
TEST(Resident, AnOperandThatNoResultAliasesMustNotBeStoredTo) {
  for (const bool aliased : {false, true}) {
    KernelSpec s = in_place(Space::vmem, DType::f32, {8, 128});
    if (!aliased) s.aliases.clear();
    const HostArray x = iota_array(DType::f32, {8, 128});
    const LaunchResult r = run(s,
                               [](Core& core, std::span<const Ref> refs) {
                                 core.store(refs[1], core.load(refs[0]));
                                 core.store(refs[0]({ds(0, 1)}), 7.0);
                               },
                               {x});
    EXPECT_EQ(kinds(r), aliased ? "" : "alias-mismatch");
    EXPECT_EQ(x.at(0), 0) << "the caller's own";
  }
}

// One kernel starts a copy into the array, the next one waits for it on the semaphore that the first gave back.
TEST(Resident, ACopyIntoItMayEndInTheNextKernel) {
  KernelSpec start;
  start.name = "start";
  start.in.push_back(window("x", {8, 128}, {}, {}));
  start.in[0].space = Space::hbm;
  start.out = {resident("y", Space::vmem), semaphore("done")};

  KernelSpec finish = in_place(Space::vmem, DType::f32, {8, 128});
  finish.in.push_back(semaphore("done"));
  finish.in.push_back(start.in[0]);
  const HostArray x = iota_array(DType::f32, {8, 128});
  for (const char* schedule : kSchedules)
    for (const bool waits : {true, false}) {
      LaunchOptions options;
      options.sync.schedule = parse_schedule(schedule);
      const LaunchResult started = run(
          start, [](Core& core, std::span<const Ref> refs) { core.start_copy(refs[0], refs[1], refs[2]); }, {x},
          options);
      EXPECT_EQ(kinds(started), "") << schedule;
      // What is read before the kernel that starts the copy ends races with it.
      const LaunchResult early = run(
          start,
          [&](Core& core, std::span<const Ref> refs) {
            const CopyHandle copy = core.start_copy(refs[0], refs[1], refs[2]);
            if (waits) core.wait(copy);
            core.load(refs[1]);
          },
          {x}, options);
      EXPECT_EQ(kinds(early).substr(0, 4), waits ? "" : "race") << schedule;
      const LaunchResult finished = run(
          finish,
          [](Core& core, std::span<const Ref> refs) {
            core.wait_bytes_of(refs[1], refs[0]);
            core.store(refs[3], core.load(refs[0]) + 1.0);
          },
          {started.devices[0].out[0], started.devices[0].out[1], x}, options);
      EXPECT_EQ(kinds(finished), "") << schedule;
      EXPECT_EQ(finished.devices[0].out[0].at(1023), 1024) << schedule;
    }
}

TEST(Resident, SeveralCoresAndOneSidedAliasesAreNotModelled) {
  KernelSpec s = in_place(Space::vmem, DType::f32, {8, 128});
  EXPECT_EQ(incomplete(s), "");
  LaunchOptions two_cores;
  two_cores.cores = 2;
  EXPECT_THAT(incomplete(s, two_cores), testing::HasSubstr("'x' stays in VMEM between kernels"));
  KernelSpec per_core = s;
  per_core.grid = {2};
  per_core.semantics = {Semantics::core_parallel};
  EXPECT_THAT(incomplete(per_core), testing::HasSubstr("several cores"));
  per_core.semantics = {Semantics::arbitrary};
  EXPECT_EQ(incomplete(per_core), "");
  per_core.semantics = {Semantics::parallel};
  LaunchOptions chip;
  chip.target = &target_named("v5e");
  EXPECT_EQ(incomplete(per_core, chip), "");
  chip.target = &target_named("v5p");
  EXPECT_THAT(incomplete(per_core, chip), testing::HasSubstr("several cores"));
  KernelSpec one_sided = s;
  one_sided.in[0].resident = false;
  EXPECT_THAT(incomplete(one_sided), testing::HasSubstr("one array, of which one only stays in VMEM"));
}

TEST(Resident, OnlyAWholeArrayIs) {
  KernelSpec s = in_place(Space::vmem, DType::f32, {8, 128});
  s.in[0].block = {8, 128};
  EXPECT_THROW(validate(s), InputError);
  s = in_place(Space::hbm, DType::f32, {8, 128});
  EXPECT_THROW(validate(s), InputError);
}

}  // namespace
}  // namespace tilecheck
