#include "sim/fit/vmem_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/types/error.h"

namespace tilecheck::fit {
namespace {

using ::testing::HasSubstr;

// A kernel over a grid of 4 with one input of `rows` rows of 1024 f32 a step, and an output alike.
KernelSpec copy_spec(int64_t rows) {
  KernelSpec spec;
  spec.name = "copy";
  spec.grid = {4};
  Window w;
  w.name = "x";
  w.array = {4 * rows, 1024};
  w.block = {rows, 1024};
  w.index = IndexMap([](Index i) { return Indices{i, 0}; });
  spec.in.push_back(w);
  w.name = "o";
  spec.out.push_back(w);
  return spec;
}

struct Access {
  OpKind kind;
  RefId ref;
  int64_t start;
  int64_t rows;
};
// A body of loads and stores on one scratch buffer of 16 rows, all in one block; each store stores the last load.
Body scratch_body(const std::vector<Access>& accesses) {
  Body body;
  RefInfo scratch;
  scratch.root = RefRoot::scratch;
  scratch.root_index = 0;
  scratch.shape = {16, 128};
  body.refs.push_back(scratch);
  body.values.push_back({DType::f32, {16, 128}});
  Op made;
  made.kind = OpKind::constant;
  made.out = {0};
  body.top.ops.push_back(made);
  for (const Access& a : accesses) {
    Op op;
    op.kind = a.kind;
    op.ref = a.ref;
    op.starts = {Offset{kNone, a.start}, Offset{}};
    op.extent = {a.rows, 128};
    if (a.kind == OpKind::load) {
      body.values.push_back({DType::f32, {a.rows, 128}});
      op.out = {static_cast<ValueId>(body.values.size() - 1)};
    } else if (a.kind == OpKind::store) {
      op.in = {0};
    } else {
      op.ref2 = a.ref;
    }
    body.top.ops.push_back(op);
  }
  return body;
}

TEST(VmemReportTest, VerdictsFollowTheLimitInForce) {
  // 2 x 2 x rows x 4096 bytes.
  const struct {
    const char* target;
    int64_t rows;
    std::optional<int64_t> kernel_limit, option_limit;
    FitVerdict verdict;
    std::optional<int64_t> sufficient;
  } kCases[] = {
      {"v5e", 1024, {}, {}, FitVerdict::fits, 16777216},
      {"v5e", 1032, {}, {}, FitVerdict::cannot_fit, 16908288},
      {"v5e", 1032, 16908288, {}, FitVerdict::fits, 16908288},
      {"v5e", 1032, 16908287, {}, FitVerdict::cannot_fit, 16908288},
      {"v5e", 1032, 1, 20000000, FitVerdict::fits, 16908288},
      {"v5e", 1024, -5, {}, FitVerdict::cannot_fit, 16777216},
      {"v6e", 1032, {}, {}, FitVerdict::fits, 16908288},
      {"v4", 1032, int64_t{1} << 40, {}, FitVerdict::cannot_fit, std::nullopt},
      {"v6e", 8192, int64_t{1} << 40, {}, FitVerdict::cannot_fit, std::nullopt},  // 128 MiB, 64 KiB too many
      {"v5e", 8192, int64_t{1} << 40, {}, FitVerdict::fits, 134217728},
  };
  for (const auto& c : kCases) {
    KernelSpec spec = copy_spec(c.rows);
    spec.vmem_limit_bytes = c.kernel_limit;
    const VmemReport r = vmem_report(spec, nullptr, target_named(c.target), {c.option_limit});
    EXPECT_EQ(r.need_bytes, c.rows * 4 * 4096) << c.target << ' ' << c.rows;
    EXPECT_EQ(name(r.verdict), name(c.verdict)) << c.target << ' ' << c.rows;
    EXPECT_EQ(r.sufficient_limit_bytes, c.sufficient) << c.target << ' ' << c.rows;
    EXPECT_EQ(r.findings.size(), c.verdict == FitVerdict::fits ? 0u : 1u);
  }
}

TEST(VmemReportTest, ScratchCountsWhenItSurvives) {
  const auto load = OpKind::load, store = OpKind::store, copy = OpKind::dma_start;
  const struct {
    const char* what;
    std::vector<Access> accesses;
    int64_t bytes;
  } kCases[] = {
      {"untouched", {}, 0},
      {"written only", {{store, 0, 0, 16}}, 0},
      {"written before each read", {{store, 0, 0, 16}, {load, 0, 0, 16}}, 0},
      {"part of what was written", {{store, 0, 0, 16}, {load, 0, 8, 8}}, 0},
      {"carried from the last step", {{load, 0, 0, 16}, {store, 0, 0, 16}}, 8192},
      {"more than was written", {{store, 0, 0, 8}, {load, 0, 0, 16}}, 8192},
      {"copied", {{copy, 0, 0, 16}}, 8192},
  };
  for (const auto& c : kCases) {
    KernelSpec spec = copy_spec(8);
    Scratch s;
    s.name = "acc";
    s.shape = {16, 128};
    spec.scratch.push_back(s);
    const Body body = scratch_body(c.accesses);
    EXPECT_EQ(vmem_report(spec, &body, target_named("v5e")).scratch_bytes, c.bytes) << c.what;
  }
  KernelSpec spec = copy_spec(8);
  spec.scratch.push_back({"acc", DType::f32, {16, 128}, Space::vmem});
  EXPECT_EQ(vmem_report(spec, nullptr, target_named("v5e")).scratch_bytes, 8192) << "nothing is known of the body";
}

TEST(VmemReportTest, ScopesOneAfterAnotherShareAndNestedOnesAddUp) {
  const auto body = [](bool nested) {
    Body b;
    Block* into = &b.top;
    for (int i = 0; i < 2; ++i) {
      RefInfo ref;
      ref.root = RefRoot::alloc;
      ref.shape = {8 << i, 128};
      b.refs.push_back(ref);
      Op scope, alloc, copy;
      scope.kind = OpKind::scope;
      alloc.kind = OpKind::alloc;
      copy.kind = OpKind::dma_start;
      alloc.ref = copy.ref = copy.ref2 = i;
      scope.blocks.resize(1);
      scope.blocks[0].ops = {alloc, copy};
      into->ops.push_back(scope);
      if (nested) into = &into->ops.back().blocks[0];
    }
    return b;
  };
  const Body sequential = body(false), nested = body(true);
  const Target& target = target_named("v5e");
  EXPECT_EQ(vmem_report(copy_spec(8), &sequential, target).allocation_bytes, 8192);
  EXPECT_EQ(vmem_report(copy_spec(8), &nested, target).allocation_bytes, 4096 + 8192);
}

TEST(VmemReportTest, SmemAndSemaphoresHaveLimitsToo) {
  const Target& target = target_named("v5e");
  for (const auto& [elements, overflows] : {std::pair<int64_t, bool>{261632, false}, {261633, true}}) {
    KernelSpec spec = copy_spec(8);
    spec.prefetch.push_back({"lengths", DType::i32, {elements}});
    const VmemReport r = vmem_report(spec, nullptr, target);
    ASSERT_EQ(r.findings.size(), overflows ? 1u : 0u) << elements;
    if (overflows) {
      EXPECT_EQ(r.findings[0].kind, Kind::smem_overflow);
    }
  }
  for (const auto& [count, overflows] : {std::pair<int64_t, bool>{436, false}, {437, true}}) {
    KernelSpec spec = copy_spec(8);
    spec.scratch.push_back({"sem", DType::dma_semaphore, {count}, Space::semaphore});
    const VmemReport r = vmem_report(spec, nullptr, target);
    EXPECT_EQ(r.findings.size(), overflows ? 1u : 0u) << count;
    EXPECT_EQ(r.scratch_bytes, 0);
  }
}

TEST(VmemReportTest, TextSaysWhatCostsWhatAndWhatHelps) {
  const VmemReport r = vmem_report(copy_spec(1032), nullptr, target_named("v5e"));
  const std::string text = vmem_text(r);
  for (const char* part :
       {"x", "1032x1024 f32", "(8,128)", "x2 index map uses i0", "CANNOT-FIT", "16.12 MiB", "default of v5e"})
    EXPECT_THAT(text, HasSubstr(part));
  ASSERT_EQ(r.findings.size(), 1u);
  EXPECT_EQ(r.findings[0].kind, Kind::vmem_overflow);
  EXPECT_THAT(r.findings[0].helps[0], HasSubstr("pl.Buffered(1) on x frees 4.03 MiB"));
  EXPECT_THAT(r.findings[0].helps[1], HasSubstr("vmem_limit_bytes=16908288"));
  const std::string lines = vmem_targets_text({r, vmem_report(copy_spec(1032), nullptr, target_named("v6e"))});
  EXPECT_THAT(lines, HasSubstr("vmem_limit_bytes >= 16908288"));
  EXPECT_THAT(lines, HasSubstr("fits"));
}

TEST(VmemReportTest, PaddingIsNamedWhenItCosts) {
  KernelSpec spec = copy_spec(8);
  spec.in[0].array = {4096, 3};
  spec.in[0].block = {1024, 3};
  const VmemReport r = vmem_report(spec, nullptr, target_named("v5e"));
  EXPECT_EQ(r.rows[0].unpadded_bytes, 12288);
  EXPECT_EQ(r.rows[0].padded_bytes, 524288);
  bool named = false;
  for (const std::string& line : r.advice) named |= line.find("padded to tiles of (8,128)") != std::string::npos;
  EXPECT_TRUE(named);
}

TEST(VmemReportTest, SumsThatOverflowAreOneClearError) {
  KernelSpec spec = copy_spec(8);
  spec.in[0].array = {int64_t{1} << 40, int64_t{1} << 18};
  spec.in[0].block = {int64_t{1} << 40, int64_t{1} << 18};
  spec.out[0] = spec.in[0];
  EXPECT_THROW(vmem_report(spec, nullptr, target_named("v5e")), InputError);
}

}  // namespace
}  // namespace tilecheck::fit
