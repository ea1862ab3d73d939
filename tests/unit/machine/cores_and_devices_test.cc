// What cores and devices share, and what each has of its own.
#include "tests/unit/machine/world.h"

namespace tilecheck {
namespace {

constexpr const char* kSchedules[] = {"lazy", "eager", "lifo", "torn", "random:1", "random:2", "pct:1:3"};

LaunchResult run_on(int devices, const KernelSpec& spec, const Body& body, const HostArray& in, const char* schedule) {
  LaunchOptions options;
  options.devices = devices;
  options.sync.schedule = parse_schedule(schedule);
  const std::vector<DeviceArgs> args(static_cast<size_t>(devices), DeviceArgs{{}, {in}});
  return launch(spec, body, args, options);
}

// Each device sends its row into a scope of the next. `ready`: after that one has said that it is inside.
TEST(Devices, ScopedMemoryOfAnotherIsAnAddressThatItsScopeOwnsFromEntryToEnd) {
  KernelSpec s = row_kernel(1);
  s.grid = {};
  s.in[0].index = s.out[0].index = [] { return Indices{0, 0}; };
  s.has_communication = true;
  s.scratch.push_back({"sent", DType::dma_semaphore, {}, Space::semaphore});
  s.scratch.push_back({"received", DType::dma_semaphore, {}, Space::semaphore});
  s.scratch.push_back({"ready", DType::semaphore, {}, Space::semaphore});
  const auto body = [](bool ready) {
    return [ready](Core& core, std::span<const Ref> refs) {
      const int n = core.device_count(), next = (core.device_id() + 1) % n, previous = (core.device_id() + n - 1) % n;
      const Scratch scratch{"arriving", DType::f32, {1, 128}, Space::vmem};
      core.scope({&scratch, 1}, [&](std::span<const Ref> scoped) {
        if (ready) {
          core.signal(refs[4], 1, {previous, {}});
          core.wait(refs[4], 1);
        }
        core.wait(core.start_remote_copy(refs[0], scoped[0], refs[2], refs[3], {next, {}}));
        core.store(refs[1], core.load(scoped[0]));
      });
    };
  };
  for (const char* schedule : kSchedules) {
    const LaunchResult broken = run_on(3, s, body(false), iota_array(DType::f32, {1, 128}), schedule);
    EXPECT_EQ(kinds(broken).substr(0, 4), "race") << schedule;
    const LaunchResult right = run_on(3, s, body(true), iota_array(DType::f32, {1, 128}), schedule);
    EXPECT_EQ(kinds(right), "") << schedule;
    EXPECT_EQ(right.devices[2].out[0].at(127), 127) << schedule;
    EXPECT_TRUE(broken.report.incomplete.empty() && right.report.incomplete.empty()) << schedule;
  }
}

// Semaphores that a kernel is given or gives back: each core has its own, and one array stands for both.
TEST(Cores, EachHasItsOwnOfSemaphoresThatAreOperands) {
  KernelSpec s;
  s.name = "semaphores";
  Window given = window("given", {2}, {}, {});
  given.dtype = DType::semaphore;
  given.space = Space::semaphore;
  given.trivial = true;
  s.in.push_back(given);
  Window left = given;
  left.name = "left";
  s.out.push_back(left);
  s.aliases.push_back({0, 0});
  HostArray counts(DType::semaphore, {2});
  counts.set(0, 1);
  LaunchOptions options;
  options.cores = 2;
  for (const bool alike : {true, false}) {
    const Body body = [alike](Core& core, std::span<const Ref> refs) {
      core.wait(refs[0]({0}), 1);
      if (alike || core.core_index() == 1) core.signal(refs[1]({1}), 3);
      core.signal(refs[0]({0}), 1, {{}, 1 - core.core_index()});
    };
    const LaunchResult r = run(s, body, {counts}, options);
    EXPECT_EQ(kinds(r), "");
    EXPECT_EQ(r.report.incomplete.empty(), alike);
    if (!alike) continue;
    EXPECT_EQ(r.devices[0].out[0].at(0), 1);
    EXPECT_EQ(r.devices[0].out[0].at(1), 3);
  }
}

}  // namespace
}  // namespace tilecheck
