// Each finding kind has its smallest trigger and a correct twin, which is silent under every schedule.
#include <gmock/gmock.h>

#include "tests/unit/sync/world.h"

namespace tilecheck::testing_sync {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

struct Twin {
  const char* name;
  const char* kind;
  int devices;
  Body broken;
  Body correct;
};

// One core.
const Twin kOneCore[] = {
    {"never waited for (b)", "dma-not-awaited", 1, [](Actor& a) { a.copy(a.ref("x"), a.ref("y"), a.sem("sem")); },
     [](Actor& a) {
       a.copy(a.ref("x"), a.ref("y"), a.sem("sem"));
       a.wait(a.sem("sem"), 16 * kRow);
     }},
    {"wait without start (a2)", "wait-without-start", 1, [](Actor& a) { a.wait(a.sem("sem"), kRow); },
     [](Actor& a) {
       a.copy(a.row("x", 0), a.row("a", 0), a.sem("sem"));
       a.wait(a.sem("sem"), kRow);
     }},
    {"wait for more than was started", "wait-without-start", 1,
     [](Actor& a) {
       a.copy(a.row("x", 0), a.row("a", 0), a.sem("sem"));
       a.wait(a.sem("sem"), 2 * kRow);
     },
     [](Actor& a) {
       a.copy(a.rows("x", 0, 2), a.rows("a", 0, 2), a.sem("sem"));
       a.wait(a.sem("sem"), 2 * kRow);
     }},
    {"never signalled (a)", "deadlock", 1, [](Actor& a) { a.wait(a.sem("reg"), 1); },
     [](Actor& a) {
       a.signal(a.sem("reg"));
       a.wait(a.sem("reg"), 1);
     }},
    {"leaked signals (c)", "semaphore-not-drained", 1, [](Actor& a) { a.signal(a.sem("reg"), 3); },
     [](Actor& a) {
       a.signal(a.sem("reg"), 3);
       a.wait(a.sem("reg"), 3);
     }},
    {"store into a slot whose outgoing copy is in flight (d)", "race", 1,
     [](Actor& a) {
       a.copy(a.row("a", 0), a.row("y", 0), a.sem("sem"));
       a.store(a.row("a", 0), 7);
       a.wait(a.sem("sem"), kRow);
     },
     [](Actor& a) {
       a.copy(a.row("a", 0), a.row("y", 0), a.sem("sem"));
       a.store(a.row("a", 1), 7);
       a.wait(a.sem("sem"), kRow);
       a.store(a.row("a", 0), 7);
     }},
    {"slot overwritten by an incoming copy while its outgoing copy is in flight (d2)", "race", 1,
     [](Actor& a) {
       a.copy(a.row("a", 0), a.row("y", 0), a.sem("sem", 0));
       a.copy(a.row("x", 3), a.row("a", 0), a.sem("sem", 1));
       a.wait(a.sem("sem", 1), kRow);
       a.wait(a.sem("sem", 0), kRow);
     },
     [](Actor& a) {
       a.copy(a.row("a", 0), a.row("y", 0), a.sem("sem", 0));
       a.wait(a.sem("sem", 0), kRow);
       a.copy(a.row("x", 3), a.row("a", 0), a.sem("sem", 1));
       a.wait(a.sem("sem", 1), kRow);
     }},
    {"slot read before its wait (e)", "race", 1,
     [](Actor& a) {
       a.copy(a.row("x", 3), a.row("a", 0), a.sem("sem"));
       a.load(a.row("a", 0));
       a.wait(a.sem("sem"), kRow);
     },
     [](Actor& a) {
       a.copy(a.row("x", 3), a.row("a", 0), a.sem("sem"));
       a.wait(a.sem("sem"), kRow);
       EXPECT_EQ(a.load(a.row("a", 0)), 24);
     }},
    {"half-wait on a shared semaphore (f)", "race", 1,
     [](Actor& a) {
       a.copy(a.row("x", 0), a.row("a", 0), a.sem("sem"));
       a.copy(a.row("x", 1), a.row("a", 1), a.sem("sem"));
       a.wait(a.sem("sem"), kRow);
       a.load(a.row("a", 0));
       a.wait(a.sem("sem"), kRow);
     },
     [](Actor& a) {
       a.copy(a.row("x", 0), a.row("a", 0), a.sem("sem"));
       a.copy(a.row("x", 1), a.row("a", 1), a.sem("sem"));
       a.wait(a.sem("sem"), kRow);
       a.wait(a.sem("sem"), kRow);
       a.load(a.row("a", 0));
       a.load(a.row("a", 1));
     }},
    {"half-wait, and nothing more", "semaphore-not-drained", 1,
     [](Actor& a) {
       a.copy(a.row("x", 0), a.row("a", 0), a.sem("sem"));
       a.copy(a.row("x", 1), a.row("a", 1), a.sem("sem"));
       a.wait(a.sem("sem"), kRow);
     },
     [](Actor& a) {
       a.copy(a.row("x", 0), a.row("a", 0), a.sem("sem"));
       a.wait(a.sem("sem"), kRow);
       a.copy(a.row("x", 1), a.row("a", 1), a.sem("sem"));
       a.wait(a.sem("sem"), kRow);
     }},
    {"wait for half of the bytes of a copy (f2)", "semaphore-not-drained", 1,
     [](Actor& a) {
       a.copy(a.rows("x", 0, 2), a.rows("a", 0, 2), a.sem("sem"));
       a.wait(a.sem("sem"), kRow);
     },
     [](Actor& a) {
       a.copy(a.rows("x", 0, 2), a.rows("a", 0, 2), a.sem("sem"));
       a.wait(a.sem("sem"), kRow);
       a.wait(a.sem("sem"), kRow);
       a.load(a.row("a", 0));
     }},
    {"two copies in flight to one destination (j)", "race", 1,
     [](Actor& a) {
       a.copy(a.row("x", 0), a.row("a", 0), a.sem("sem", 0));
       a.copy(a.row("x", 1), a.row("a", 0), a.sem("sem", 1));
       a.wait(a.sem("sem", 0), kRow);
       a.wait(a.sem("sem", 1), kRow);
     },
     [](Actor& a) {
       a.copy(a.row("x", 0), a.row("a", 0), a.sem("sem", 0));
       a.wait(a.sem("sem", 0), kRow);
       a.copy(a.row("x", 1), a.row("a", 0), a.sem("sem", 1));
       a.wait(a.sem("sem", 1), kRow);
       EXPECT_EQ(a.load(a.row("a", 0)), 8);
     }},
    {"the same, waits swapped (j2)", "race", 1,
     [](Actor& a) {
       a.copy(a.row("x", 0), a.row("a", 0), a.sem("sem", 0));
       a.copy(a.row("x", 1), a.row("a", 0), a.sem("sem", 1));
       a.wait(a.sem("sem", 1), kRow);
       a.wait(a.sem("sem", 0), kRow);
     },
     [](Actor& a) {
       a.copy(a.row("x", 0), a.row("a", 0), a.sem("sem", 0));
       a.copy(a.row("x", 1), a.row("a", 1), a.sem("sem", 1));
       a.wait(a.sem("sem", 1), kRow);
       a.wait(a.sem("sem", 0), kRow);
     }},
    {"store into a copy's source after its start (j3)", "race", 1,
     [](Actor& a) {
       a.store(a.row("a", 0), 1);
       a.copy(a.row("a", 0), a.row("y", 0), a.sem("sem"));
       a.store(a.row("a", 0), 2);
       a.wait(a.sem("sem"), kRow);
     },
     [](Actor& a) {
       a.store(a.row("a", 0), 1);
       a.copy(a.row("a", 0), a.row("y", 0), a.sem("sem"));
       a.load(a.row("a", 0));
       a.wait(a.sem("sem"), kRow);
       a.store(a.row("a", 0), 2);
     }},
    {"wait on the other slot's semaphore", "race", 1,
     [](Actor& a) {
       a.copy(a.row("x", 0), a.row("a", 0), a.sem("sem", 0));
       a.copy(a.row("x", 1), a.row("a", 1), a.sem("sem", 1));
       a.wait(a.sem("sem", 1), kRow);
       a.load(a.row("a", 0));
       a.wait(a.sem("sem", 0), kRow);
     },
     [](Actor& a) {
       a.copy(a.row("x", 0), a.row("a", 0), a.sem("sem", 0));
       a.copy(a.row("x", 1), a.row("a", 1), a.sem("sem", 1));
       a.wait(a.sem("sem", 0), kRow);
       a.load(a.row("a", 0));
       a.wait(a.sem("sem", 1), kRow);
     }},
    {"strided copies that meet", "race", 1,
     [](Actor& a) {
       a.copy(a.ref("x")({ds(0, 8, 2)}), a.ref("a")({ds(0, 8, 2)}), a.sem("sem", 0));
       a.copy(a.ref("x")({ds(0, 5, 3)}), a.ref("a")({ds(1, 5, 3)}), a.sem("sem", 1));
       a.wait(a.sem("sem", 0), 8 * kRow);
       a.wait(a.sem("sem", 1), 5 * kRow);
     },
     [](Actor& a) {
       a.copy(a.ref("x")({ds(0, 8, 2)}), a.ref("a")({ds(0, 8, 2)}), a.sem("sem", 0));
       a.copy(a.ref("x")({ds(1, 8, 2)}), a.ref("a")({ds(1, 8, 2)}), a.sem("sem", 1));
       a.wait(a.sem("sem", 0), 8 * kRow);
       a.wait(a.sem("sem", 1), 8 * kRow);
     }},
    {"columns under another shape", "race", 1,
     [](Actor& a) {
       a.copy(a.row("x", 0), a.row("a", 3), a.sem("sem"));
       a.load(a.ref("a").reshaped({4, 4, 8})({0, 3}));
       a.wait(a.sem("sem"), kRow);
     },
     [](Actor& a) {
       a.copy(a.row("x", 0), a.row("a", 3), a.sem("sem"));
       a.load(a.ref("a").reshaped({4, 4, 8})({0, 2}));
       a.load(a.ref("a").reshaped({128})({ds(32, 96)}));
       a.wait(a.sem("sem"), kRow);
     }},
    {"a copy onto a part of itself", "race", 1,
     [](Actor& a) {
       a.copy(a.rows("a", 0, 4), a.rows("a", 1, 4), a.sem("sem"));
       a.wait(a.sem("sem"), 4 * kRow);
     },
     [](Actor& a) {
       a.copy(a.rows("a", 0, 4), a.rows("a", 4, 4), a.sem("sem"));
       a.wait(a.sem("sem"), 4 * kRow);
     }},
    {"signal to a DMA semaphore", "semaphore-misuse", 1, [](Actor& a) { a.signal(a.sem("sem")); }, [](Actor&) {}},
    {"a count beyond 32 bits", "semaphore-overflow", 1,
     [](Actor& a) {
       a.signal(a.sem("reg"), 2147483647);
       a.signal(a.sem("reg"), 1);
     },
     [](Actor& a) {
       a.signal(a.sem("reg"), 2147483647);
       a.wait(a.sem("reg"), 2147483647);
       a.signal(a.sem("reg"), 1);
       a.wait(a.sem("reg"), 1);
     }},
    {"scope ended with a copy in flight", "dma-not-awaited", 1,
     [](Actor& a) {
       Buffer* const list[] = {a.ref("a").buffer};
       a.engine().enter_scope(0, list, {});
       a.copy(a.row("x", 0), a.row("a", 0), a.sem("sem"));
       a.engine().leave_scope(0, list, std::source_location::current());
       a.wait(a.sem("sem"), kRow);
     },
     [](Actor& a) {
       Buffer* const list[] = {a.ref("a").buffer};
       a.engine().enter_scope(0, list, {});
       a.copy(a.row("x", 0), a.row("a", 0), a.sem("sem"));
       a.wait(a.sem("sem"), kRow);
       a.engine().leave_scope(0, list, std::source_location::current());
     }},
    {"scoped semaphore not drained", "semaphore-not-drained", 1,
     [](Actor& a) {
       Buffer* const list[] = {a.sem("reg").buffer};
       a.engine().enter_scope(0, list, {});
       a.signal(a.sem("reg", 2));
       a.engine().leave_scope(0, list, std::source_location::current());
     },
     [](Actor& a) {
       Buffer* const list[] = {a.sem("reg").buffer};
       a.engine().enter_scope(0, list, {});
       a.signal(a.sem("reg", 2));
       a.wait(a.sem("reg", 2), 1);
       a.engine().leave_scope(0, list, std::source_location::current());
     }},
    {"memory used after its scope", "use-after-scope", 1,
     [](Actor& a) {
       Buffer* const list[] = {a.ref("a").buffer};
       a.engine().enter_scope(0, list, {});
       a.engine().leave_scope(0, list, std::source_location::current());
       a.copy(a.row("x", 0), a.row("a", 0), a.sem("sem"));
     },
     [](Actor& a) {
       Buffer* const list[] = {a.ref("a").buffer};
       a.engine().enter_scope(0, list, {});
       a.copy(a.row("x", 0), a.row("a", 0), a.sem("sem"));
       a.wait(a.sem("sem"), kRow);
       a.engine().leave_scope(0, list, std::source_location::current());
     }},
    {"a copy to a device that does not exist", "collective-mismatch", 1,
     [](Actor& a) { a.send(a.row("x", 0), a.row("y", 0), a.sem("send"), a.sem("recv"), 1); },
     [](Actor& a) {
       a.send(a.row("x", 1), a.row("y", 0), a.sem("send"), a.sem("recv"), 0);
       a.wait(a.sem("send"), kRow);
       a.wait(a.sem("recv"), kRow);
       a.store(a.row("x", 1), 1);
       a.copy(a.row("y", 0), a.row("a", 0), a.sem("sem"));
       a.wait(a.sem("sem"), kRow);
       EXPECT_EQ(a.load(a.row("a", 0)), 8);
     }},
};

class TwinsTest : public ::testing::TestWithParam<Twin> {};

TEST_P(TwinsTest, BrokenIsNamedAndCorrectIsSilentUnderEverySchedule) {
  const Twin& twin = GetParam();
  for (const std::string& schedule : schedules()) {
    const Outcome broken = run(twin.devices, schedule, twin.broken);
    EXPECT_THAT(broken.kinds(), Contains(twin.kind)) << schedule << "\n" << text(broken.findings);
    for (const Finding& f : broken.findings) {
      EXPECT_FALSE(f.helps.empty()) << f.message;
      EXPECT_TRUE(f.at.known()) << f.message;
    }
    const Outcome correct = run(twin.devices, schedule, twin.correct);
    EXPECT_TRUE(correct.findings.empty()) << schedule << "\n" << text(correct.findings);
    EXPECT_TRUE(correct.finished);
    EXPECT_TRUE(correct.independent) << schedule;
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
  return name + std::to_string(info.index);
}

INSTANTIATE_TEST_SUITE_P(OneCore, TwinsTest, ::testing::ValuesIn(kOneCore), test_name);

}  // namespace
}  // namespace tilecheck::testing_sync
