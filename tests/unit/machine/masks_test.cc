// Lanes that a mask switches off are neither read nor written: ordering looks at the others alone.
#include "tests/unit/machine/world.h"

namespace tilecheck {
namespace {

// One step: columns 64 to 127 of `slot` are copied to o while the body touches what `mask_below` leaves of it.
LaunchResult touch_beside_copy(int64_t mask_below, bool is_store, const char* schedule) {
  KernelSpec s;
  s.name = "masks";
  Window o = window("o", {8, 128}, {}, {});
  o.space = Space::hbm;
  s.in = {window("x", {8, 128}, {}, {})};
  s.out = {o};
  s.scratch = {{"slot", DType::f32, {8, 128}, Space::vmem}, {"sem", DType::dma_semaphore, {}, Space::semaphore}};
  const Body body = [=](Core& core, std::span<const Ref> refs) {
    const Ref x = refs[0], out = refs[1], slot = refs[2], sem = refs[3];
    const Tile value = core.load(x);
    const Tile mask = lt(iota(value.context(), DType::i32, value.shape(), 1), static_cast<double>(mask_below));
    core.store(slot, value);
    const Ref right = slot({all(), ds(64, 64)});
    const CopyHandle copy = is_store ? core.start_copy(right, out({all(), ds(64, 64)}), sem)
                                     : core.start_copy(out({all(), ds(64, 64)}), right, sem);
    if (is_store)
      core.store(slot, value + 1.0, {.mask = mask});
    else
      core.load(slot, {.mask = mask});
    core.wait(copy);
    core.sync_copy(slot, out);
  };
  LaunchOptions options;
  options.sync.schedule = parse_schedule(schedule);
  return run(s, body, {iota_array(DType::f32, {8, 128})}, options);
}

TEST(Masks, LanesThatAreOffRaceWithNothing) {
  for (const char* schedule : {"lazy", "eager", "lifo", "torn", "random:1", "pct:1:3"})
    for (const bool is_store : {false, true}) {
      EXPECT_EQ(kinds(touch_beside_copy(0, is_store, schedule), Severity::error), "") << schedule << is_store;
      EXPECT_EQ(kinds(touch_beside_copy(64, is_store, schedule), Severity::error), "") << schedule << is_store;
      EXPECT_EQ(kinds(touch_beside_copy(65, is_store, schedule), Severity::error), "race") << schedule << is_store;
    }
}

TEST(Masks, ARaceShowsTheLanesThatAreOn) {
  const LaunchResult r = touch_beside_copy(66, true, "lazy");
  ASSERT_FALSE(r.report.findings.empty());
  EXPECT_THAT(r.report.findings[0].message, testing::HasSubstr("slot[0:8, 0:66]"));
}

}  // namespace
}  // namespace tilecheck
