// What must hold between runs of attention, whatever the right result is.
#include <cmath>
#include <numeric>
#include <random>

#include "harness/fill.h"
#include "tests/unit/kernels/run_kernel.h"

namespace tilecheck::testing_kernels {
namespace {

// An attention kernel of the C++ door with arrays as (batch, heads, length, dim) or (batch, length, heads, dim).
struct Variant {
  const char* kernel;
  const char* set;
  const char* q_block;  // names of its tile parameters
  const char* kv_block;
  int length_axis;
};
constexpr Variant kVariants[] = {
    {"flash_attention", "len=96 heads=2 head_dim=64 block_q=32 block_kv=32", "block_q", "block_kv", 2},
    {"mha", "len=96 heads=2 batch=1 head_dim=64 block_q=32 block_k=32 dtype=f32", "block_q", "block_k", 1}};

class Attention : public testing::TestWithParam<Variant> {
 protected:
  KernelCase make(const Set& more = {}) const {
    Set set = parse_set(GetParam().set);
    for (const auto& [name, value] : more) set[name] = value;
    return choice(GetParam().kernel).make(set);
  }
  static Arrays operands(const KernelCase& c, uint64_t seed = 1) {
    Arrays all;
    for (const Window& w : c.spec.in) all.push_back(filled(w.dtype, w.array, {.seed = seed, .stream = all.size()}));
    return all;
  }
  // Result 0. The run must be clean.
  static HostArray run(const KernelCase& c, const Arrays& in) {
    const DeviceArgs args{{}, in};
    const LaunchResult result = launch(c.spec, c.body, std::span(&args, 1), {});
    for (const Finding& f : result.report.findings) ADD_FAILURE() << name(f.kind) << ": " << f.message;
    return result.devices[0].out[0];
  }
  // f(array, key, element of the key) over all elements of k or v.
  void for_each_element(HostArray& array, const std::function<void(int64_t at, int64_t key, int64_t c)>& f) const {
    const Shape& shape = array.shape();
    const Dims strides = row_major_strides(shape);
    const int axis = GetParam().length_axis;
    for (int64_t i = 0; i < array.size(); ++i) f(i, i / strides[axis] % shape[axis], i % shape[3]);
  }
  HostArray permuted_keys(const HostArray& array, const std::vector<int64_t>& order) const {
    HostArray result = array.clone();
    const int64_t stride = row_major_strides(array.shape())[GetParam().length_axis];
    for_each_element(result, [&](int64_t at, int64_t key, int64_t) {
      result.set(at, array.at(at + (order[static_cast<size_t>(key)] - key) * stride));
    });
    return result;
  }
};

testing::AssertionResult same(const HostArray& a, const HostArray& b, double tolerance) {
  const CompareRule rule = tolerance == 0 ? CompareRule{.bit_equal = true} : CompareRule{.atol = tolerance};
  const Comparison c = compare(a, b, rule);
  return c.pass() ? testing::AssertionSuccess() : testing::AssertionFailure() << to_text(c, "o");
}

TEST_P(Attention, TileSizesDoNotMatter) {
  for (const char* mask : {"0", "1"}) {
    const KernelCase base = make({{"causal", mask}});
    const Arrays in = operands(base);
    const HostArray expected = run(base, in);
    // Rows know nothing of each other: not a bit changes. Sums over keys are cut elsewhere: a few roundings.
    EXPECT_TRUE(same(run(make({{"causal", mask}, {GetParam().q_block, "40"}}), in), expected, 0));
    for (const char* block : {"8", "40", "96", "128"})
      EXPECT_TRUE(same(run(make({{"causal", mask}, {GetParam().kv_block, block}}), in), expected, 1e-6)) << block;
  }
}

TEST_P(Attention, KeysMayComeInAnyOrder) {
  const KernelCase c = make();
  Arrays in = operands(c);
  const HostArray expected = run(c, in);
  std::vector<int64_t> order(96);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(7));
  in[1] = permuted_keys(in[1], order);
  in[2] = permuted_keys(in[2], order);
  EXPECT_TRUE(same(run(c, in), expected, 1e-6));
}

TEST_P(Attention, AConstantAddedToLogitsChangesNothing) {
  const KernelCase c = make();
  Arrays in = operands(c);
  const HostArray expected = run(c, in);
  // The same vector added to all keys adds one number to all logits of a query.
  const HostArray keys = in[1];
  in[1] = keys.clone();
  for_each_element(
      in[1], [&](int64_t at, int64_t, int64_t d) { in[1].set(at, keys.at(at) + std::sin(static_cast<double>(d))); });
  EXPECT_TRUE(same(run(c, in), expected, 4e-6));
}

TEST_P(Attention, ValuesOfOneGiveOne) {
  for (const char* mask : {"0", "1"}) {
    const KernelCase c = make({{"causal", mask}});
    Arrays in = operands(c);
    for (int64_t i = 0; i < in[2].size(); ++i) in[2].set(i, 1);
    HostArray ones = in[0].clone();
    for (int64_t i = 0; i < ones.size(); ++i) ones.set(i, 1);
    EXPECT_TRUE(same(run(c, in), ones, 1e-6));
  }
}

TEST_P(Attention, ASingleKeyGivesItsValue) {
  const KernelCase c = make({{"kv_len", "1"}});
  const Arrays in = operands(c);
  const HostArray o = run(c, in);
  const int heads_axis = 3 - GetParam().length_axis;  // of 1 and 2
  const Dims strides = row_major_strides(o.shape());
  for (int64_t i = 0; i < o.size(); ++i) {
    const int64_t head = i / strides[heads_axis] % 2, d = i % 64;
    ASSERT_EQ(o.at(i), in[2].at(head * 64 + d)) << i;
  }
}

TEST_P(Attention, QueriesThatSeeNoKeyGiveZero) {
  const char* segments = std::string(GetParam().kernel) == "mha" ? "segment_ids" : "segments";
  const KernelCase c = make({{segments, "1"}});
  Arrays in = operands(c);
  for (int64_t t = 0; t < 96; ++t) {
    in[3].set(t, static_cast<double>(t % 3));  // queries of segment 2 find no key
    in[4].set(t, static_cast<double>(t % 2));
  }
  const HostArray o = run(c, in);
  const int64_t stride = row_major_strides(o.shape())[GetParam().length_axis];
  int64_t zeros = 0;
  for (int64_t i = 0; i < o.size(); ++i) {
    const bool sees_none = i / stride % 96 % 3 == 2;
    if (sees_none) {
      ASSERT_EQ(o.at(i), 0) << i;
    } else {
      ASSERT_TRUE(std::isfinite(o.at(i))) << i;
      zeros += o.at(i) == 0;
    }
  }
  EXPECT_LT(zeros, o.size() / 100);
}

INSTANTIATE_TEST_SUITE_P(All, Attention, testing::ValuesIn(kVariants),
                         [](const auto& test) { return std::string(test.param.kernel); });

}  // namespace
}  // namespace tilecheck::testing_kernels
