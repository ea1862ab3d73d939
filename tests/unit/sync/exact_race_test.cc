// Both sides of a race are the accesses that race: their own elements, step and copy, however many like them came
// before from the same line.
#include "tests/unit/sync/world.h"

namespace tilecheck::testing_sync {
namespace {

Machine agents(int n, bool cores) {
  Machine machine;
  machine.devices = n;
  machine.cores = cores;
  return machine;
}

// The labels of the only finding, "" and its text if there is another number of them.
std::vector<std::string> labels(const Outcome& out) {
  std::vector<std::string> all;
  if (out.findings.size() != 1) return {text(out.findings)};
  for (const Label& l : out.findings[0].labels) all.push_back(l.text);
  return all;
}

struct Case {
  const char* name;
  Machine machine;
  Body earlier;  // the same to each of 8 rows, one a step
  Body later;    // agent 1: to one of them
  std::string first, second;
};

void rows_of(Actor& a, const std::function<void(int64_t)>& body) {
  for (int64_t i = 0; i < 8; ++i) {
    a.step(i);
    body(i);
  }
}

const Case kCases[] = {
    {"CoreStores", agents(2, true), [](Actor& a) { rows_of(a, [&](int64_t i) { a.store(a.row("y", i), 1); }); },
     [](Actor& a) { a.load(a.row("y", 3)); }, "core 0 writes HBM y[3, 0:8] (32 B), step (3)",
     "core 1 reads HBM y[3, 0:8] (32 B)"},
    {"CoreLoads", agents(2, true), [](Actor& a) { rows_of(a, [&](int64_t i) { a.load(a.row("y", i)); }); },
     [](Actor& a) { a.store(a.row("y", 3), 1); }, "core 0 reads HBM y[3, 0:8] (32 B), step (3)",
     "core 1 writes HBM y[3, 0:8] (32 B)"},
    {"LocalCopiesWrite", agents(2, true),
     [](Actor& a) {
       rows_of(a, [&](int64_t i) {
         a.copy(a.row("x", i), a.row("y", i), a.sem("sem"));
         a.wait(a.sem("sem"), kRow);
       });
     },
     [](Actor& a) { a.load(a.row("y", 3)); }, "DMA #4 of core 0 writes HBM y[3, 0:8] (32 B), step (3)",
     "core 1 reads HBM y[3, 0:8] (32 B)"},
    {"LocalCopiesRead", agents(2, true),
     [](Actor& a) {
       rows_of(a, [&](int64_t i) {
         a.copy(a.row("x", i), a.row("a", 0), a.sem("sem"));
         a.wait(a.sem("sem"), kRow);
       });
     },
     [](Actor& a) { a.store(a.row("x", 3), 1); }, "DMA #4 of core 0 reads HBM x[3, 0:8] (32 B), step (3)",
     "core 1 writes HBM x[3, 0:8] (32 B)"},
    {"RemoteCopiesWrite", agents(3, false),
     [](Actor& a) {
       rows_of(a, [&](int64_t i) {
         a.send(a.row("x", i), a.row("b", i), a.sem("send"), a.sem("recv"), 0);
         a.wait(a.sem("send"), kRow);
       });
     },
     [](Actor& a) {
       a.send(a.row("x", 3), a.row("b", 3), a.sem("send", 1), a.sem("recv", 1), 0);
       a.wait(a.sem("send", 1), kRow);
     },
     "DMA #4 of device 2 writes VMEM b[3, 0:8] (32 B), step (3)", "DMA #9 of device 1 writes VMEM b[3, 0:8] (32 B)"},
    {"WindowCopies", agents(2, true),
     [](Actor& a) {
       rows_of(a, [&](int64_t i) {
         a.window_copy(a.row("x", i), a.row("y", i), a.sem("sem"));
         a.wait(a.sem("sem"), kRow);
       });
     },
     [](Actor& a) { a.load(a.row("y", 3)); }, "DMA #4 (window copy) of core 0 writes HBM y[3, 0:8] (32 B), step (3)",
     "core 1 reads HBM y[3, 0:8] (32 B)"},
    // Rows that both write with the same bytes are no race: row 2 alone gets others.
    {"WindowCopiesOfOtherBytes", agents(2, true),
     [](Actor& a) {
       rows_of(a, [&](int64_t i) {
         a.window_copy(a.row("x", i), a.row("y", i), a.sem("sem"));
         a.wait(a.sem("sem"), kRow);
       });
     },
     [](Actor& a) {
       a.copy(a.rows("x", 0, 8), a.rows("a", 0, 8), a.sem("sem"));
       a.wait(a.sem("sem"), 8 * kRow);
       a.store(a.row("a", 2), -1);
       a.window_copy(a.rows("a", 0, 8), a.rows("y", 0, 8), a.sem("sem"));
       a.wait(a.sem("sem"), 8 * kRow);
     },
     "DMA #3 (window copy) of core 0 writes HBM y[2, 0:8] (32 B), step (2)",
     "DMA #10 (window copy) of core 1 writes HBM y[0:8, 0:8] (256 B)"},
    // Both sides are many of one line.
    {"BothSides", agents(2, true), [](Actor& a) { rows_of(a, [&](int64_t i) { a.store(a.row("y", i), 1); }); },
     [](Actor& a) {
       for (int64_t i = 12; i > 5; --i) {
         a.step(100 - i);
         a.store(a.row("y", i), 2);
       }
     },
     "core 0 writes HBM y[7, 0:8] (32 B), step (7)", "core 1 writes HBM y[7, 0:8] (32 B), step (93)"},
    // Two rows a store, of which the race is in one.
    {"Overlap", agents(2, true), [](Actor& a) { rows_of(a, [&](int64_t i) { a.store(a.rows("y", 2 * i, 2), 1); }); },
     [](Actor& a) { a.load(a.row("y", 5)); }, "core 0 writes HBM y[4:6, 0:8] (64 B), step (2)",
     "core 1 reads HBM y[5, 0:8] (32 B)"},
};

class ExactRaceTest : public ::testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Kinds, ExactRaceTest, ::testing::ValuesIn(kCases),
                         [](const auto& i) { return std::string(i.param.name); });

// ordered: what is earlier ends with a signal to what is later. Agents run one after the other: 0, 1, or, from the
// entry barrier on, 2 (the sender), 0 (the receiver), 1.
Outcome both(const Case& c, bool ordered) {
  const bool remote = c.machine.devices == 3;
  return run(c.machine, {}, [&](Actor& a) {
    if (remote) a.enter();
    if (a.id() == (remote ? 2 : 0)) {
      c.earlier(a);
      if (ordered && !remote) a.signal_to(1, a.sem("reg"));
    } else if (a.id() == 0) {
      a.wait(a.sem("recv"), 8 * kRow);
      if (ordered) a.signal_to(1, a.sem("reg"));
      a.wait(a.sem("recv", 1), kRow);
    } else {
      if (ordered) a.wait(a.sem("reg"), 1);
      c.later(a);
    }
  });
}

TEST_P(ExactRaceTest, NamesTheAccessThatRaces) {
  const std::vector<std::string> found = labels(both(GetParam(), false));
  ASSERT_EQ(found.size(), 2u) << found[0];
  EXPECT_EQ(found[0].substr(0, GetParam().second.size()), GetParam().second);
  EXPECT_EQ(found[1], GetParam().first);
}

TEST_P(ExactRaceTest, IsSilentWhenOrdered) {
  const Outcome out = both(GetParam(), true);
  EXPECT_TRUE(out.findings.empty()) << text(out.findings);
  EXPECT_EQ(out.runs, 1);
}

}  // namespace
}  // namespace tilecheck::testing_sync
