// Runs that are cancelled within a step, whatever their body does for ever.
#include <gmock/gmock.h>

#include <atomic>

#include "tests/unit/machine/world.h"

namespace tilecheck {
namespace {

using ::testing::ElementsAre;

LaunchResult cancelled(const KernelSpec& spec, const Body& body, LaunchOptions options) {
  std::atomic<int64_t> asked{0};
  options.go_on = [&asked] { return ++asked < 5; };
  std::vector<DeviceArgs> args(static_cast<size_t>(options.devices));
  for (DeviceArgs& a : args) a.in = {iota_array(DType::f32, spec.in[0].array)};
  return launch(spec, body, args, options);
}

TEST(Cancel, WithinAStep) {
  KernelSpec spec = row_kernel(4);
  spec.scratch = {{"row", DType::f32, {1, 128}, Space::vmem},
                  {"copied", DType::dma_semaphore, {}, Space::semaphore},
                  {"ready", DType::semaphore, {}, Space::semaphore}};
  struct Case {
    const char* name;
    Body body;
  };
  const Case cases[] = {
      {"loads",
       [](Core& core, std::span<const Ref> r) {
         while (true) core.load(r[0]);
       }},
      {"stores",
       [](Core& core, std::span<const Ref> r) {
         while (true) core.store(r[1], 0.0);
       }},
      {"arithmetic",
       [](Core& core, std::span<const Ref>) {
         Tile t = core.full(DType::f32, {1, 128}, 1);
         while (true) t = t + t;
       }},
      {"copies",
       [](Core& core, std::span<const Ref> r) {
         while (true) core.sync_copy(r[0], r[2]);
       }},
      {"signals and waits",
       [](Core& core, std::span<const Ref> r) {
         while (true) {
           core.signal(r[4]);
           core.wait(r[4]);
         }
       }},
      {"reads of a semaphore",
       [](Core& core, std::span<const Ref> r) {
         while (core.read(r[4]) == 0) core.load(r[0]);
       }},
      {"scopes",
       [](Core& core, std::span<const Ref>) {
         while (true) core.scope({}, [](std::span<const Ref>) {});
       }},
      {"an empty loop", [](Core& core, std::span<const Ref>) { core.loop(0, INT64_MAX, [](int64_t) {}); }},
  };
  for (const Case& c : cases)
    for (const int devices : {1, 2})
      for (const int threads : {1, 2})
        for (const char* schedule : {"lazy", "random:1"}) {
          LaunchOptions options;
          options.devices = devices;
          options.threads = threads;
          options.sync.schedule = parse_schedule(schedule);
          const LaunchResult r = cancelled(spec, c.body, options);
          EXPECT_THAT(r.report.incomplete,
                      ElementsAre("cancelled after 0 of " + std::to_string(4 * devices) + " steps"))
              << c.name << ", " << devices << " devices, " << threads << " threads, " << schedule;
        }
}

TEST(Cancel, BetweenSteps) {
  LaunchOptions options;
  const LaunchResult r = cancelled(
      row_kernel(100), [](Core&, std::span<const Ref>) {}, options);
  EXPECT_THAT(r.report.incomplete, ElementsAre("cancelled after 5 of 100 steps"));
}

// Of more steps than a plan could be walked over, and with a map that shows only step by step what it does.
KernelSpec endless_grid() {
  KernelSpec spec = row_kernel(2);
  spec.grid = {2, int64_t{1} << 36};
  spec.semantics = {Semantics::parallel, Semantics::arbitrary};
  spec.in[0].index = [](Index i, Index j) { return Indices{(i.value() * 7 + j.value() * 5) % 2, 0}; };
  spec.out[0].index = [](Index i, Index) { return Indices{i.value(), 0}; };
  return spec;
}

TEST(Cancel, WhileThePlanIsLookedAt) {
  for (const int threads : {1, 2}) {
    LaunchOptions options;
    options.threads = threads;
    const LaunchResult r = cancelled(
        endless_grid(), [](Core& core, std::span<const Ref> refs) { core.store(refs[1], core.load(refs[0])); },
        options);
    EXPECT_EQ(r.report.incomplete.size(), 1u);
  }
}

TEST(Cancel, AFindingEndsTheLookAtThePlan) {
  LaunchOptions options;
  options.threads = 2;
  const LaunchResult r = run(
      endless_grid(), [](Core& core, std::span<const Ref> refs) { core.load(refs[0]({ds(1, 1)})); },
      {iota_array(DType::f32, {2, 128})}, options);
  EXPECT_EQ(kinds(r, Severity::error), "out-of-bounds-read");
}

TEST(Cancel, ARunThatIsToGoOnIsWhole) {
  for (const int threads : {1, 2}) {
    LaunchOptions options;
    options.threads = threads;
    options.go_on = [] { return true; };
    const LaunchResult r = run(
        row_kernel(64), [](Core& core, std::span<const Ref> refs) { core.store(refs[1], core.load(refs[0])); },
        {iota_array(DType::f32, {64, 128})}, options);
    EXPECT_TRUE(r.report.incomplete.empty());
    EXPECT_EQ(r.report.counters.grid_steps, 64);
  }
}

}  // namespace
}  // namespace tilecheck
