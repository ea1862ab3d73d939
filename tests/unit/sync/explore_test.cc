// Schedules explored: every outcome reached, failures shrunk, replays exact.
#include "sim/sync/explore.h"

#include <gmock/gmock.h>

#include "sim/types/error.h"
#include "tests/unit/sync/world.h"

namespace tilecheck::testing_sync {
namespace {

using ::testing::UnorderedElementsAre;

Outcome run_recorded(const Machine& machine, const ScheduleSpec& spec, const Body& body) {
  EngineOptions options;
  options.schedule = spec;
  options.record_decisions = options.find_alternatives = true;
  return run(machine, options, body);
}

// A run function that fails when `fails` says so of the outcome.
RunFunction recorded(const Machine& machine, const Body& body, std::function<bool(const Outcome&)> fails) {
  return [=](const ScheduleSpec& spec) {
    const Outcome out = run_recorded(machine, spec, body);
    return RunOutcome{fails(out), out.independent, out.decisions, out.alternatives, out.missed_orders};
  };
}

float first(const Outcome& out, const std::string& buffer, size_t device = 0) {
  return out.arrays[device].at(buffer)[0];
}

TEST(Explore, ARunWithoutUnorderedEventsStandsForAll) {
  const Body body = [](Actor& a) {
    a.copy(a.ref("x"), a.ref("a"), a.sem("sem"));
    a.wait(a.sem("sem"), 16 * kRow);
    a.load(a.ref("a"));
  };
  const RunFunction f = recorded({}, body, [](const Outcome& out) { return !out.findings.empty(); });
  for (const Exploration& e : {explore(f, {}), explore_exhaustively(f, {})}) {
    EXPECT_EQ(e.runs, 1);
    EXPECT_TRUE(e.schedule_independent && e.complete && !e.failed);
  }
}

// The store may come before or after the copy reads; lazy shows only one of them.
const Body kStoreIntoSource = [](Actor& a) {
  a.copy(a.rows("x", 0, 4), a.rows("b", 0, 4), a.sem("sem", 1));
  a.copy(a.row("a", 0), a.row("y", 0), a.sem("sem"));
  a.store(a.row("a", 1), 3);
  a.store(a.row("a", 0), 7);
  a.wait(a.sem("sem"), kRow);
  a.wait(a.sem("sem", 1), 4 * kRow);
};

TEST(Explore, AFailureIsShrunkToTheOneDecisionThatMatters) {
  for (const float bad : {0.0f, 7.0f}) {
    const RunFunction f = recorded({}, kStoreIntoSource, [bad](const Outcome& out) { return first(out, "y") == bad; });
    for (const Exploration& e : {explore(f, {}), explore_exhaustively(f, {})}) {
      ASSERT_TRUE(e.failed) << bad;
      EXPECT_EQ(to_string(e.failing).find(bad == 7 ? "lazy" : "replay:"), 0u) << to_string(e.failing);
      if (bad == 0) {
        EXPECT_EQ(parse_decisions(e.failing.decisions).size(), 1u) << to_string(e.failing);
      }
      EXPECT_TRUE(f(e.failing).failed);
    }
  }
}

TEST(Explore, ExhaustiveReachesEveryOutcome) {
  std::set<std::pair<float, float>> outcomes;
  // Two copies to one row in flight, read in between and at the end.
  const Body body = [](Actor& a) {
    a.copy(a.row("x", 1), a.row("a", 0), a.sem("sem", 0));
    a.copy(a.row("x", 2), a.row("a", 0), a.sem("sem", 1));
    a.copy(a.row("x", 3), a.row("a", 5), a.sem("sem", 2));
    const float seen = a.load(a.row("a", 0));
    a.wait(a.sem("sem", 0), kRow);
    a.wait(a.sem("sem", 1), kRow);
    a.wait(a.sem("sem", 2), kRow);
    a.store(a.row("b", 0), seen);
  };
  const RunFunction f = recorded({}, body, [&](const Outcome& out) {
    outcomes.emplace(first(out, "b"), first(out, "a"));
    return false;
  });
  const Exploration e = explore_exhaustively(f, {});
  EXPECT_TRUE(e.complete && !e.failed);
  EXPECT_LE(e.runs, 16);
  // Read before both, between them in either order, or after both.
  EXPECT_THAT(outcomes, UnorderedElementsAre(std::pair(0.0f, 8.0f), std::pair(0.0f, 16.0f), std::pair(8.0f, 16.0f),
                                             std::pair(16.0f, 8.0f), std::pair(8.0f, 8.0f), std::pair(16.0f, 16.0f)));
  ExploreOptions bounded;
  bounded.bound = 2;
  EXPECT_FALSE(explore_exhaustively(f, bounded).complete);
}

TEST(Explore, WhatASemaphoreReadsDependsOnTheOrderOfSignals) {
  Machine machine;
  machine.devices = 3;
  std::set<float> seen;
  const Body body = [](Actor& a) {
    a.enter();
    if (a.device() != 1) {
      a.signal_to(1, a.sem("reg"));
      return;
    }
    a.store(a.row("b", 0), static_cast<float>(a.count(a.sem("reg"))));
    a.wait(a.sem("reg"), 2);
  };
  const RunFunction f = recorded(machine, body, [&](const Outcome& out) {
    EXPECT_TRUE(out.findings.empty()) << text(out.findings);
    seen.insert(first(out, "b", 1));
    return false;
  });
  const Exploration e = explore_exhaustively(f, {});
  EXPECT_TRUE(e.complete && !e.schedule_independent);
  EXPECT_THAT(seen, UnorderedElementsAre(0.0f, 1.0f, 2.0f));
}

// Which of two signallers ends a wait decides what is read afterwards, though neither reads itself.
TEST(Explore, WhoEndsAWaitBeforeASemaphoreIsReadIsTriedBothWays) {
  Machine machine;
  machine.devices = 3;
  const Body body = [](Actor& a) {
    a.enter();
    if (a.device() != 0) {
      a.signal_to(0, a.sem("reg", a.device()));
      a.signal_to(0, a.sem("reg", 0));
      return;
    }
    a.wait(a.sem("reg", 0), 1);
    a.store(a.row("b", 0), static_cast<float>(a.count(a.sem("reg", 2))));
    a.wait(a.sem("reg", 0), 1);
    a.wait(a.sem("reg", 1), 1);
    a.wait(a.sem("reg", 2), 1);
  };
  std::set<float> seen;
  const RunFunction f = recorded(machine, body, [&](const Outcome& out) {
    seen.insert(first(out, "b", 0));
    return false;
  });
  EXPECT_TRUE(explore_exhaustively(f, {}).complete);
  EXPECT_THAT(seen, UnorderedElementsAre(0.0f, 1.0f));
}

// Of what others do, any part may come after a device has ended and before the next goes on.
TEST(Explore, WhoGoesOnWhenADeviceEndsIsAChoice) {
  Machine machine;
  machine.devices = 3;
  const Body body = [](Actor& a) {
    a.enter();
    if (a.device() == 0) a.signal_to(2, a.sem("reg"), 1);
    if (a.device() == 1) a.signal_to(2, a.sem("reg"), 10);
    if (a.device() < 2) return;
    a.store(a.row("b", 0), static_cast<float>(a.count(a.sem("reg"))));
    a.wait(a.sem("reg"), 11);
  };
  std::set<float> seen;
  const RunFunction f = recorded(machine, body, [&](const Outcome& out) {
    seen.insert(first(out, "b", 2));
    return false;
  });
  EXPECT_TRUE(explore_exhaustively(f, {}).complete);
  EXPECT_THAT(seen, UnorderedElementsAre(0.0f, 1.0f, 10.0f, 11.0f));
}

// One barrier of four devices, in which every wait takes all signals, has one order, whatever is read elsewhere.
TEST(Explore, WaitsThatTakeEverySignalAreNotReordered) {
  Machine machine;
  machine.devices = 4;
  const Body body = [](Actor& a) {
    a.enter();
    for (int d = 0; d < 4; ++d) a.signal_to(d, a.sem("reg", 1));
    a.wait(a.sem("reg", 1), 4);
    if (a.device() == 0) a.signal_to(1, a.sem("reg"));
    if (a.device() != 1) return;
    a.count(a.sem("reg"));
    a.wait(a.sem("reg"), 1);
  };
  const Exploration e = explore_exhaustively(recorded(machine, body, [](const Outcome&) { return false; }), {});
  EXPECT_TRUE(e.complete && !e.schedule_independent);
  EXPECT_LE(e.runs, 3);
}

TEST(Explore, ASemaphoreThatIsReadTwiceMayOrMayNotChangeBetween) {
  Machine machine;
  machine.devices = 2;
  std::set<std::string> seen;
  const Body body = [&](Actor& a) {
    a.enter();
    if (a.device() == 0) {
      a.signal_to(1, a.sem("reg"));
      a.signal_to(1, a.sem("reg"));
      return;
    }
    for (int64_t i = 0; i < 3; ++i) a.store(a.row("b", i), static_cast<float>(a.count(a.sem("reg"))));
    a.wait(a.sem("reg"), 2);
  };
  const RunFunction f = recorded(machine, body, [&](const Outcome& out) {
    const std::vector<float>& b = out.arrays[1].at("b");
    seen.insert(std::to_string(static_cast<int>(b[0] * 100 + b[8] * 10 + b[16])));
    return false;
  });
  EXPECT_TRUE(explore_exhaustively(f, {}).complete);
  EXPECT_THAT(seen, UnorderedElementsAre("0", "1", "2", "11", "12", "22", "111", "112", "122", "222"));
}

// A loop that waits by reading ends in every order; how often it may read is bounded, which is said.
TEST(Explore, ASemaphoreThatIsReadOverAndOverMakesItIncomplete) {
  Machine machine;
  machine.devices = 2;
  const Body body = [](Actor& a) {
    a.enter();
    if (a.device() == 0) return a.signal_to(1, a.sem("reg"));
    while (a.count(a.sem("reg")) == 0) {
    }
    a.wait(a.sem("reg"), 1);
  };
  const Exploration e =
      explore_exhaustively(recorded(machine, body, [](const Outcome& out) { return !out.finished; }), {});
  EXPECT_TRUE(!e.failed && !e.complete);
  EXPECT_EQ(e.missed, "ended after 19 runs: a semaphore is read more than 8 times in a row while others could go on");
}

TEST(Explore, WhatARunDoesNotKeepMakesItIncomplete) {
  const RunFunction f = [](const ScheduleSpec&) { return RunOutcome{.missed_orders = "a reason"}; };
  EXPECT_FALSE(explore_exhaustively(f, {}).complete);
}

// Messages between two cores arrive in order in every schedule: what only that orders happens in one order.
TEST(Explore, OrdersThatTheMachineDoesNotHaveAreNotTried) {
  Machine machine;
  machine.devices = 2;
  const auto body = [](bool shared_semaphore) {
    return [shared_semaphore](Actor& a) {
      a.enter();
      for (int64_t i = 0; i < 3; ++i) {
        const SemRef received = a.sem("recv", shared_semaphore ? 0 : i);
        a.send(a.row("x", i), a.row("a", 0), a.sem("send"), received, 1 - a.device());
        a.wait(a.sem("send"), kRow);
      }
      for (int64_t i = 0; i < 3; ++i) a.wait(a.sem("recv", shared_semaphore ? 0 : i), kRow);
      EXPECT_EQ(a.load(a.row("a", 0)), 16);
    };
  };
  for (const bool shared : {false, true}) {
    const RunFunction f = recorded(machine, body(shared), [](const Outcome& out) {
      return out.kinds() != std::set<std::string>{"relies-on-message-order"};
    });
    const Exploration e = explore_exhaustively(f, {});
    EXPECT_FALSE(e.failed) << to_string(e.failing);
    EXPECT_TRUE(e.schedule_independent && e.complete);
  }
}

TEST(Explore, CrossDeviceRacesAreSeenInBothOrders) {
  Machine machine;
  machine.devices = 2;
  std::set<float> seen;
  const Body body = [](Actor& a) {
    a.enter();
    if (a.device() == 0) {
      a.send(a.row("x", 1), a.row("a", 0), a.sem("send"), a.sem("recv"), 1);
      a.wait(a.sem("send"), kRow);
    } else {
      a.store(a.row("b", 0), a.load(a.row("a", 0)));
      a.wait(a.sem("recv"), kRow);
    }
  };
  const RunFunction f = recorded(machine, body, [&](const Outcome& out) {
    EXPECT_EQ(out.kinds().count("race"), 1u);
    seen.insert(first(out, "b", 1));
    return false;
  });
  EXPECT_TRUE(explore_exhaustively(f, {}).complete);
  EXPECT_THAT(seen, UnorderedElementsAre(0.0f, 8.0f));
}

TEST(Explore, ARecordedRunReplaysToTheSameBytesAndFindings) {
  for (const std::string& schedule : schedules()) {
    const Outcome once = run_recorded({}, parse_schedule(schedule), kStoreIntoSource);
    const Outcome same = run_recorded({}, parse_schedule(schedule), kStoreIntoSource);
    EXPECT_EQ(text(once.findings), text(same.findings));
    EXPECT_EQ(once.arrays, same.arrays);
    const Outcome again = run_recorded(
        {}, once.decisions.empty() ? ScheduleSpec{} : parse_schedule("replay:" + once.decisions), kStoreIntoSource);
    EXPECT_EQ(text(once.findings), text(again.findings)) << schedule;
    EXPECT_EQ(once.arrays, again.arrays) << schedule << " " << once.decisions;
    EXPECT_EQ(once.decisions, again.decisions) << schedule;
  }
}

TEST(Schedule, TextIsReadBackAndBadTextIsRefusedWithTheForms) {
  for (const char* text :
       {"eager", "lazy", "lifo", "torn", "random:7", "pct:3:2", "explore", "exhaustive:50", "replay:0:c1,4:a2,9:t3"})
    EXPECT_EQ(to_string(parse_schedule(text)), text);
  EXPECT_EQ(to_string(parse_schedule("on_wait")), "lazy");
  EXPECT_EQ(to_string(parse_schedule("pct:5")), "pct:5:3");
  for (const char* text :
       {"", "Lazy", "lazy:1", "explore:1", "random:x", "random:-1", "pct:1:0", "exhaustive:0", "replay", "replay:x",
        "replay:1:c", "replay:2:c1,1:c2", "replay:1:q7", "random:99999999999999999999"}) {
    try {
      parse_schedule(text);
      ADD_FAILURE() << text;
    } catch (const InputError& e) {
      EXPECT_NE(std::string(e.what()).find(text), std::string::npos) << e.what();
      EXPECT_NE(std::string(e.what()).find(schedule_forms()), std::string::npos) << e.what();
    }
  }
}

}  // namespace
}  // namespace tilecheck::testing_sync
