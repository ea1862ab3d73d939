// What the mutants of small correct kernels are caught by.
#include "harness/mutation.h"

#include <gmock/gmock.h>

#include <atomic>

#include "harness/payload_subject.h"
#include "sim/types/error.h"

namespace tilecheck {
namespace {

std::string fixture(const std::string& name) { return std::string(TILECHECK_SOURCE_DIR) + "/tests/fixtures/" + name; }

MutationReport mutate(const std::string& name) {
  const CommandLine line;
  const Subject subject = capture_subject(fixture(name), line);
  return run_mutations(subject, line.run, mutations_of(subject, fixture(name), line));
}

std::string survivors(const MutationReport& r) {
  std::string text;
  for (const MutantOutcome& m : r.mutants)
    if (m.caught == Caught::missed) text += m.what + ": " + m.by + "\n";
  return text;
}

TEST(Mutation, NoMutantOfThePayloadFixturesIsMissed) {
  for (const char* name : {"dma_double_buffer", "ring_permute", "signal_neighbour", "half_awaited_mended",
                           "window_left_in_flight_mended", "store_into_outgoing_mended"}) {
    const MutationReport r = mutate(name);
    EXPECT_EQ(survivors(r), "") << name;
    EXPECT_GT(r.count(Caught::by_ordering), 0) << name;
    for (const MutantOutcome& m : r.mutants) {
      EXPECT_FALSE(m.by.empty()) << name << ": " << m.what;
      // What leaves a copy or signal unawaited is named as such, whatever it does to the results.
      if (m.kind == "drop" && m.what.starts_with("leave out the wait")) {
        EXPECT_NE(m.caught, Caught::equivalent) << name << ": " << m.what << ": " << m.by;
      }
    }
  }
}

TEST(Mutation, TheSameMutantsAreFoundEachTime) {
  const MutationReport a = mutate("ring_permute"), b = mutate("ring_permute");
  ASSERT_EQ(a.mutants.size(), b.mutants.size());
  for (size_t i = 0; i < a.mutants.size(); ++i) {
    EXPECT_EQ(a.mutants[i].what, b.mutants[i].what);
    EXPECT_EQ(a.mutants[i].by, b.mutants[i].by);
  }
}

TEST(Mutation, AKernelThatIsNotCleanIsRefused) { EXPECT_THROW(mutate("half_awaited"), InputError); }

TEST(Mutation, AKernelWithoutOrderingHasNoMutants) { EXPECT_TRUE(mutate("softmax_rows").mutants.empty()); }

// ---- C++ kernels: calls are edited as they are made.

// Rows of x through two slots to o, double-buffered by hand.
KernelCase copying(int64_t rows) {
  KernelCase c;
  KernelSpec& s = c.spec;
  s.name = "copying";
  for (const char* name : {"x", "o"}) {
    Window w;
    w.name = name;
    w.array = {rows, 8, 128};
    w.space = Space::hbm;
    (std::string_view(name) == "x" ? s.in : s.out).push_back(w);
  }
  s.scratch = {{"slots", DType::f32, {2, 8, 128}, Space::vmem},
               {"loaded", DType::dma_semaphore, {2}, Space::semaphore},
               {"stored", DType::dma_semaphore, {2}, Space::semaphore}};
  c.body = [rows](Core& core, std::span<const Ref> refs) {
    const Ref &x = refs[0], &o = refs[1], &slots = refs[2], &loaded = refs[3], &stored = refs[4];
    const auto row = [](const Ref& of, int64_t i) { return of({ds(i, 1)}); };
    core.start_copy(row(x, 0), row(slots, 0), loaded({0}));
    for (int64_t i = 0; i < rows; ++i) {
      if (i >= 1) core.wait_bytes_of(stored({(i + 1) % 2}), row(o, i - 1));
      if (i + 1 < rows) core.start_copy(row(x, i + 1), row(slots, (i + 1) % 2), loaded({(i + 1) % 2}));
      core.wait_bytes_of(loaded({i % 2}), row(slots, i % 2));
      core.start_copy(row(slots, i % 2), row(o, i), stored({i % 2}));
    }
    core.wait_bytes_of(stored({(rows - 1) % 2}), row(o, rows - 1));
  };
  return c;
}

TEST(Mutation, NoMutantOfACppKernelIsMissed) {
  const Subject subject = subject_of(copying(5), "copying");
  const CommandLine line;
  const MutationReport r = run_mutations(subject, line.run, mutations_of(subject, "copying", line));
  EXPECT_EQ(survivors(r), "");
  EXPECT_GE(r.mutants.size(), 30u);
  EXPECT_GE(r.count(Caught::by_ordering), 25);
  for (const MutantOutcome& m : r.mutants) {
    EXPECT_TRUE(m.at.known());
    if (m.kind == "drop") {
      EXPECT_EQ(m.caught, Caught::by_ordering) << m.what << ": " << m.by;
    }
  }
}

// Loads until the copy has come: where nothing brings it, a mutant would load for ever.
TEST(Mutation, AMutantThatNeverEndsIsEnded) {
  KernelCase c = copying(1);
  static std::atomic<int64_t> most_loads{0};
  c.body = [](Core& core, std::span<const Ref> refs) {
    const Ref slot = refs[2]({ds(0, 1)}), loaded = refs[3]({0}), stored = refs[4]({0});
    core.store(slot, 0.0);
    core.start_copy(refs[0], slot, loaded);
    core.wait_bytes_of(loaded, slot);
    int64_t loads = 1;
    for (Tile t = core.load(slot); t.at(5) == 0; ++loads) {
      t = core.load(slot);
      most_loads = std::max(most_loads.load(), loads);
    }
    core.start_copy(slot, refs[1], stored);
    core.wait_bytes_of(stored, slot);
  };
  const Subject subject = subject_of(c, "polling");
  const CommandLine line;
  const MutationReport r = run_mutations(subject, line.run, mutations_of(subject, "polling", line), 0.2);
  EXPECT_EQ(survivors(r), "");
  EXPECT_GT(most_loads, 1000);
}

}  // namespace
}  // namespace tilecheck
