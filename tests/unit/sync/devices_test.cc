// Several devices: twins, and what messages guarantee.
#include <gmock/gmock.h>

#include "tests/unit/sync/world.h"

namespace tilecheck::testing_sync {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// Signals both neighbours of a ring and waits for both.
void neighbour_barrier(Actor& a, int n) {
  a.signal_to((a.device() + 1) % n, a.sem("barrier"));
  a.signal_to((a.device() + n - 1) % n, a.sem("barrier"));
  a.wait(a.sem("barrier"), 2);
}

int right(const Actor& a, int n) { return (a.device() + 1) % n; }

struct Twin {
  const char* name;
  const char* kind;
  int devices;
  Body broken;
  Body correct;
};

// Device 0 sends a row into memory that device 1 allocates in a scope; `entered`: after device 1 said that it is there.
void scoped_message(Actor& a, bool entered) {
  a.scope("s", [&] {
    if (a.device() == 0) {
      if (entered) a.wait(a.sem("reg"), 1);
      a.send(a.row("x", 1), a.row("s", 0), a.sem("send"), a.sem("recv"), 1);
      a.wait(a.sem("send"), kRow);
    } else {
      if (entered) a.signal_to(0, a.sem("reg"));
      a.wait(a.sem("recv"), kRow);
      a.load(a.row("s", 0));
    }
  });
}

const Twin kDevices[] = {
    {"no barrier before a remote write", "race", 2,
     [](Actor& a) {
       a.send(a.row("x", 0), a.row("y", 0), a.sem("send"), a.sem("recv"), 1 - a.device());
       a.wait(a.sem("send"), kRow);
       a.wait(a.sem("recv"), kRow);
     },
     [](Actor& a) {
       a.enter();
       a.send(a.row("x", 0), a.row("y", 0), a.sem("send"), a.sem("recv"), 1 - a.device());
       a.wait(a.sem("send"), kRow);
       a.wait(a.sem("recv"), kRow);
     }},
    {"no barrier before a remote signal", "race", 2,
     [](Actor& a) {
       a.signal_to(1 - a.device(), a.sem("reg"));
       a.wait(a.sem("reg"), 1);
     },
     [](Actor& a) {
       neighbour_barrier(a, 2);
       a.signal_to(1 - a.device(), a.sem("reg"));
       a.wait(a.sem("reg"), 1);
     }},
    {"target written before its wait", "race", 2,
     [](Actor& a) {
       a.enter();
       a.store(a.row("a", 0), static_cast<float>(a.device()));
       a.send(a.row("a", 0), a.row("a", 1), a.sem("send"), a.sem("recv"), 1 - a.device());
       a.load(a.row("a", 1));
       a.wait(a.sem("send"), kRow);
       a.wait(a.sem("recv"), kRow);
     },
     [](Actor& a) {
       a.enter();
       a.store(a.row("a", 0), static_cast<float>(a.device()));
       a.send(a.row("a", 0), a.row("a", 1), a.sem("send"), a.sem("recv"), 1 - a.device());
       a.wait(a.sem("send"), kRow);
       a.wait(a.sem("recv"), kRow);
       EXPECT_EQ(a.load(a.row("a", 1)), 1 - a.device());
     }},
    {"source overwritten when only the arrival of another copy is known", "race", 2,
     [](Actor& a) {
       a.enter();
       a.send(a.row("a", 0), a.row("a", 1), a.sem("send"), a.sem("recv"), 1 - a.device());
       a.wait(a.sem("recv"), kRow);
       a.store(a.row("a", 0), 5);
       a.wait(a.sem("send"), kRow);
     },
     [](Actor& a) {
       a.enter();
       a.send(a.row("a", 0), a.row("a", 1), a.sem("send"), a.sem("recv"), 1 - a.device());
       a.wait(a.sem("recv"), kRow);
       a.wait(a.sem("send"), kRow);
       a.store(a.row("a", 0), 5);
     }},
    {"remote copy into memory that is still being read", "race", 2,
     [](Actor& a) {
       a.enter();
       a.load(a.row("a", 1));
       a.send(a.row("a", 0), a.row("a", 1), a.sem("send"), a.sem("recv"), 1 - a.device());
       a.wait(a.sem("send"), kRow);
       a.wait(a.sem("recv"), kRow);
     },
     [](Actor& a) {
       a.enter();
       a.load(a.row("a", 1));
       a.signal_to(1 - a.device(), a.sem("reg"));
       a.wait(a.sem("reg"), 1);
       a.send(a.row("a", 0), a.row("a", 1), a.sem("send"), a.sem("recv"), 1 - a.device());
       a.wait(a.sem("send"), kRow);
       a.wait(a.sem("recv"), kRow);
     }},
    {"a signal before the last read instead of after it", "race", 2,
     [](Actor& a) {
       a.enter();
       a.signal_to(1 - a.device(), a.sem("reg"));
       a.load(a.row("a", 1));
       a.wait(a.sem("reg"), 1);
       a.send(a.row("a", 0), a.row("a", 1), a.sem("send"), a.sem("recv"), 1 - a.device());
       a.wait(a.sem("send"), kRow);
       a.wait(a.sem("recv"), kRow);
     },
     [](Actor& a) {
       a.enter();
       a.load(a.row("a", 1));
       a.signal_to(1 - a.device(), a.sem("reg"));
       a.load(a.row("a", 2));
       a.wait(a.sem("reg"), 1);
       a.send(a.row("a", 0), a.row("a", 1), a.sem("send"), a.sem("recv"), 1 - a.device());
       a.wait(a.sem("send"), kRow);
       a.wait(a.sem("recv"), kRow);
     }},
    {"sent, and the sending never waited for", "dma-not-awaited", 2,
     [](Actor& a) {
       a.enter();
       a.send(a.row("x", 0), a.row("y", 0), a.sem("send"), a.sem("recv"), 1 - a.device());
       a.wait(a.sem("recv"), kRow);
     },
     [](Actor& a) {
       a.enter();
       a.send(a.row("x", 0), a.row("y", 0), a.sem("send"), a.sem("recv"), 1 - a.device());
       a.wait(a.sem("recv"), kRow);
       a.wait(a.sem("send"), kRow);
     }},
    {"sent, and never received", "dma-not-awaited", 2,
     [](Actor& a) {
       a.enter();
       a.send(a.row("x", 0), a.row("y", 0), a.sem("send"), a.sem("recv"), 1 - a.device());
       a.wait(a.sem("send"), kRow);
     },
     [](Actor& a) {
       a.enter();
       a.send(a.row("x", 0), a.row("y", 0), a.sem("send"), a.sem("recv"), 1 - a.device());
       a.wait(a.sem("send"), kRow);
       a.wait(a.sem("recv"), kRow);
     }},
    {"everybody waits first", "deadlock", 4,
     [](Actor& a) {
       a.enter();
       a.wait(a.sem("recv"), kRow);
       a.send(a.row("x", 0), a.row("y", 0), a.sem("send"), a.sem("recv"), right(a, 4));
       a.wait(a.sem("send"), kRow);
     },
     [](Actor& a) {
       a.enter();
       a.send(a.row("x", 0), a.row("y", 0), a.sem("send"), a.sem("recv"), right(a, 4));
       a.wait(a.sem("recv"), kRow);
       a.wait(a.sem("send"), kRow);
     }},
    {"signal to the wrong device", "deadlock", 3,
     [](Actor& a) {
       a.enter();
       a.signal_to(a.device() == 2 ? 2 : right(a, 3), a.sem("reg"));
       a.wait(a.sem("reg"), 1);
     },
     [](Actor& a) {
       a.enter();
       a.signal_to(right(a, 3), a.sem("reg"));
       a.wait(a.sem("reg"), 1);
     }},
    {"one device skips the barrier", "collective-mismatch", 3,
     [](Actor& a) {
       if (a.device() != 1) neighbour_barrier(a, 3);
     },
     [](Actor& a) { neighbour_barrier(a, 3); }},
    {"one device never enters", "collective-mismatch", 3,
     [](Actor& a) {
       if (a.device() != 1) a.enter();
     },
     [](Actor& a) { a.enter(); }},
    // The left neighbour's second signal can satisfy the first wait instead of the right neighbour's first.
    {"a barrier semaphore used again while others may still wait on it", "race", 4,
     [](Actor& a) {
       neighbour_barrier(a, 4);
       a.send(a.row("x", 0), a.row("a", 0), a.sem("send"), a.sem("recv"), right(a, 4));
       a.wait(a.sem("recv"), kRow);
       a.wait(a.sem("send"), kRow);
       neighbour_barrier(a, 4);
     },
     [](Actor& a) {
       neighbour_barrier(a, 4);
       a.send(a.row("x", 0), a.row("a", 0), a.sem("send"), a.sem("recv"), right(a, 4));
       a.wait(a.sem("recv"), kRow);
       a.wait(a.sem("send"), kRow);
       a.signal_to((a.device() + 3) % 4, a.sem("reg"));
       a.wait(a.sem("reg"), 1);
     }},
    // Two messages in flight on one receive semaphore: waiting for the first says nothing.
    {"two messages on one receive semaphore, sent at once", "race", 2,
     [](Actor& a) {
       a.enter();
       a.send(a.row("x", 0), a.row("a", 0), a.sem("send"), a.sem("recv"), 1 - a.device());
       a.send(a.row("x", 1), a.row("a", 1), a.sem("send"), a.sem("recv"), 1 - a.device());
       a.wait(a.sem("recv"), kRow);
       a.load(a.row("a", 0));
       a.wait(a.sem("recv"), kRow);
       a.wait(a.sem("send"), 2 * kRow);
     },
     [](Actor& a) {
       a.enter();
       a.send(a.row("x", 0), a.row("a", 0), a.sem("send"), a.sem("recv"), 1 - a.device());
       a.send(a.row("x", 1), a.row("a", 1), a.sem("send"), a.sem("recv"), 1 - a.device());
       a.wait(a.sem("recv"), kRow);
       a.wait(a.sem("recv"), kRow);
       a.load(a.row("a", 0));
       a.load(a.row("a", 1));
       a.wait(a.sem("send"), 2 * kRow);
     }},
    {"two messages on one receive semaphore, one after the other", "relies-on-message-order", 2,
     [](Actor& a) {
       a.enter();
       for (int64_t i = 0; i < 2; ++i) {
         a.send(a.row("x", i), a.row("a", i), a.sem("send"), a.sem("recv"), 1 - a.device());
         a.wait(a.sem("send"), kRow);
         a.wait(a.sem("recv"), kRow);
         a.load(a.row("a", i));
       }
     },
     [](Actor& a) {
       a.enter();
       for (int64_t i = 0; i < 2; ++i) {
         a.send(a.row("x", i), a.row("a", i), a.sem("send"), a.sem("recv", i), 1 - a.device());
         a.wait(a.sem("send"), kRow);
         a.wait(a.sem("recv", i), kRow);
         a.load(a.row("a", i));
       }
     }},
    {"two messages into one slot, one after the other", "relies-on-message-order", 2,
     [](Actor& a) {
       a.enter();
       for (int64_t i = 0; i < 2; ++i) {
         a.send(a.row("x", i), a.row("a", 0), a.sem("send"), a.sem("recv", i), 1 - a.device());
         a.wait(a.sem("send"), kRow);
       }
       a.wait(a.sem("recv", 0), kRow);
       a.wait(a.sem("recv", 1), kRow);
     },
     [](Actor& a) {
       a.enter();
       for (int64_t i = 0; i < 2; ++i) {
         a.send(a.row("x", i), a.row("a", 0), a.sem("send"), a.sem("recv", i), 1 - a.device());
         a.wait(a.sem("send"), kRow);
         a.wait(a.sem("recv", i), kRow);
         a.signal_to(1 - a.device(), a.sem("reg"));
         a.wait(a.sem("reg"), 1);
       }
       EXPECT_EQ(a.load(a.row("a", 0)), 8);
     }},
    // Only device 1 waits for both; device 0 and 2 send. Waiting for one of two senders orders neither.
    {"one wait for two senders", "race", 3,
     [](Actor& a) {
       a.enter();
       if (a.device() != 1) {
         a.send(a.row("x", 0), a.row("a", a.device()), a.sem("send"), a.sem("recv"), 1);
         a.wait(a.sem("send"), kRow);
         return;
       }
       a.wait(a.sem("recv"), kRow);
       a.load(a.row("a", 0));
       a.wait(a.sem("recv"), kRow);
     },
     [](Actor& a) {
       a.enter();
       if (a.device() != 1) {
         a.send(a.row("x", 0), a.row("a", a.device()), a.sem("send"), a.sem("recv"), 1);
         a.wait(a.sem("send"), kRow);
         return;
       }
       a.wait(a.sem("recv"), kRow);
       a.wait(a.sem("recv"), kRow);
       a.load(a.row("a", 0));
       a.load(a.row("a", 2));
     }},
    // Scoped memory of another device is an address there; before the scope is entered it may be another scope's.
    {"remote copy into a scope that its target may not have entered", "race", 2,
     [](Actor& a) {
       a.enter();
       scoped_message(a, false);
     },
     [](Actor& a) {
       a.enter();
       scoped_message(a, true);
     }},
    {"remote copy into a scope that its target entered again", "race", 2,
     [](Actor& a) {
       a.enter();
       scoped_message(a, true);
       scoped_message(a, false);
     },
     [](Actor& a) {
       a.enter();
       scoped_message(a, true);
       scoped_message(a, true);
     }},
    {"remote copy into a scope that has ended", "use-after-scope", 2,
     [](Actor& a) {
       a.enter();
       scoped_message(a, true);
       if (a.device() == 1) return a.signal_to(0, a.sem("reg", 1));
       a.scope("s", [&] {
         a.wait(a.sem("reg", 1), 1);
         a.send(a.row("x", 1), a.row("s", 0), a.sem("send"), a.sem("recv"), 1);
         a.wait(a.sem("send"), kRow);
       });
     },
     [](Actor& a) {
       a.enter();
       scoped_message(a, true);
       if (a.device() == 1) return a.signal_to(0, a.sem("reg", 1));
       a.scope("s", [&] { a.wait(a.sem("reg", 1), 1); });
     }},
};

class DevicesTest : public ::testing::TestWithParam<Twin> {};

TEST_P(DevicesTest, BrokenIsNamedAndCorrectIsSilentUnderEverySchedule) {
  const Twin& twin = GetParam();
  for (const std::string& schedule : schedules()) {
    const Outcome broken = run(twin.devices, schedule, twin.broken);
    EXPECT_THAT(broken.kinds(), Contains(twin.kind)) << schedule << "\n" << text(broken.findings);
    for (const Finding& f : broken.findings) {
      EXPECT_FALSE(f.helps.empty()) << f.message;
      EXPECT_TRUE(f.at.known() || std::string(twin.kind) == "collective-mismatch") << f.message;
    }
    const Outcome correct = run(twin.devices, schedule, twin.correct);
    EXPECT_TRUE(correct.findings.empty()) << schedule << "\n" << text(correct.findings);
    EXPECT_TRUE(correct.finished);
    EXPECT_TRUE(correct.independent) << schedule;
    EXPECT_LE(correct.runs, 3);
  }
}

std::string test_name(const ::testing::TestParamInfo<Twin>& info) {
  std::string name;
  for (const char c : std::string(info.param.name))
    if (std::isalnum(static_cast<unsigned char>(c))) {
      name += c;
    } else if (!name.empty() && name.back() != '_') {
      name += '_';
    }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Devices, DevicesTest, ::testing::ValuesIn(kDevices), test_name);

TEST(Devices, MessageOrderIsARaceWhenNothingKeepsIt) {
  const Body body = [](Actor& a) {
    a.enter();
    for (int64_t i = 0; i < 2; ++i) {
      a.send(a.row("x", i), a.row("a", i), a.sem("send"), a.sem("recv"), 1 - a.device());
      a.wait(a.sem("send"), kRow);
      a.wait(a.sem("recv"), kRow);
      a.load(a.row("a", i));
    }
  };
  Machine setup;
  setup.devices = 2;
  for (const std::string& schedule : schedules()) {
    EngineOptions options;
    options.schedule = parse_schedule(schedule);
    EXPECT_THAT(run(setup, options, body).kinds(), UnorderedElementsAre("relies-on-message-order")) << schedule;
    options.remote_in_order = false;
    EXPECT_THAT(run(setup, options, body).kinds(), UnorderedElementsAre("race")) << schedule;
  }
}

// Device 2 knows of the first message before the second leaves, for the same slot: whether its sender knows is what
// orders them.
TEST(Devices, AMessageFollowsOneThatIsKnownToHaveArrived) {
  for (const bool told : {false, true}) {
    const Body body = [told](Actor& a) {
      a.enter();
      if (a.device() == 0) {
        for (int64_t i = 0; i < 2; ++i) {
          a.send(a.row("x", i), a.row("a", 0), a.sem("send"), a.sem("recv", i), 2);
          a.wait(a.sem("send"), kRow);
          if (i == 0) a.wait(a.sem("reg"), 1);
        }
      } else if (a.device() == 1) {
        if (!told) a.signal_to(0, a.sem("reg"));
      } else {
        a.wait(a.sem("recv", 0), kRow);
        if (told) a.signal_to(0, a.sem("reg"));
        a.wait(a.sem("recv", 1), kRow);
      }
    };
    Machine setup;
    setup.devices = 3;
    for (const std::string& schedule : schedules()) {
      EngineOptions options;
      options.schedule = parse_schedule(schedule);
      const std::set<std::string> silent;
      EXPECT_EQ(run(setup, options, body).kinds(), told ? silent : std::set<std::string>{"relies-on-message-order"})
          << schedule;
      options.remote_in_order = false;
      EXPECT_EQ(run(setup, options, body).kinds(), told ? silent : std::set<std::string>{"race"}) << schedule;
    }
  }
}

// A ring whose first message has its semaphores swapped: what its waits guarantee hangs on messages that may come
// later. What one run learns of them holds in the next, though agents and copies take other turns there.
TEST(Devices, WaitsAreJudgedAlikeInEverySchedule) {
  const int n = 4;
  const Body body = [](Actor& a) {
    neighbour_barrier(a, n);
    for (int i = 0; i < n - 1; ++i) {
      if (i > 0) {
        a.wait(a.sem("send"), kRow);
        a.wait(a.sem("recv"), kRow);
      }
      const Ref row = a.row("a", (a.device() + i) % n);
      a.send(row, row, a.sem(i == 0 ? "recv" : "send"), a.sem(i == 0 ? "send" : "recv"), (a.device() + n - 1) % n);
    }
    a.wait(a.sem("send"), kRow);
    a.wait(a.sem("recv"), kRow);
  };
  std::vector<std::string> all = schedules();
  for (int seed = 5; seed < 40; ++seed) all.push_back("random:" + std::to_string(seed));
  for (const std::string& schedule : all) {
    const Outcome out = run(n, schedule, body);
    EXPECT_THAT(out.kinds(), UnorderedElementsAre("relies-on-message-order")) << schedule << "\n" << text(out.findings);
  }
}

// Each device passes its row on n - 1 times, two slots, with a signal that the slot is free.
void ring_all_gather(Actor& a, int n) {
  neighbour_barrier(a, n);
  a.copy(a.row("x", a.device()), a.row("y", a.device()), a.sem("sem"));
  a.wait(a.sem("sem"), kRow);
  for (int step = 0; step < n - 1; ++step) {
    const int mine = (a.device() + n - step) % n, theirs = (mine + n - 1) % n;
    a.send(a.row("y", mine), a.row("y", mine), a.sem("send"), a.sem("recv", step % 2), right(a, n));
    a.wait(a.sem("send"), kRow);
    a.wait(a.sem("recv", step % 2), kRow);
    // The right neighbour may use the semaphore of this step again.
    a.signal_to((a.device() + n - 1) % n, a.sem("reg", step % 2));
    a.wait(a.sem("reg", step % 2), 1);
    (void)theirs;
  }
}

TEST(Devices, RingAllGatherIsSilentAndRightOnTwoToEight) {
  for (int n = 2; n <= 8; ++n)
    for (const std::string& schedule : schedules()) {
      Machine setup;
      setup.devices = n;
      EngineOptions options;
      options.schedule = parse_schedule(schedule);
      const Outcome out = run(setup, options, [n](Actor& a) { ring_all_gather(a, n); });
      ASSERT_THAT(out.findings, IsEmpty()) << n << " " << schedule << "\n" << text(out.findings);
      for (int d = 0; d < n; ++d)
        for (size_t i = 0; i < static_cast<size_t>(8 * n); ++i)
          ASSERT_EQ(out.arrays[static_cast<size_t>(d)].at("y")[i], static_cast<float>(i)) << schedule;
    }
}

}  // namespace
}  // namespace tilecheck::testing_sync
