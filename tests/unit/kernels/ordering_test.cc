// Kernels that copy by hand or run on several devices: right and silent under every schedule, and their broken twins
// named by the same kind under each.
#include <set>

#include "harness/explore_subject.h"
#include "harness/property.h"
#include "kernels/all_gather.h"
#include "kernels/all_reduce.h"
#include "kernels/double_buffered_copy_twins.h"
#include "kernels/nested_pipeline_twins.h"
#include "kernels/ring_permute.h"
#include "kernels/ring_twins.h"
#include "tests/unit/kernels/run_kernel.h"

namespace tilecheck::testing_kernels {
namespace {

constexpr const char* kSchedules[] = {"lazy", "eager", "lifo", "torn", "random:1", "random:2", "pct:1:3", "pct:2:2"};

RunResult run_with(const std::string& kernel, const Set& set, const char* schedule) {
  RunOptions options;
  options.launch.sync.schedule = parse_schedule(schedule);
  return run_kernel(kernel, set, options);
}

struct Case {
  const char* kernel;
  const char* set;
};

const Case kCases[] = {
    {"double_buffered_copy", "rows=28 columns=128 block_rows=8"},
    {"double_buffered_copy", "rows=28 columns=128 block_rows=8 slots=1"},
    {"double_buffered_copy", "rows=100 columns=100 block_rows=16 slots=3 dtype=bf16"},
    {"double_buffered_copy", "rows=1 columns=128 block_rows=8"},
    {"nested_pipeline", "m=20 n=300 k=100 block_m=8 block_n=128 block_k=32"},
    {"nested_pipeline", "m=32 n=128 k=64 block_m=8 block_n=128 block_k=32 dtype=bf16 cores=2"},
    {"nested_pipeline", "m=20 n=128 k=64 block_m=8 block_n=128 block_k=32 cores=2"},
    {"nested_pipeline", "m=1 n=1 k=1 block_m=8 block_n=128 block_k=32"},
    {"paged_attention", "batch=3 kv_heads=2 page_size=8 pages_per_sequence=5"},
    {"paged_attention", "batch=1 kv_heads=1 group=1 head_dim=64 pages_per_sequence=1 block_pages=3 dtype=bf16"},
    {"ring_permute", "devices=2 rows=8 chunk_rows=4"},
    {"ring_permute", "devices=4 rows=13 chunk_rows=4 shift=2 bidirectional=1 dtype=bf16"},
    {"ring_permute", "devices=5 rows=16 chunk_rows=4 shift=-1 in_flight=3"},
    {"ring_permute", "devices=3 rows=4 shift=3"},
    {"ring_permute", "devices=8 rows=8 chunk_rows=4 shift=5 in_flight=1"},
    {"all_gather", "devices=2 rows=8 chunk_rows=4"},
    {"all_gather", "devices=3 rows=1 bidirectional=1"},
    {"all_gather", "devices=4 rows=13 columns=100 chunk_rows=4 bidirectional=1 dtype=bf16"},
    {"all_gather", "devices=8 rows=8 chunk_rows=2"},
    {"all_gather", "devices=12 rows=2 in_flight=1"},
    {"reduce_scatter", "devices=2 rows=8 chunk_rows=4"},
    {"reduce_scatter", "devices=4 rows=13 columns=100 chunk_rows=4 bidirectional=1 dtype=bf16"},
    {"reduce_scatter", "devices=8 rows=8 chunk_rows=4 in_flight=1"},
    {"all_reduce", "devices=2 rows=8 chunk_rows=4"},
    {"all_reduce", "devices=4 rows=37 columns=100 chunk_rows=4 bidirectional=1 dtype=bf16"},
    {"all_reduce", "devices=5 rows=3 chunk_rows=2"},
    {"all_reduce", "devices=8 rows=64 chunk_rows=4 in_flight=3"},
};

class OrderingCases : public testing::TestWithParam<Case> {};

TEST_P(OrderingCases, AreRightAndSilentUnderEverySchedule) {
  for (const char* schedule : kSchedules) {
    SCOPED_TRACE(schedule);
    const Outcome outcome = run_with(GetParam().kernel, parse_set(GetParam().set), schedule).outcome;
    expect_clean(outcome);
    EXPECT_TRUE(outcome.report.schedule_independent);
  }
}

// Neither do they need messages to keep their order, nor semaphores to count bytes as they move.
TEST_P(OrderingCases, NeedNoMoreThanTheRulesGive) {
  RunOptions options;
  options.launch.sync.remote_in_order = false;
  expect_clean(run_kernel(GetParam().kernel, parse_set(GetParam().set), options).outcome);
  options.launch.sync.atomic_progress = true;
  expect_clean(run_kernel(GetParam().kernel, parse_set(GetParam().set), options).outcome);
}

std::string case_title(const testing::TestParamInfo<Case>& info) {
  std::string title = std::string(info.param.kernel) + "_" + info.param.set;
  for (char& c : title)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return title;
}

INSTANTIATE_TEST_SUITE_P(All, OrderingCases, testing::ValuesIn(kCases), case_title);

const char* const kKernels[] = {"double_buffered_copy", "nested_pipeline", "paged_attention", "ring_permute",
                                "all_gather",           "reduce_scatter",  "all_reduce"};

class OrderingKernels : public testing::TestWithParam<const char*> {};

TEST_P(OrderingKernels, TwinsAreNamedAndTheKernelIsSilentUnderEverySchedule) {
  const Kernel& kernel = *choice(GetParam()).kernel;
  std::set<Set> sets;
  for (const BrokenTwin& twin : kernel.broken) {
    sets.insert(twin.set);
    for (const char* schedule : kSchedules) {
      const Outcome broken = run_with(kernel.name + "/" + twin.name, {}, schedule).outcome;
      EXPECT_TRUE(std::ranges::any_of(broken.report.findings, [&](const Finding& f) { return f.kind == twin.kind; }))
          << schedule << ": expected " << name(twin.kind) << "\n"
          << describe(broken);
    }
  }
  for (const Set& set : sets)
    for (const char* schedule : kSchedules) expect_clean(run_with(kernel.name, set, schedule).outcome);
}

TEST_P(OrderingKernels, HoldForRandomParametersUnderRandomSchedules) {
  PropertyOptions options{.seed = 11, .cases = 8};
  options.run.launch.sync.schedule = parse_schedule("random:11");
  const PropertyResult result = property_test(choice(GetParam()), options);
  if (result.failure) ADD_FAILURE() << result.failure->what << "\n" << result.failure->command(GetParam());
}

// A run that no unordered event can change needs no other: exploration ends at once, and says so.
TEST_P(OrderingKernels, ExplorationFindsNothing) {
  const Subject subject = subject_of(choice(GetParam()), choice(GetParam()).kernel->broken[0].set);
  for (const bool exhaustive : {false, true}) {
    const Outcome o =
        explore_subject(subject, {.analyse_fit = false}, {.exhaustive = exhaustive, .bound = 200}).outcome;
    expect_clean(o);
    ASSERT_TRUE(o.exploration);
    EXPECT_TRUE(o.exploration->schedule_independent);
  }
}

INSTANTIATE_TEST_SUITE_P(All, OrderingKernels, testing::ValuesIn(kKernels),
                         [](const auto& test) { return std::string(test.param); });

TEST(Ordering, MessageOrderIsAWarningAndARaceWhereNothingKeepsIt) {
  const auto kinds = [](bool in_order) {
    RunOptions options;
    options.launch.sync.remote_in_order = in_order;
    std::set<Kind> found;
    for (const Finding& f : run_kernel("all_gather/message_order", {}, options).outcome.report.findings)
      found.insert(f.kind);
    return found;
  };
  EXPECT_THAT(kinds(true), testing::ElementsAre(Kind::relies_on_message_order));
  EXPECT_THAT(kinds(false), testing::Contains(Kind::race));
}

// The bodies that carry the flaws are the kernels' own but for them.
TEST(Ordering, FlawlessTwinsHaveTheKernelsBits) {
  const auto same = [](const std::string& kernel, const Set& set, const KernelCase& flawless) {
    const RunResult right = run_kernel(kernel, set),
                    twin = run_subject(subject_of(flawless, "flawless"), {.analyse_fit = false});
    for (size_t d = 0; d < right.devices.size(); ++d) {
      const Comparison c = compare(twin.devices[d].out[0], right.devices[d].out[0], {.bit_equal = true});
      EXPECT_TRUE(c.pass()) << kernel << "\n" << to_text(c, "y");
    }
    EXPECT_THAT(twin.outcome.report.findings, testing::IsEmpty()) << describe(twin.outcome);
  };
  const auto values = [](const char* kernel, const Set& set) {
    return ParamValues(choice(kernel).kernel->params, set);
  };
  const Set blocks = parse_set("rows=100 columns=100 block_rows=16 slots=3");
  same("double_buffered_copy", blocks,
       double_buffered_copy_with(CopyFlaw::none, DoubleBufferedCopy(values("double_buffered_copy", blocks))));
  const Set product = parse_set("m=20 n=300 k=100 block_m=8 block_n=128 block_k=32");
  same("nested_pipeline", product,
       nested_pipeline_with(NestedFlaw::none, NestedPipeline(values("nested_pipeline", product))));
  const Set set = parse_set("devices=4 rows=13 chunk_rows=4 bidirectional=1");
  const Ring ring(values("all_gather", set));
  const RingProtocol protocol = ring_protocol_with(RingFlaw::none, ring);
  same("all_gather", set, all_gather_case(ring, protocol));
  same("reduce_scatter", set, reduce_scatter_case(ring, protocol));
  same("all_reduce", set, all_reduce_case(ring, protocol));
  same("ring_permute", set, ring_permute_case(RingPermute(values("ring_permute", set)), protocol));
}

}  // namespace
}  // namespace tilecheck::testing_kernels
