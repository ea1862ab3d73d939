// The recording run of C++ kernels: branches, loops, what they carry and yield, data, and bodies that do not end.
#include "sim/fit/record.h"

#include <gtest/gtest.h>

#include "sim/fit/simplify.h"
#include "sim/fit/time_model.h"
#include "sim/fit/time_scalars.h"
#include "sim/types/error.h"

namespace tilecheck::fit {
namespace {

KernelSpec spec_of(const Dims& grid) {
  KernelSpec spec;
  spec.name = "recorded";
  spec.grid = grid;
  const auto window = [](const char* name) {
    Window w;
    w.name = name;
    w.array = {64, 128};
    w.block = {8, 128};
    w.index = [](Index i) { return Indices{i, 0}; };
    return w;
  };
  if (grid.rank() == 1) spec.in = {window("x")};
  if (grid.rank() == 1) spec.out = {window("y")};
  return spec;
}

int count(const Block& block, OpKind kind) {
  int n = 0;
  for (const Op& op : block.ops) {
    n += op.kind == kind;
    for (const Block& inner : op.blocks) n += count(inner, kind);
  }
  return n;
}
const Op* first(const Block& block, OpKind kind) {
  for (const Op& op : block.ops) {
    if (op.kind == kind) return &op;
    for (const Block& inner : op.blocks)
      if (const Op* found = first(inner, kind)) return found;
  }
  return nullptr;
}

// A condition is true at just the steps at which the body says so, on grids small enough to look at each.
TEST(Record, BranchesKnowTheirSteps) {
  const KernelSpec spec = spec_of({7, 9});
  const Body body = record_body(spec, [](Core& core, std::span<const Ref>) {
    const int64_t i = core.program_id(0), j = core.program_id(1);
    core.when(j * 2 <= i + 3, [&] {
      const Scratch scratch{.name = "s", .shape = {8, 128}};
      core.scope(std::span(&scratch, 1), [&](std::span<const Ref> refs) { core.store(refs[0], 1.0); });
    });
  });
  ASSERT_EQ(count(body.top, OpKind::branch), 1);
  const Op* branch = first(body.top, OpKind::branch);
  ScalarValues scalars(body);
  for (int64_t i = 0; i < 7; ++i)
    for (int64_t j = 0; j < 9; ++j) {
      const Dims step{i, j};
      scalars.move_to(step.span(), body.grid.span());
      EXPECT_EQ(scalars.get(branch->in[0]), std::optional<int64_t>(j * 2 <= i + 3)) << i << " " << j;
    }
}

// The first and the last step of a long axis are told from the others although not every step is looked at.
TEST(Record, LongAxes) {
  const KernelSpec spec = spec_of({100000});
  const Body body = record_body(spec, [](Core& core, std::span<const Ref> refs) {
    core.when(core.program_id(0) == 0, [&] { core.store(refs[1], 0.0); });
    core.when(core.program_id(0) == 99999, [&] { core.store(refs[1], core.load(refs[0])); });
  });
  ASSERT_EQ(body.top.ops.back().kind, OpKind::branch);
  ScalarValues scalars(body);
  for (const auto& [at, is_first] :
       std::vector<std::pair<int64_t, bool>>{{0, true}, {1, false}, {5000, false}, {99998, false}, {99999, false}}) {
    const Dims step{at};
    scalars.move_to(step.span(), body.grid.span());
    EXPECT_EQ(scalars.get(first(body.top, OpKind::branch)->in[0]), std::optional<int64_t>(is_first)) << at;
    EXPECT_EQ(scalars.get(body.top.ops.back().in[0]), std::optional<int64_t>(at == 99999)) << at;
  }
}

// A loop's body stands once, with what it carries and with a slice that moves.
TEST(Record, LoopsCarry) {
  KernelSpec spec = spec_of({4});
  spec.in[0].block = {64, 128};
  spec.in[0].index = [](Index) { return Indices{0, 0}; };
  const Body body = record_body(spec, [](Core& core, std::span<const Ref> refs) {
    Tile sum = core.full(DType::f32, {8, 128}, 0);
    core.loop(0, 8, [&](int64_t k) { sum = sum + core.load(refs[0]({ds(k * 8, 8), all()})); });
    core.store(refs[1], sum);
  });
  const Op* loop = first(body.top, OpKind::loop);
  ASSERT_NE(loop, nullptr);
  EXPECT_EQ(loop->in.size(), 4u);
  EXPECT_EQ(loop->out.size(), 1u);
  EXPECT_EQ(loop->blocks[0].args.size(), 2u);
  EXPECT_EQ(loop->blocks[0].yields.size(), 1u);
  EXPECT_EQ(count(body.top, OpKind::load), 1);
  EXPECT_EQ(first(body.top, OpKind::store)->in[0], loop->out[0]);
  EXPECT_FALSE(first(loop->blocks[0], OpKind::load)->starts[0].is_constant());
  Body folded = body;
  simplify(folded);
  EXPECT_EQ(first(folded.top, OpKind::loop)->trips, 8);
}

// What the host language unrolls is unrolled, at places that are constants.
TEST(Record, HostLoopsUnroll) {
  const Body body = record_body(spec_of({4}), [](Core& core, std::span<const Ref> refs) {
    for (int64_t k = 0; k < 8; ++k) core.store(refs[1]({ds(k, 1), all()}), core.load(refs[0]({ds(k, 1), all()})));
  });
  EXPECT_EQ(count(body.top, OpKind::load), 8);
  for (const Op& op : body.top.ops)
    if (op.kind == OpKind::store) {
      EXPECT_TRUE(op.starts[0].is_constant());
    }
}

// A value set inside a branch and used after it.
TEST(Record, BranchesYield) {
  const Body body = record_body(spec_of({4}), [](Core& core, std::span<const Ref> refs) {
    Tile x = core.load(refs[0]);
    core.when(core.program_id(0) == 1, [&] { x = exp(x); });
    core.store(refs[1], x);
  });
  const Op* branch = first(body.top, OpKind::branch);
  ASSERT_NE(branch, nullptr);
  EXPECT_EQ(count(body.top, OpKind::elementwise), 1);
}

// Data steers: said so, and its slices are not taken for constants.
TEST(Record, DataSteers) {
  KernelSpec spec = spec_of({4});
  spec.prefetch = {{.name = "rows", .dtype = DType::i32, .shape = {4}}};
  const Body body = record_body(spec, [](Core& core, std::span<const Ref> refs) {
    const int64_t row = core.load_index(refs[0]({core.program_id(0)}));
    core.store(refs[2]({ds(row * 2, 1), all()}), core.load(refs[1]({ds(0, 1), all()})));
  });
  ASSERT_EQ(body.notes.size(), 1u);
  EXPECT_NE(body.notes[0].find("steers by data at "), std::string::npos);
  EXPECT_NE(body.notes[0].find("record_test.cc"), std::string::npos);
  EXPECT_FALSE(first(body.top, OpKind::store)->starts[0].is_constant());
}

// A C++ `if` is no branch of the kernel; the longest way is kept, and said so.
TEST(Record, StepsThatDiffer) {
  const Body body = record_body(spec_of({4}), [](Core& core, std::span<const Ref> refs) {
    Tile x = core.load(refs[0]);
    if (core.program_id(0) == 2) x = exp(x);
    core.store(refs[1], x);
  });
  EXPECT_EQ(count(body.top, OpKind::elementwise), 1);
  ASSERT_EQ(body.notes.size(), 1u);
  EXPECT_NE(body.notes[0].find("the longest is counted"), std::string::npos);
}

// A copy waited for at once is named; one that another slot's wait stands behind is not.
TEST(Record, SerializedCopies) {
  KernelSpec spec = spec_of({4});
  spec.in[0].space = Space::hbm;
  spec.in[0].block = {};
  spec.in[0].index = {};
  spec.scratch = {{.name = "buf", .shape = {2, 8, 128}},
                  {.name = "sem", .dtype = DType::dma_semaphore, .shape = {2}, .space = Space::semaphore}};
  const auto body = [](bool at_once) {
    return [at_once](Core& core, std::span<const Ref> refs) {
      const int64_t i = core.program_id(0);
      const auto rows = [&](int64_t k) { return refs[0]({ds(k * 8, 8), all()}); };
      const CopyHandle other = {rows(0), refs[2]({(i + 1) % 2}), refs[3]({(i + 1) % 2}), {}, false};
      const CopyHandle copy = core.start_copy(rows(i), refs[2]({i % 2}), refs[3]({i % 2}));
      core.wait(at_once ? copy : other);
      core.store(refs[1], core.load(refs[2]({0})));
      core.wait(at_once ? other : copy);
    };
  };
  EXPECT_TRUE(find_serialized_copies(record_body(spec, body(false))).empty());
  spec.grid = {1};  // the slots are constants: which is which is known
  EXPECT_TRUE(find_serialized_copies(record_body(spec, body(false))).empty());
  const std::vector<Finding> findings = find_serialized_copies(record_body(spec, body(true)));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].kind, Kind::dma_serialized);
}

