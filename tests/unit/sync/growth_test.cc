// Memory stays bounded by live buffers: a long run needs no more than a short one. Time stays linear.
#include <malloc.h>

#include "tests/unit/sync/world.h"

namespace tilecheck::testing_sync {
namespace {

// Bytes that the heap gained between a tenth of the loop and its end, seen by agent 0.
class Growth {
 public:
  explicit Growth(int64_t steps) : steps_(steps) {}
  void at(int64_t step) {
    if (step == steps_ / 10) begin_ = mallinfo2().uordblks;
    if (step == steps_ - 1) grown_ = static_cast<int64_t>(mallinfo2().uordblks) - static_cast<int64_t>(begin_);
  }
  int64_t grown_bytes() const { return grown_; }

 private:
  int64_t steps_;
  size_t begin_ = 0;
  int64_t grown_ = -1;
};

constexpr int64_t kSteps = 30000;
constexpr int64_t kMostBytes = 64 << 10;

TEST(Growth, OneCoreThatCopiesInALoop) {
  Growth growth(kSteps);
  const Outcome out = run(1, "lazy", [&](Actor& a) {
    a.copy(a.row("x", 0), a.row("a", 0), a.sem("sem", 0));
    for (int64_t i = 0; i < kSteps; ++i) {
      growth.at(i);
      a.copy(a.row("x", (i + 1) % 16), a.row("a", (i + 1) % 2), a.sem("sem", (i + 1) % 2));
      a.wait(a.sem("sem", i % 2), kRow);
      a.load(a.row("a", i % 2));
      a.signal(a.sem("reg"));
      a.wait(a.sem("reg"), 1);
    }
    a.wait(a.sem("sem", kSteps % 2), kRow);
  });
  EXPECT_TRUE(out.findings.empty()) << text(out.findings);
  EXPECT_LT(growth.grown_bytes(), kMostBytes);
}

TEST(Growth, TwoCoresThatNeverMeet) {
  Growth growth(kSteps);
  Machine machine;
  machine.devices = 2;
  machine.cores = true;
  const Outcome out = run(machine, {}, [&](Actor& a) {
    for (int64_t i = 0; i < kSteps; ++i) {
      if (a.id() == 0) growth.at(i);
      a.window_copy(a.row("x", i % 8), a.row("a", i % 3), a.sem("sem"));
      a.wait(a.sem("sem"), kRow);
      a.store(a.row("b", i % 5), a.load(a.row("a", i % 3)));
      a.window_copy(a.row("b", i % 5), a.row("y", 8 * a.id() + i % 8), a.sem("sem"));
      a.wait(a.sem("sem"), kRow);
    }
  });
  EXPECT_TRUE(out.findings.empty()) << text(out.findings);
  EXPECT_LT(growth.grown_bytes(), kMostBytes);
}

TEST(Growth, DevicesThatSendInARing) {
  Growth growth(kSteps / 10);
  const int n = 3;
  const Outcome out = run(n, "lazy", [&](Actor& a) {
    a.enter();
    for (int64_t i = 0; i < kSteps / 10; ++i) {
      if (a.id() == 0) growth.at(i);
      a.store(a.row("a", i % 2), static_cast<float>(i));
      a.send(a.row("a", i % 2), a.row("b", i % 2), a.sem("send"), a.sem("recv", i % 2), (a.device() + 1) % n);
      a.wait(a.sem("send"), kRow);
      a.wait(a.sem("recv", i % 2), kRow);
      a.load(a.row("b", i % 2));
      a.signal_to((a.device() + n - 1) % n, a.sem("reg", i % 2));
      a.wait(a.sem("reg", i % 2), 1);
    }
  });
  EXPECT_TRUE(out.findings.empty()) << text(out.findings);
  EXPECT_LT(growth.grown_bytes(), kMostBytes);
}

// Device 2 learns nothing of what the others do.
TEST(Growth, DevicesBesideOneThatNeverLearns) {
  Growth growth(kSteps / 10);
  const Outcome out = run(3, "lazy", [&](Actor& a) {
    a.enter();
    if (a.device() == 2) return a.wait(a.sem("reg", 2), 1);
    const int other = 1 - a.device();
    for (int64_t i = 0; i < kSteps / 10; ++i) {
      if (a.id() == 0) growth.at(i);
      a.send(a.row("a", i % 2), a.row("b", i % 2), a.sem("send"), a.sem("recv", i % 2), other);
      a.wait(a.sem("send"), kRow);
      a.wait(a.sem("recv", i % 2), kRow);
      a.load(a.row("b", i % 2));
      a.signal_to(other, a.sem("reg", i % 2));
      a.wait(a.sem("reg", i % 2), 1);
    }
    if (a.id() == 0) a.signal_to(2, a.sem("reg", 2));
  });
  EXPECT_TRUE(out.findings.empty()) << text(out.findings);
  EXPECT_LT(growth.grown_bytes(), kMostBytes);
}

// More copies than a kernel should need: they only take memory.
TEST(Growth, ManyCopiesInFlight) {
  constexpr int64_t kCopies = 40000;
  Machine machine;
  machine.rows = kCopies;
  const Outcome out = run(machine, {}, [&](Actor& a) {
    for (int64_t i = 0; i < kCopies; ++i) a.copy(a.row("x", i), a.row("a", i), a.sem("sem"));
    for (int64_t i = 0; i < kCopies; ++i) a.wait(a.sem("sem"), kRow);
  });
  EXPECT_TRUE(out.findings.empty()) << text(out.findings);
}

// A loop that races at every step tells it once, with a count.
TEST(Growth, RepeatsAreFolded) {
  Growth growth(kSteps / 10);
  const Outcome out = run(1, "lazy", [&](Actor& a) {
    for (int64_t i = 0; i < kSteps / 10; ++i) {
      growth.at(i);
      a.step(i);
      a.copy(a.row("x", 0), a.row("a", 0), a.sem("sem"));
      a.load(a.row("a", 0));
      a.wait(a.sem("sem"), kRow);
    }
  });
  ASSERT_EQ(out.findings.size(), 1u) << text(out.findings);
  EXPECT_EQ(out.findings[0].repeats, kSteps / 10 - 1);
  EXPECT_LT(growth.grown_bytes(), kMostBytes);
}

// Scopes come and go; so do their semaphores.
TEST(Growth, Scopes) {
  Growth growth(kSteps);
  const Outcome out = run(1, "lazy", [&](Actor& a) {
    Buffer* const list[] = {a.ref("a").buffer, a.sem("sem").buffer};
    for (int64_t i = 0; i < kSteps; ++i) {
      growth.at(i);
      for (Buffer* b : list) b->alive = true;
      a.engine().enter_scope(0, list, {});
      a.copy(a.row("x", 0), a.row("a", 0), a.sem("sem"));
      a.wait(a.sem("sem"), kRow);
      a.engine().leave_scope(0, list, {});
    }
  });
  EXPECT_TRUE(out.findings.empty()) << text(out.findings);
  EXPECT_LT(growth.grown_bytes(), kMostBytes);
}

// ---- Time is linear in copies and accesses: so is what is looked at. A copy is looked at a bounded number of times,
// but for those in short histories, of 128 events at most.

struct Load {
  const char* name;
  int devices;
  const char* schedule;
  std::function<void(Actor&, int64_t)> body;  // of n copies, accesses or signals
};

void start_all(Actor& a, int64_t n) {
  for (int64_t i = 0; i < n; ++i) a.copy(a.row("x", i), a.row("a", i), a.sem("sem"));
}

void wait_one_by_one(Actor& a, int64_t n) {
  for (int64_t i = 0; i < n; ++i) a.wait(a.sem("sem"), kRow);
}

void copies_on_one_semaphore(Actor& a, int64_t n) {
  start_all(a, n);
  wait_one_by_one(a, n);
}

const Load kLoads[] = {
    {"CopiesOnOneSemaphoreLazy", 1, "lazy", copies_on_one_semaphore},
    {"CopiesOnOneSemaphoreEager", 1, "eager", copies_on_one_semaphore},
    {"CopiesOnOneSemaphoreLifo", 1, "lifo", copies_on_one_semaphore},
    {"CopiesOnOneSemaphoreTorn", 1, "torn", copies_on_one_semaphore},
    {"LoadsBesideCopies", 1, "lazy",
     [](Actor& a, int64_t n) {
       start_all(a, n);
       for (int64_t i = 0; i < n; ++i) a.load(a.row("a", 2 * n + i));
       wait_one_by_one(a, n);
     }},
    {"Signals", 2, "lazy",
     [](Actor& a, int64_t n) {
       for (int64_t i = 0; i < n; ++i)
         if (a.id() == 0) a.signal_to(1, a.sem("reg"));
       for (int64_t i = 0; i < n; ++i)
         if (a.id() == 1) a.wait(a.sem("reg"), 1);
     }},
    {"AtOnceBesideAnother", 2, "lazy",
     [](Actor& a, int64_t n) {
       if (a.id() == 1) a.wait(a.sem("reg"), 1);
       start_all(a, n);
       if (a.id() == 0) a.signal_to(1, a.sem("reg"));
       wait_one_by_one(a, n);
     }},
    {"Messages", 2, "lazy",
     [](Actor& a, int64_t n) {
       const int64_t own = a.device() * n;
       for (int64_t i = 0; i < n; ++i)
         a.send(a.row("x", i), a.row("a", own + i), a.sem("send"), a.sem("recv"), 1 - a.device());
       a.wait(a.sem("send"), n * kRow);
       for (int64_t i = 0; i < n; ++i) a.wait(a.sem("recv"), kRow);
     }},
    {"MessagesSentOneByOne", 2, "lazy",
     [](Actor& a, int64_t n) {
       const int64_t own = a.device() * n;
       for (int64_t i = 0; i < n; ++i) {
         a.send(a.row("x", i), a.row("a", own + i), a.sem("send"), a.sem("recv"), 1 - a.device());
         a.wait(a.sem("send"), kRow);
       }
       for (int64_t i = 0; i < n; ++i) a.wait(a.sem("recv"), kRow);
       for (int64_t i = 0; i < n; ++i) a.load(a.row("a", n - own + i));
     }},
    // Rows that nothing merges, as each has its own epoch.
    {"StoresThatStayApart", 2, "lazy",
     [](Actor& a, int64_t n) {
       for (int64_t i = 0; i < n; ++i) {
         a.store(a.row("a", 2 * i), 1);
         a.signal_to(1 - a.device(), a.sem("reg"));
       }
       a.wait(a.sem("reg"), n);
     }},
};

class LinearTest : public ::testing::TestWithParam<Load> {};
INSTANTIATE_TEST_SUITE_P(Loads, LinearTest, ::testing::ValuesIn(kLoads),
                         [](const auto& i) { return std::string(i.param.name); });

int64_t looked_at(const Load& load, int64_t n) {
  Machine machine;
  machine.devices = load.devices;
  machine.rows = 3 * n;
  EngineOptions options;
  options.schedule = parse_schedule(load.schedule);
  const Outcome out = run(machine, options, [&](Actor& a) {
    a.enter();
    load.body(a, n);
  });
  EXPECT_TRUE(out.findings.empty()) << text(out.findings);
  return out.looked_at;
}

TEST_P(LinearTest, LooksAtEachABoundedNumberOfTimes) {
  const int64_t few = looked_at(GetParam(), 1000), many = looked_at(GetParam(), 4000);
  EXPECT_LE(many, 4 * few + few / 10) << few << " of 1000";
  EXPECT_LE(many, 8 * 4000 + 10 * 128 * 128);
}

}  // namespace
}  // namespace tilecheck::testing_sync
