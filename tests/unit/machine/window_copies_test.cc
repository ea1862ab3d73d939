// Window copies beside the copies that a body starts itself: in a kernel of one core and no alias, too, both are held
// against each other.
#include "tests/unit/machine/world.h"

namespace tilecheck {
namespace {

constexpr const char* kSchedules[] = {"lazy", "eager", "lifo", "torn", "random:1", "random:2", "pct:1:3"};

// x -> o in rows; another array in HBM, and scratch for the body's own copies.
KernelSpec kernel_with_copies(int64_t rows) {
  KernelSpec s = row_kernel(rows);
  Window kept = window("kept", {rows, 128}, {}, {});
  kept.space = Space::hbm;
  s.out.push_back(kept);
  s.scratch.push_back({"saved", DType::f32, {2, 128}, Space::vmem});
  s.scratch.push_back({"sem", DType::dma_semaphore, {2}, Space::semaphore});
  return s;
}

// Refs of kernel_with_copies, by name.
struct Refs {
  explicit Refs(std::span<const Ref> refs) : x(refs[0]), o(refs[1]), kept(refs[2]), saved(refs[3]), sem(refs[4]) {}
  Ref x, o, kept, saved, sem;
  Ref row(const Ref& of, int64_t i) const { return of({ds(i, 1)}); }
};

struct Twins {
  const char* name;
  const char* kind;  // of `body` with broken
  void (*body)(Core& core, const Refs& r, bool broken);
};

void copy_through(Core& core, const Refs& r) { core.store(r.o, core.load(r.x)); }

const Twins kTwins[] = {
    // The copy out of step i's slot is awaited in step i + 1, where the fetch of step i + 2 into it is in flight.
    {"the next fetch into a slot that is still copied out of", "race",
     [](Core& core, const Refs& r, bool broken) {
       const int64_t i = core.program_id(0), n = core.num_programs(0);
       copy_through(core, r);
       if (broken && i > 0) core.wait_bytes_of(r.sem({(i - 1) % 2}), r.x);
       const CopyHandle out = core.start_copy(r.x, r.row(r.kept, i), r.sem({i % 2}));
       if (!broken || i + 1 == n) core.wait(out);
     }},
    {"the write-back of a slot that is still copied into", "race",
     [](Core& core, const Refs& r, bool broken) {
       const int64_t i = core.program_id(0), n = core.num_programs(0);
       core.store(r.saved({ds(i % 2, 1)}), core.load(r.x));
       core.sync_copy(r.saved({ds(i % 2, 1)}), r.row(r.kept, i));
       if (broken && i > 0) core.wait_bytes_of(r.sem({(i - 1) % 2}), r.o);
       const CopyHandle in = core.start_copy(r.saved({ds(i % 2, 1)}), r.o, r.sem({i % 2}));
       if (!broken || i + 1 == n) core.wait(in);
     }},
    // The first own copy of the run meets window copies that are in flight already.
    {"a copy out of the slot of the step before, which is being fetched into", "race",
     [](Core& core, const Refs& r, bool broken) {
       copy_through(core, r);
       if (core.program_id(0) == 0) core.body_state() = std::make_shared<Ref>(r.x);
       const Ref& of_step_0 = *static_cast<const Ref*>(core.body_state().get());
       if (core.program_id(0) == 1) core.sync_copy(broken ? of_step_0 : r.x, r.row(r.kept, 1));
     }},
    {"a copy into the slot of the step before, which is being written back", "race",
     [](Core& core, const Refs& r, bool broken) {
       copy_through(core, r);
       core.store(r.row(r.saved, 0), core.load(r.x));
       if (core.program_id(0) == 0) core.body_state() = std::make_shared<Ref>(r.o);
       const Ref& of_step_0 = *static_cast<const Ref*>(core.body_state().get());
       if (core.program_id(0) != 1) return;
       core.sync_copy(r.row(r.saved, 0), broken ? of_step_0 : r.o);
       core.sync_copy(r.row(r.saved, 0), r.row(r.kept, 1));
     }},
};

TEST(WindowCopies, AreHeldAgainstTheBodysOwn) {
  for (const Twins& t : kTwins)
    for (const char* schedule : kSchedules)
      for (const bool broken : {true, false}) {
        LaunchOptions options;
        options.sync.schedule = parse_schedule(schedule);
        const LaunchResult r = run(
            kernel_with_copies(6), [&](Core& core, std::span<const Ref> refs) { t.body(core, Refs(refs), broken); },
            {iota_array(DType::f32, {6, 128})}, options);
        std::string found = kinds(r, Severity::error);
        EXPECT_EQ(found.substr(0, found.find(',')), broken ? t.kind : "") << t.name << ", " << schedule;
        EXPECT_TRUE(r.report.incomplete.empty());
        if (broken) continue;
        for (int64_t i = 0; i < 6 * 128; ++i) ASSERT_EQ(r.devices[0].out[0].at(i), i) << t.name << ", " << schedule;
        EXPECT_EQ(r.devices[0].out[1].at(128), 128) << t.name << ", " << schedule;
      }
}

}  // namespace
}  // namespace tilecheck
