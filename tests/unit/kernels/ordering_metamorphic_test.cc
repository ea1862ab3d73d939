// What must hold between runs of the kernels that copy by hand, whatever the right result is: how work is cut into
// blocks, messages and devices changes no value.
#include <algorithm>
#include <numeric>
#include <random>

#include "harness/fill.h"
#include "tests/unit/kernels/run_kernel.h"

namespace tilecheck::testing_kernels {
namespace {

// The first result of each device. The run must be silent.
Arrays results(const std::string& kernel, const std::string& set, const std::vector<Arrays>& operands = {}) {
  RunOptions options;
  options.arrays = operands;
  const RunResult r = run_kernel(kernel, parse_set(set), options);
  EXPECT_THAT(r.outcome.report.findings, testing::IsEmpty()) << set << "\n" << describe(r.outcome);
  Arrays all;
  for (const DeviceResults& d : r.devices) all.push_back(d.out.at(0));
  return all;
}

testing::AssertionResult same(const HostArray& a, const HostArray& b, double tolerance = 0) {
  if (!(a.shape() == b.shape())) return testing::AssertionFailure() << "shapes differ";
  const Comparison c = compare(a, b, tolerance == 0 ? CompareRule{.bit_equal = true} : CompareRule{.atol = tolerance});
  return c.pass() ? testing::AssertionSuccess() : testing::AssertionFailure() << to_text(c, "y");
}
testing::AssertionResult same(const Arrays& a, const Arrays& b) {
  if (a.size() != b.size()) return testing::AssertionFailure() << a.size() << " and " << b.size() << " devices";
  for (size_t d = 0; d < a.size(); ++d)
    if (const auto one = same(a[d], b[d]); !one)
      return testing::AssertionFailure() << "device " << d << ": " << one.message();
  return testing::AssertionSuccess();
}

std::vector<Arrays> per_device(int devices, const Shape& shape, FillKind kind = FillKind::random) {
  std::vector<Arrays> all;
  for (int d = 0; d < devices; ++d)
    all.push_back({filled(DType::f32, shape, {.kind = kind, .stream = static_cast<uint64_t>(d)})});
  return all;
}

// Rows [first, first + count) of a matrix.
HostArray rows(const HostArray& x, int64_t first, int64_t count) {
  HostArray part(x.dtype(), {count, x.shape()[1]});
  for (int64_t i = 0; i < part.size(); ++i) part.set(i, x.at(first * x.shape()[1] + i));
  return part;
}

TEST(OrderingMetamorphic, BlocksAndSlotsDoNotMatter) {
  const Arrays expected = results("double_buffered_copy", "rows=100 columns=200 block_rows=100 slots=1");
  for (const char* set : {"block_rows=8", "block_rows=16 slots=3", "block_rows=33 slots=1", "block_rows=99"})
    EXPECT_TRUE(same(results("double_buffered_copy", "rows=100 columns=200 " + std::string(set)), expected)) << set;
}

TEST(OrderingMetamorphic, InnerBlocksAndCoresDoNotMatter) {
  const std::string shape = "m=50 n=200 k=96 ";
  const Arrays expected = results("nested_pipeline", shape + "block_m=64 block_n=256 block_k=32");
  for (const char* set : {"block_m=8 block_n=256 block_k=32", "block_m=16 block_n=128 block_k=32 cores=2"})
    EXPECT_TRUE(same(results("nested_pipeline", shape + set), expected)) << set;
}

class Messages : public testing::TestWithParam<const char*> {};

// A chunk goes the same way whatever its size and company: not a bit changes.
TEST_P(Messages, TheirSizeAndNumberDoNotMatter) {
  for (const char* more : {"", " bidirectional=1"}) {
    const std::string ring = "devices=5 rows=20 columns=128 dtype=bf16" + std::string(more);
    const Arrays expected = results(GetParam(), ring + " chunk_rows=64 in_flight=1");
    for (const char* set : {" chunk_rows=1", " chunk_rows=3 in_flight=4", " chunk_rows=8 in_flight=1"})
      EXPECT_TRUE(same(results(GetParam(), ring + set), expected)) << more << set;
  }
}

// Sums of small integers are exact in any order.
TEST_P(Messages, TheDirectionDoesNotMatter) {
  const std::string name = GetParam();
  const auto x = per_device(4, {name == "reduce_scatter" ? 40 : 10, 128}, FillKind::integers);
  const std::string set = "devices=4 rows=10 columns=128 chunk_rows=2";
  EXPECT_TRUE(same(results(name, set, x), results(name, set + " bidirectional=1", x)));
}

INSTANTIATE_TEST_SUITE_P(All, Messages, testing::Values("ring_permute", "all_gather", "reduce_scatter", "all_reduce"),
                         [](const auto& test) { return std::string(test.param); });

TEST(OrderingMetamorphic, MoreDevicesOnlyAddTheirParts) {
  const auto x = per_device(8, {6, 128});
  const HostArray all = results("all_gather", "devices=8 rows=6 chunk_rows=4", x)[0];
  for (int n = 2; n < 8; ++n) {
    const std::vector<Arrays> first(x.begin(), x.begin() + n);
    const std::string set = "devices=" + std::to_string(n) + " rows=6 chunk_rows=4";
    for (const HostArray& y : results("all_gather", set, first)) EXPECT_TRUE(same(y, rows(all, 0, 6 * n))) << n;
  }
}

TEST(OrderingMetamorphic, DevicesThatAddZerosDoNotMatter) {
  const auto x = per_device(8, {12, 128}, FillKind::integers);
  for (int n = 2; n < 8; ++n) {
    std::vector<Arrays> with_zeros = x;
    for (size_t d = static_cast<size_t>(n); d < 8; ++d)
      with_zeros[d] = {filled(DType::f32, {12, 128}, {.kind = FillKind::zeros})};
    const HostArray expected = results("all_reduce", "devices=8 rows=12 chunk_rows=4", with_zeros)[0];
    const std::string set = "devices=" + std::to_string(n) + " rows=12 chunk_rows=4";
    for (const HostArray& y : results("all_reduce", set, {x.begin(), x.begin() + n}))
      EXPECT_TRUE(same(y, expected)) << n;
  }
}

TEST(OrderingMetamorphic, AllReduceIsReduceScatterAndThenAllGather) {
  const auto x = per_device(4, {24, 128});
  const Arrays parts = results("reduce_scatter", "devices=4 rows=6 chunk_rows=4", x);
  std::vector<Arrays> gathered;
  for (const HostArray& part : parts) gathered.push_back({part});
  EXPECT_TRUE(same(results("all_gather", "devices=4 rows=6", gathered),
                   results("all_reduce", "devices=4 rows=24 chunk_rows=4", x)));
}

TEST(OrderingMetamorphic, AShiftAndItsOppositeUndoEachOther) {
  const auto x = per_device(5, {6, 128});
  for (const char* shift : {"1", "2", "4"}) {
    const std::string set = "devices=5 rows=6 chunk_rows=4 bidirectional=1 shift=";
    std::vector<Arrays> shifted;
    for (const HostArray& y : results("ring_permute", set + shift, x)) shifted.push_back({y});
    const Arrays back = results("ring_permute", set + "-" + shift, shifted);
    for (size_t d = 0; d < back.size(); ++d) EXPECT_TRUE(same(back[d], x[d][0])) << shift;
  }
}

// Where pages lie is nobody's business but the table's.
TEST(OrderingMetamorphic, PagesMayLieAnywhere) {
  const std::string set = "batch=3 kv_heads=2 page_size=8 pages_per_sequence=5";
  const RunResult first = run_kernel("paged_attention", parse_set(set));
  Arrays in = first.operands[0];
  const int64_t pages = in[3].shape()[1], page = in[3].size() / in[3].shape()[0] / pages;
  std::vector<int64_t> order(static_cast<size_t>(pages));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(3));
  for (const size_t k : {3u, 4u}) {
    const HostArray old = in[k];
    in[k] = old.clone();
    for (int64_t i = 0; i < old.size(); ++i)
      in[k].set((i / page / pages * pages + order[static_cast<size_t>(i / page % pages)]) * page + i % page, old.at(i));
  }
  const HostArray table = in[1];
  in[1] = table.clone();
  for (int64_t i = 0; i < table.size(); ++i) in[1].set(i, static_cast<double>(order[static_cast<size_t>(table.at(i))]));
  EXPECT_TRUE(same(results("paged_attention", set, {in})[0], first.devices[0].out[0]));
  for (const char* block : {"1", "3", "5", "8"})
    EXPECT_TRUE(same(results("paged_attention", set + " block_pages=" + block)[0], first.devices[0].out[0], 1e-6))
        << block;
}

}  // namespace
}  // namespace tilecheck::testing_kernels
