// The block pipeline: what slots hold, what moves, what is found.
#include <cstring>

#include "sim/types/error.h"
#include "tests/unit/machine/world.h"

namespace tilecheck {
namespace {

TEST(Pipeline, ReluRunsBlockByBlock) {
  KernelSpec s;
  s.name = "relu";
  s.grid = {4};
  s.in.push_back(window("x", {1024}, {256}, [](Index i) { return Indices{i}; }));
  s.out.push_back(window("o", {1024}, {256}, [](Index i) { return Indices{i}; }));
  const LaunchResult r = run(
      s,
      [](Core& core, std::span<const Ref> refs) { core.store(refs[1], maximum(2.0 * core.load(refs[0]) + 1.0, 0.0)); },
      {iota_array(DType::f32, {1024})});
  EXPECT_EQ(kinds(r, Severity::note), "");
  for (int i = 0; i < 1024; ++i) ASSERT_EQ(r.devices[0].out[0].at(i), 2 * i + 1);
  EXPECT_EQ(r.report.counters.grid_steps, 4);
  EXPECT_EQ(r.report.counters.windows[0].fetches, 4);
  EXPECT_EQ(r.report.counters.windows[0].moved_bytes, 4096);
  EXPECT_EQ(r.report.counters.windows[1].write_backs, 4);
}

// JAX's pipelining documentation: output buffers alternate, so what the body does not write is two steps old.
TEST(Pipeline, APartlyWrittenOutputShowsDataOfTwoStepsAgo) {
  const KernelSpec s = row_kernel(6);
  const LaunchResult r = run(s,
                             [](Core& core, std::span<const Ref> refs) {
                               const Tile x = core.load(refs[0]);
                               if (core.program_id(0) < 2) {
                                 core.store(refs[1], x);
                               } else {
                                 core.store(refs[1]({all(), ds(0, 64)}), slice(x, {0, 0}, {1, 64}));
                               }
                             },
                             {iota_array(DType::f32, {6, 128})});
  for (int row = 2; row < 6; ++row) {
    EXPECT_EQ(r.devices[0].out[0].at(row * 128 + 63), row * 128 + 63);
    EXPECT_EQ(r.devices[0].out[0].at(row * 128 + 64), (row % 2) * 128 + 64) << "row " << row;
    EXPECT_TRUE(r.devices[0].undefined[0][static_cast<size_t>(row * 128 + 64)]);
  }
  EXPECT_EQ(kinds(r), "");
  EXPECT_EQ(kinds(r, Severity::note), "undefined-output");
}

TEST(Pipeline, AnOutputBlockThatNobodyWritesIsNamed) {
  const LaunchResult r = run(row_kernel(3),
                             [](Core& core, std::span<const Ref> refs) {
                               if (core.program_id(0) != 1) core.store(refs[1], core.load(refs[0]));
                             },
                             {iota_array(DType::f32, {3, 128})});
  EXPECT_EQ(kinds(r), "undefined-output");
  EXPECT_EQ(r.report.findings[0].step, Dims({1}));
}

TEST(Pipeline, EdgeBlocksMoveOnlyWhatExists) {
  KernelSpec s;
  s.name = "edge";
  s.grid = {2};
  s.in.push_back(window("x", {10}, {8}, [](Index i) { return Indices{i}; }));
  s.out.push_back(window("o", {10}, {8}, [](Index i) { return Indices{i}; }));
  const Body body = [](Core& core, std::span<const Ref> refs) { core.store(refs[1], core.load(refs[0]) * 2.0); };
  const LaunchResult r = run(s, body, {iota_array(DType::f32, {10})});
  EXPECT_EQ(kinds(r, Severity::note), "");
  EXPECT_EQ(r.devices[0].out[0].at(9), 18);
  EXPECT_EQ(r.report.counters.windows[0].moved_bytes, 40);
}

TEST(Pipeline, UnmaskedTailOfAReductionIsUndefined) {
  KernelSpec s;
  s.name = "tail";
  s.grid = {2};
  s.in.push_back(window("x", {10}, {8}, [](Index i) { return Indices{i}; }));
  s.out.push_back(window("o", {2, 128}, {1, 128}, [](Index i) { return Indices{i, 0}; }));
  const auto body = [](bool masked) {
    return [masked](Core& core, std::span<const Ref> refs) {
      Tile x = core.load(refs[0]);
      if (masked) {
        const Tile at =
            core.iota(DType::i32, {8}, 0) + core.full(DType::i32, {8}, static_cast<double>(8 * core.program_id(0)));
        x = select(lt(at, core.full(DType::i32, {8}, 10)), x, core.full(DType::f32, {8}, 0));
      }
      core.store(refs[1], broadcast_to(reduce_sum(x, {0}), {1, 128}));
    };
  };
  EXPECT_EQ(kinds(run(s, body(true), {iota_array(DType::f32, {10})}), Severity::note), "");
  EXPECT_EQ(kinds(run(s, body(false), {iota_array(DType::f32, {10})})), "undefined-output");
}

struct Faulty {
  const char* name;
  const char* kinds;
  void (*spoil)(KernelSpec&);
  Body body;
};

Body copy_row = [](Core& core, std::span<const Ref> refs) { core.store(refs[1], core.load(refs[0])); };

TEST(Pipeline, NamesWhatIsWrongAndNothingElse) {
  const Faulty cases[] = {
      {"nothing", "", [](KernelSpec&) {}, copy_row},
      {"index map off by one", "out-of-bounds-block",
       [](KernelSpec& s) { s.in[0].index = [](Index i) {
                             return Indices{i + 1, 0};
                           }; }, copy_row},
      {"negative block", "out-of-bounds-block",
       [](KernelSpec& s) { s.out[0].index = [](Index i) {
                             return Indices{i - 1, 0};
                           }; }, copy_row},
      {"block visited twice", "output-revisited",
       [](KernelSpec& s) { s.out[0].index = [](Index i) {
                             return Indices{i % 2, 0};
                           }; }, copy_row},
      {"slice past the end", "out-of-bounds-read", [](KernelSpec&) {},
       [](Core& core, std::span<const Ref> refs) { core.store(refs[1], core.load(refs[0]({ds(1, 1)}))); }},
      {"store past the end", "out-of-bounds-write", [](KernelSpec&) {},
       [](Core& core, std::span<const Ref> refs) {
         core.store(refs[1]({all(), ds(64, 128)}), core.load(refs[0]));
       }},
      {"load from HBM", "memory-space",
       [](KernelSpec& s) {
         s.in[0].space = Space::hbm;
         s.in[0].block.clear();
       },
       [](Core& core, std::span<const Ref> refs) { core.store(refs[1], core.load(refs[0]({ds(0, 1)}))); }},
      {"branch on scratch that nobody wrote", "undefined-use",
       [](KernelSpec& s) {
         s.scratch.push_back({"flag", DType::i32, {1}, Space::smem});
       },
       [](Core& core, std::span<const Ref> refs) {
         core.when(core.load_index(refs[2]({0})) != 0, [&] { core.store(refs[1], core.load(refs[0])); });
       }},
      {"index from scratch that was written", "",
       [](KernelSpec& s) {
         s.scratch.push_back({"flag", DType::i32, {1}, Space::smem});
       },
       [](Core& core, std::span<const Ref> refs) {
         core.store(refs[2]({0}), 1);
         core.when(core.load_index(refs[2]({0})) != 0, [&] { core.store(refs[1], core.load(refs[0])); });
       }},
      {"accumulator not zeroed", "undefined-output",
       [](KernelSpec& s) {
         s.scratch.push_back({"acc", DType::f32, {1, 128}, Space::vmem});
       },
       [](Core& core, std::span<const Ref> refs) {
         core.store(refs[2], core.load(refs[2]) + core.load(refs[0]));
         core.store(refs[1], core.load(refs[2]));
       }},
      {"accumulator zeroed", "",
       [](KernelSpec& s) {
         s.scratch.push_back({"acc", DType::f32, {1, 128}, Space::vmem});
       },
       [](Core& core, std::span<const Ref> refs) {
         core.store(refs[2], 0.0);
         core.store(refs[2], core.load(refs[2]) + core.load(refs[0]));
         core.store(refs[1], core.load(refs[2]));
       }},
      {"copy into an operand", "alias-mismatch",
       [](KernelSpec& s) {
         s.in[0].space = Space::any;
         s.in[0].block.clear();
       },
       [](Core& core, std::span<const Ref> refs) { core.sync_copy(refs[1], refs[0]({ds(0, 1)})); }},
      {"Ref of an ended scope", "use-after-scope", [](KernelSpec&) {},
       [](Core& core, std::span<const Ref> refs) {
         Ref kept;
         const Scratch scratch{"tmp", DType::f32, {1, 128}, Space::vmem};
         core.scope({&scratch, 1}, [&](std::span<const Ref> scoped) {
           kept = scoped[0];
           core.store(kept, core.load(refs[0]));
         });
         core.store(refs[1], core.load(kept));
       }},
  };
  for (const Faulty& c : cases) {
    KernelSpec s = row_kernel(4);
    c.spoil(s);
    for (const int threads : {1, 2}) {
      LaunchOptions options;
      options.threads = threads;
      const LaunchResult r = run(s, c.body, {iota_array(DType::f32, {4, 128})}, options);
      std::string found = kinds(r);
      found = found.substr(0, found.find(','));
      EXPECT_EQ(found, c.kinds) << c.name;
      EXPECT_TRUE(r.report.incomplete.empty()) << c.name;
    }
  }
}

TEST(Pipeline, AnInPlaceKernelThroughAnAliasIsOrdered) {
  KernelSpec s = row_kernel(5);
  s.aliases.push_back({0, 0});
  const LaunchResult r =
      run(s, [](Core& core, std::span<const Ref> refs) { core.store(refs[1], core.load(refs[0]) + 1.0); },
          {iota_array(DType::f32, {5, 128})});
  EXPECT_EQ(kinds(r, Severity::note), "");
  EXPECT_EQ(r.devices[0].out[0].at(300), 301);
}

// Machine rule 1: after step w writes a block, a two-slot fetch sees it from step w + 3 on.
TEST(Pipeline, FetchingThroughAnAliasTooEarlyIsARace) {
  for (const int64_t distance : {1, 2, 3, 4}) {
    KernelSpec s = row_kernel(8);
    s.aliases.push_back({0, 0});
    s.in[0].index = [distance](Index i) { return Indices{max(i - distance, 0), 0}; };
    const LaunchResult r = run(s, copy_row, {iota_array(DType::f32, {8, 128})});
    EXPECT_EQ(kinds(r, Severity::error).substr(0, 4), distance < 3 ? "race" : "") << "distance " << distance;
  }
}

TEST(Pipeline, ThreadsChangeNothing) {
  KernelSpec s = row_kernel(64);
  s.semantics = {Semantics::parallel};
  s.scratch.push_back({"acc", DType::f32, {1, 128}, Space::vmem});
  const Body body = [](Core& core, std::span<const Ref> refs) {
    core.store(refs[2], exp(core.load(refs[0]) * 0.001));
    core.store(refs[1], core.load(refs[2]) / (core.load(refs[2]) + 1.0));
  };
  LaunchOptions options;
  const LaunchResult one = run(s, body, {iota_array(DType::f32, {64, 128})}, options);
  options.threads = 2;
  const LaunchResult two = run(s, body, {iota_array(DType::f32, {64, 128})}, options);
  EXPECT_EQ(std::memcmp(one.devices[0].out[0].data(), two.devices[0].out[0].data(), 64 * 128 * 4), 0);
  EXPECT_EQ(one.report.counters.windows[0].fetches, two.report.counters.windows[0].fetches);
  EXPECT_EQ(one.report.counters.operations, two.report.counters.operations);
  EXPECT_EQ(one.report.counters.grid_steps, two.report.counters.grid_steps);
}

// Blocks that are written partly, and blocks that no step visits.
TEST(Pipeline, ThreadsChangeNothingOfWhatIsNeverWritten) {
  KernelSpec s = row_kernel(64);
  s.semantics = {Semantics::parallel};
  s.grid = {32};
  const Body partly = [](Core& core, std::span<const Ref> refs) {
    core.store(refs[1]({all(), ds(0, 64)}), core.load(refs[0]({all(), ds(0, 64)})));
  };
  LaunchOptions options;
  const LaunchResult one = run(s, partly, {iota_array(DType::f32, {64, 128})}, options);
  options.threads = 2;
  const LaunchResult two = run(s, partly, {iota_array(DType::f32, {64, 128})}, options);
  EXPECT_EQ(kinds(one, Severity::note), kinds(two, Severity::note));
  EXPECT_EQ(one.devices[0].undefined, two.devices[0].undefined);
  EXPECT_EQ(std::memcmp(one.devices[0].out[0].data(), two.devices[0].out[0].data(), 64 * 128 * 4), 0);
}

// A row maximum that a kernel spreads over the lanes and keeps: scoped memory is fresh at each entry all the same.
TEST(Pipeline, KeptBroadcastValuesEndWithTheirScope) {
  KernelSpec s = row_kernel(4);
  s.scratch.push_back({"running", DType::f32, {1, 128}, Space::vmem});
  const Body body = [](Core& core, std::span<const Ref> refs) {
    core.when(core.program_id(0) == 0, [&] { core.store(refs[2], 0); });
    const Tile largest = broadcast_to(reduce_max(core.load(refs[0]), {1}, true), {1, 128});
    core.store(refs[2], core.load(refs[2]) + largest);
    const Scratch kept{"kept", DType::f32, {1, 128}, Space::vmem};
    core.scope({&kept, 1}, [&](std::span<const Ref> scoped) {
      if (core.program_id(0) % 2 == 0) core.store(scoped[0], largest);
      core.store(refs[1], core.load(scoped[0]) + core.load(refs[2]));
    });
  };
  const LaunchResult r = run(s, body, {iota_array(DType::f32, {4, 128})});
  const std::vector<uint8_t>& undefined = r.devices[0].undefined[0];
  ASSERT_EQ(undefined.size(), 512u);
  double sum = 0;
  for (int64_t row = 0; row < 4; ++row) {
    const double largest = static_cast<double>(row * 128 + 127);
    sum += largest;
    EXPECT_EQ(undefined[static_cast<size_t>(row * 128)] != 0, row % 2 == 1) << row;
    if (row % 2 == 0) {
      EXPECT_EQ(r.devices[0].out[0].at(row * 128 + 5), largest + sum) << row;
    }
  }
}

TEST(Pipeline, GarbageDoesNotReachDefinedResults) {
  const KernelSpec s = row_kernel(4);
  const Body partly = [](Core& core, std::span<const Ref> refs) {
    core.store(refs[1]({all(), ds(0, 64)}), core.load(refs[0]({all(), ds(0, 64)})));
  };
  LaunchOptions options;
  const LaunchResult a = run(s, partly, {iota_array(DType::f32, {4, 128})}, options);
  options.garbage = 7;
  const LaunchResult b = run(s, partly, {iota_array(DType::f32, {4, 128})}, options);
  for (int64_t i = 0; i < 512; ++i) {
    const bool undefined = a.devices[0].undefined[0][static_cast<size_t>(i)] != 0;
    EXPECT_EQ(undefined, i % 128 >= 64);
    if (!undefined) {
      EXPECT_EQ(a.devices[0].out[0].at(i), b.devices[0].out[0].at(i));
    }
  }
}

TEST(Pipeline, ADynamicGridOfZeroStepsLeavesResultsUndefined) {
  KernelSpec s = row_kernel(4);
  s.grid = {0};
  const LaunchResult r = run(s, copy_row, {iota_array(DType::f32, {4, 128})});
  EXPECT_EQ(kinds(r, Severity::note), "undefined-output");
  EXPECT_EQ(r.report.counters.grid_steps, 0);
}

TEST(Bodies, WhatTheyThrowIsOneErrorWithItsStep) {
  for (const int threads : {1, 2}) {
    KernelSpec s = row_kernel(4);
    s.semantics = {threads == 1 ? Semantics::arbitrary : Semantics::parallel};
    LaunchOptions options;
    options.threads = threads;
    const Body body = [](Core& core, std::span<const Ref> refs) {
      core.store(refs[1], core.load(refs[0]));
      if (core.program_id(0) == 2) throw std::runtime_error("no such page");
    };
    try {
      run(s, body, {iota_array(DType::f32, {4, 128})}, options);
      ADD_FAILURE() << "nothing was thrown";
    } catch (const InputError& e) {
      EXPECT_STREQ(e.what(), "kernel rows: its body threw at step (2) of device 0: no such page");
    }
  }
}

}  // namespace
}  // namespace tilecheck
