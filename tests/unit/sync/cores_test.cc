// Cores of one device: windows that meet, semaphores that both name.
#include <gmock/gmock.h>

#include "tests/unit/sync/world.h"

namespace tilecheck::testing_sync {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

TEST(Cores, WindowCopiesToOneBlockAreARaceOnlyWhenTheirBytesDiffer) {
  Machine setup;
  setup.devices = 2;
  setup.cores = true;
  for (const bool differ : {false, true}) {
    for (const std::string& schedule : schedules()) {
      EngineOptions options;
      options.schedule = parse_schedule(schedule);
      const Outcome out = run(setup, options, [differ](Actor& a) {
        a.store(a.ref("a"), differ ? static_cast<float>(a.id()) : 3.0f);
        a.window_copy(a.rows("a", 0, 2), a.rows("x", 4, 2), a.sem("sem"));
        a.wait(a.sem("sem"), 2 * kRow);
      });
      EXPECT_EQ(out.kinds().count("race"), differ) << schedule << text(out.findings);
      EXPECT_EQ(out.findings.size(), differ) << schedule << text(out.findings);
    }
  }
}

TEST(Cores, CopiesOfTheBodyToOneBlockAreARaceWhateverTheirBytes) {
  Machine setup;
  setup.devices = 2;
  setup.cores = true;
  for (const std::string& schedule : schedules()) {
    EngineOptions options;
    options.schedule = parse_schedule(schedule);
    const auto body = [](Actor& a, bool together) {
      a.copy(a.row("a", 0), a.row("x", together ? 0 : a.id()), a.sem("sem"));
      a.wait(a.sem("sem"), kRow);
    };
    EXPECT_THAT(run(setup, options, [&](Actor& a) { body(a, true); }).kinds(), UnorderedElementsAre("race"))
        << schedule;
    EXPECT_THAT(run(setup, options, [&](Actor& a) { body(a, false); }).kinds(), IsEmpty()) << schedule;
  }
}

// A core can wait for its own semaphores only.
TEST(Cores, TwoThatWaitOnOneSemaphoreAreNamed) {
  Machine setup;
  setup.devices = 2;
  setup.cores = true;
  for (const std::string& schedule : schedules())
    for (const bool broken : {true, false}) {
      EngineOptions options;
      options.schedule = parse_schedule(schedule);
      Buffer* first = nullptr;
      const Outcome out = run(setup, options, [&](Actor& a) {
        if (a.id() == 0) first = a.sem("reg").buffer;
        a.signal_to(1 - a.id(), a.sem("reg"));
        a.wait(a.sem("reg"), 1);
        if (broken && a.id() == 1) a.wait(SemRef{first, 0}, 1);
      });
      if (broken) {
        EXPECT_THAT(out.kinds(), Contains("semaphore-misuse")) << schedule << text(out.findings);
      } else {
        EXPECT_THAT(out.findings, IsEmpty()) << schedule << text(out.findings);
      }
    }
}

TEST(Cores, ASignalOrdersWhatTheOtherCoreDidBefore) {
  Machine setup;
  setup.devices = 2;
  setup.cores = true;
  for (const std::string& schedule : schedules()) {
    EngineOptions options;
    options.schedule = parse_schedule(schedule);
    const Outcome out = run(setup, options, [](Actor& a) {
      if (a.id() == 0) {
        a.store(a.row("a", 0), 9);
        a.copy(a.row("a", 0), a.row("x", 0), a.sem("sem"));
        a.wait(a.sem("sem"), kRow);
        a.signal_to(1, a.sem("reg"));
      } else {
        a.wait(a.sem("reg"), 1);
        a.copy(a.row("x", 0), a.row("a", 0), a.sem("sem"));
        a.wait(a.sem("sem"), kRow);
        EXPECT_EQ(a.load(a.row("a", 0)), 9);
      }
    });
    EXPECT_THAT(out.findings, IsEmpty()) << schedule << text(out.findings);
    EXPECT_TRUE(out.independent);
  }
}

}  // namespace
}  // namespace tilecheck::testing_sync
