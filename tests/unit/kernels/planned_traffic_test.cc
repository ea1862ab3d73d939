// HBM traffic planned from index maps is what a walk over every step counts, for every kernel here.
#include "sim/spec/planned_traffic.h"

#include "harness/array_reader.h"
#include "harness/fit.h"
#include "sim/spec/traffic.h"
#include "tests/unit/kernels/run_kernel.h"

namespace tilecheck::testing_kernels {
namespace {

void expect_same(const std::string& kernel, const Set& set) {
  const Subject s = subject_of(choice(kernel), set);
  std::vector<std::string> warnings;
  const std::vector<Arrays> operands = make_operands(s, {}, warnings);
  const std::span<const HostArray> arrays = operands[0];
  const ArrayReader reader(arrays.first(s.spec.prefetch.size()));
  const std::vector<WindowCounters> walked = *count_traffic(s.spec, GridPart::whole(s.spec.grid), &reader);
  const auto planned = planned_traffic(s.spec, &reader, 1 << 22);
  ASSERT_TRUE(planned.complete()) << kernel;
  ASSERT_EQ(planned.windows.size(), walked.size()) << kernel;
  for (size_t i = 0; i < walked.size(); ++i) {
    const WindowCounters &a = walked[i], &b = planned.windows[i];
    const std::string where = kernel + " window " + a.name;
    EXPECT_EQ(a.fetches, b.fetches) << where;
    EXPECT_EQ(a.write_backs, b.write_backs) << where;
    EXPECT_EQ(a.moved_bytes, b.moved_bytes) << where;
    EXPECT_EQ(a.minimum_bytes, b.minimum_bytes) << where;
  }
}

TEST(PlannedTraffic, OfEveryKernelAsWalked) {
  int count = 0;
  for (const Kernel& k : built_in_kernels()) {
    expect_same(k.name, {});
    ++count;
  }
  EXPECT_GT(count, 10);
}

TEST(PlannedTraffic, FitNamesTheWindowsThatItDoesNotCount) {
  KernelCase c;
  c.spec.name = "hashed";
  c.spec.grid = {1000, 1000};
  Window w{.name = "table", .dtype = DType::f32, .array = {88, 128}, .block = {8, 128}};
  w.index = [](Index i, Index j) { return Indices{(i.value() * 7 + j.value() * 5) % 11, 0}; };
  c.spec.in = {w};
  w.name = "o";
  w.index = [](Index i, Index) { return Indices{i % 11, 0}; };
  c.spec.out = {w};
  const SubjectTraffic traffic = subject_traffic(subject_of(c, "hashed"));
  EXPECT_EQ(traffic.unknown, "counting the blocks of 'table' takes more work than 100000 evaluations of an index map");
  EXPECT_TRUE(traffic.windows.empty());
}

TEST(PlannedTraffic, OfFlashAttentionWithTailsAsWalked) {
  for (const char* set : {"len=100 heads=3 block_q=32 block_kv=64", "len=200 kv_len=72 block_q=64 block_kv=16 causal=1",
                          "len=64 batch=2 block_q=64 block_kv=8 segments=1"})
    expect_same("flash_attention", parse_set(set));
}

}  // namespace
}  // namespace tilecheck::testing_kernels