std::string failure_of(const tilecheck::Body& body, double limit_seconds = 10) {
  try {
    record_body(spec_of({4}), body, 1, limit_seconds);
  } catch (const Incomplete& e) {
    return e.what();
  } catch (const InputError& e) {
    return std::string("input error: ") + e.what();
  }
  return "";
}

TEST(Record, BodiesThatDoNotEnd) {
  EXPECT_EQ(failure_of([](Core&, std::span<const Ref>) { throw std::runtime_error("no luck"); }),
            "recording the body at step (0): it throws no luck");
  EXPECT_NE(failure_of([](Core& core, std::span<const Ref> refs) {
              if (core.load(refs[0]).at(3) > 0) core.store(refs[1], 0.0);
            }).find("outside of core's operations"),
            std::string::npos);
  EXPECT_NE(failure_of([](Core& core, std::span<const Ref> refs) {
              while (true) core.store(refs[1], 0.0);
            }).find("does not end within"),
            std::string::npos);
  EXPECT_NE(failure_of([](Core& core, std::span<const Ref> refs) {
              core.store(refs[1], matmul(core.load(refs[0]), core.load(refs[0])));
            }).find("input error: matmul"),
            std::string::npos);
}

TEST(Record, WhatABodyDoesForEverIsEnded) {
  struct Case {
    const char* name;
    tilecheck::Body body;
  };
  const Case cases[] = {
      {"loads",
       [](Core& core, std::span<const Ref> r) {
         while (true) core.load(r[0]);
       }},
      {"arithmetic on what it knows",
       [](Core& core, std::span<const Ref>) {
         Tile t = core.full(DType::f32, {8, 128}, 1);
         while (true) t = t + t;
       }},
      {"an empty loop", [](Core& core, std::span<const Ref>) { core.loop(0, INT64_MAX, [](int64_t) {}); }},
      {"a loop while data says so",
       [](Core& core, std::span<const Ref> r) {
         const Tile first = core.load(r[0]({0, 0}));
         while (core.as_condition(gt(first, 0))) {
         }
       }},
      {"scopes",
       [](Core& core, std::span<const Ref>) {
         while (true) core.scope({}, [](std::span<const Ref>) {});
       }},
      {"branches",
       [](Core& core, std::span<const Ref>) {
         while (true) core.when(true, [] {});
       }},
  };
  for (const Case& c : cases) EXPECT_NE(failure_of(c.body).find("does not end within"), std::string::npos) << c.name;
}

TEST(Record, ABodyThatTakesTooLongIsEnded) {
  const auto slow = [](Core& core, std::span<const Ref> r) {
    core.loop(0, 200'000, [&](int64_t) { core.load(r[0]); });
  };
  EXPECT_EQ(failure_of(slow), "");
  EXPECT_NE(failure_of(slow, 0.001).find("does not end within 0.001 s, at"), std::string::npos);
  EXPECT_NE(failure_of(slow, 0).find("does not end within 0 s, at"), std::string::npos);
}

}  // namespace
}  // namespace tilecheck::fit
