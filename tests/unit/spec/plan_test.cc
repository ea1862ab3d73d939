#include "sim/spec/plan.h"

#include <gtest/gtest.h>

#include <string>

#include "sim/types/error.h"

namespace tilecheck {
namespace {

KernelSpec spec_with(Dims grid, Window in, Window out) {
  KernelSpec s;
  s.name = "test";
  s.grid = grid;
  s.in.push_back(std::move(in));
  s.out.push_back(std::move(out));
  return s;
}

// "x:block/slot" with + for entered, - for left, ! for a first visit; one group per step.
std::string trace(const KernelSpec& spec) {
  std::string text;
  PlanCursor cursor(spec, GridPart::whole(spec.grid), nullptr);
  while (cursor.advance()) {
    for (const Visit& v : cursor.visits())
      text += to_string(v.block) + "/" + std::to_string(v.slot) + (v.enter ? "+" : "") + (v.first ? "!" : "") +
              (v.leave ? "-" : "") + " ";
    text += "| ";
  }
  return text;
}

Window window(Shape array, BlockShape block, IndexMap map) {
  Window w;
  w.name = "w";
  w.array = array;
  w.block = std::move(block);
  w.index = std::move(map);
  return w;
}

TEST(Plan, FetchesOnlyWhenTheBlockChanges) {
  const KernelSpec s = spec_with({2, 2},
                                 window({4, 4}, {2, 4},
                                        [](Index i, Index) {
                                          return Indices{i, 0};
                                        }),
                                 window({4, 4}, {2, 2}, [](Index i, Index j) {
                                   return Indices{i, j};
                                 }));
  EXPECT_EQ(trace(s), "0x0/0+! 0x0/0+!- | 0x0/0- 0x1/1+!- | 1x0/1+! 1x0/0+!- | 1x0/1- 1x1/1+!- | ");
}

TEST(Plan, ShowsThatABlockIsEnteredAgain) {
  const KernelSpec s = spec_with({3}, window({4}, {4}, [](Index) { return Indices{0}; }),
                                 window({8}, {4}, [](Index i) { return Indices{i % 2}; }));
  EXPECT_EQ(trace(s), "0/0+! 0/0+!- | 0/0 1/1+!- | 0/0- 0/0+- | ");
}

TEST(Plan, AConstantMapHasOneSlotWhateverItsForm) {
  const auto slots = [](Dims grid, IndexMap map) {
    KernelSpec s = spec_with(grid, window({64, 64}, {8, 64}, map), window({8, 64}, {}, {}));
    return slot_count(s, s.in[0]).slots;
  };
  EXPECT_EQ(slots({4}, [](Index i) { return Indices{i * 0, 0}; }), 1);
  EXPECT_EQ(slots({4}, [](Index i) { return Indices{i - i, 0}; }), 1);
  EXPECT_EQ(slots({4}, [](Index i) { return Indices{i % 1, 0}; }), 1);
  EXPECT_EQ(slots({4}, [](Index) { return Indices{3, 0}; }), 1);
  EXPECT_EQ(slots({1}, [](Index i) { return Indices{i, 0}; }), 1);
  EXPECT_EQ(slots({4}, [](Index i) { return Indices{min(i, 0), 0}; }), 2);
  EXPECT_EQ(slots({4}, [](Index i) { return Indices{i / 8, 0}; }), 2);
  EXPECT_EQ(slots({4}, [](Index i, const PrefetchRefs& s) { return Indices{s(0, i), 0}; }), 2);
  EXPECT_EQ(slots({4}, [](Index, const PrefetchRefs& s) { return Indices{s(0, 0), 0}; }), 1);
}

TEST(Plan, AnEmptyGridAxisHasNoSteps) {
  const KernelSpec s = spec_with({0}, window({4}, {4}, {}), window({4}, {4}, {}));
  EXPECT_EQ(trace(s), "");
}

TEST(Plan, CoverageOfEdgeAndElementBlocks) {
  Window w = window({10}, {4}, {});
  Visit v;
  v.origin = {8};
  EXPECT_EQ(coverage(w, v).extents, Dims({2}));
  v.origin = {-1};
  EXPECT_EQ(coverage(w, v).lo, Dims({0}));
  EXPECT_EQ(coverage(w, v).extents, Dims({3}));
  v.origin = {12};
  EXPECT_EQ(coverage(w, v).extents, Dims({0}));
}

TEST(Validate, NamesTheFieldAtFault) {
  struct Case {
    const char* expected;
    void (*spoil)(KernelSpec&);
  };
  const Case cases[] = {
      {"block dimension 0 is 0", [](KernelSpec& s) { s.in[0].block[0].size = 0; }},
      {"the block has 2 dimensions, the array 1", [](KernelSpec& s) { s.in[0].block.push_back(4); }},
      {"overflows 64 bits",
       [](KernelSpec& s) {
         s.grid = {int64_t{1} << 40, int64_t{1} << 40};
       }},
      {"extents must not be negative", [](KernelSpec& s) { s.grid = {-1}; }},
      {"do not both exist",
       [](KernelSpec& s) {
         s.aliases.push_back({0, 7});
       }},
      {"they must be equal",
       [](KernelSpec& s) {
         s.out[0].dtype = DType::bf16;
         s.aliases.push_back({0, 0});
       }},
      {"semaphores live in semaphore memory",
       [](KernelSpec& s) {
         s.scratch.push_back({"sem", DType::semaphore, {}, Space::vmem});
       }},
  };
  for (const Case& c : cases) {
    KernelSpec s = spec_with({4}, window({16}, {4}, [](Index i) { return Indices{i}; }),
                             window({16}, {4}, [](Index i) { return Indices{i}; }));
    EXPECT_NO_THROW(validate(s));
    c.spoil(s);
    try {
      validate(s);
      ADD_FAILURE() << "accepted: " << c.expected;
    } catch (const InputError& e) {
      EXPECT_NE(std::string(e.what()).find(c.expected), std::string::npos) << e.what();
    }
  }
}

}  // namespace
}  // namespace tilecheck
