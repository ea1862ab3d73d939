#include "reference/attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace tilecheck::reference {
namespace {

using testing::DoubleEq;
using testing::DoubleNear;
using testing::Each;
using testing::ElementsAre;
using testing::Pointwise;

// Smooth, without structure, different per `which`.
Array wavy(std::vector<int64_t> shape, double which) {
  Array x(std::move(shape));
  for (size_t i = 0; i < x.values.size(); ++i)
    x.values[i] = std::sin(which + 1.7 * static_cast<double>(i) + which * which);
  return x;
}

MATCHER_P(IsNear, tolerance, "") { return std::abs(std::get<0>(arg) - std::get<1>(arg)) <= tolerance; }

TEST(Attention, ByHand) {
  // Logits 0 and log 3: weights 1/4 and 3/4.
  const Array q({1, 1, 1, 1}, {1}), k({1, 1, 2, 1}, {0, std::log(3)}), v({1, 1, 2, 2}, {4, 0, 8, 4});
  const AttentionResult r = attention(q, k, v);
  EXPECT_THAT(r.out.values, ElementsAre(DoubleEq(7), DoubleEq(3)));
  EXPECT_THAT(r.m.values, ElementsAre(DoubleEq(std::log(3))));
  EXPECT_THAT(r.l.values, ElementsAre(DoubleEq(4.0 / 3)));
  EXPECT_THAT(r.logsumexp.values, ElementsAre(DoubleNear(std::log(4), 1e-15)));
  // Scale 2: log 9, weights 1/10 and 9/10.
  EXPECT_THAT(attention(q, k, v, {.scale = 2}).out.values, ElementsAre(DoubleNear(7.6, 1e-14), DoubleNear(3.6, 1e-14)));
  // A bias is added before scaling: (0 + log 3) * 2 and (log 3 + 0) * 2 are equal.
  const Array bias({1, 1, 1, 2}, {std::log(3), 0});
  EXPECT_THAT(attention(q, k, v, {.scale = 2, .bias = &bias}).out.values, ElementsAre(DoubleEq(6), DoubleEq(2)));
  // A cap c makes logits c tanh(logit / c).
  const double cap = 0.5, capped = cap * std::tanh(std::log(3) / cap);
  EXPECT_THAT(attention(q, k, v, {.soft_cap = cap}).m.values, ElementsAre(DoubleEq(capped)));
}

TEST(Attention, Masks) {
  const Array q({1, 1, 3, 1}, {0, 0, 0}), k({1, 1, 3, 1}, {5, 6, 7}), v({1, 1, 3, 1}, {1, 2, 6});
  EXPECT_THAT(attention(q, k, v, {.causal = true}).out.values, ElementsAre(1, 1.5, DoubleEq(3)));
  EXPECT_THAT(attention(q, k, v, {.causal = true, .causal_offset = 1}).out.values,
              ElementsAre(1.5, DoubleEq(3), DoubleEq(3)));
  const Array q_ids({1, 3}, {1, 2, 3}), kv_ids({1, 3}, {2, 1, 2});
  const AttentionResult r = attention(q, k, v, {.q_segment_ids = &q_ids, .kv_segment_ids = &kv_ids});
  EXPECT_THAT(r.out.values, ElementsAre(2, 3.5, 0));  // the last query sees no key
  EXPECT_THAT(r.m.values, ElementsAre(0, 0, -INFINITY));
  EXPECT_THAT(r.l.values, ElementsAre(1, 2, 0));
  EXPECT_EQ(r.logsumexp.values[2], -INFINITY);
  // What a key holds that is not seen does not matter.
  const Array bad({1, 1, 3, 1}, {1, NAN, NAN});
  EXPECT_EQ(attention(q, k, bad, {.causal = true}).out.values[0], 1);
  const Array mask({3, 3}, {0, 0, 1, 1, 0, 1, 0, 0, 0});
  EXPECT_THAT(attention(q, k, v, {.mask = &mask}).out.values, ElementsAre(6, 3.5, 0));
}

TEST(Attention, QueryHeadsShareKeyHeads) {
  // Keys are equal, so a head gives the mean of its values: heads 0 and 1 read key head 0, heads 2 and 3 key head 1.
  const Array q = wavy({1, 4, 1, 2}, 1), k({1, 2, 2, 2}), v({1, 2, 2, 1}, {1, 3, 10, 30});
  EXPECT_THAT(attention(q, k, v).out.values, ElementsAre(2, 2, 20, 20));
}

TEST(Attention, Metamorphic) {
  const Array q = wavy({2, 4, 5, 3}, 1), k = wavy({2, 2, 7, 3}, 2), v = wavy({2, 2, 7, 3}, 3);
  const AttentionOptions options = {.scale = 0.7, .soft_cap = 2};
  const AttentionResult base = attention(q, k, v, options);
  // Keys and values in another order.
  Array k2(k.shape), v2(v.shape);
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t h = 0; h < 2; ++h)
      for (int64_t j = 0; j < 7; ++j)
        for (int64_t c = 0; c < 3; ++c) {
          k2(b, h, j, c) = k(b, h, (3 * j + 1) % 7, c);
          v2(b, h, j, c) = v(b, h, (3 * j + 1) % 7, c);
        }
  EXPECT_THAT(attention(q, k2, v2, options).out.values, Pointwise(IsNear(1e-13), base.out.values));
  // A constant added to all logits.
  Array bias({2, 4, 5, 7});
  bias.values.assign(bias.values.size(), 11);
  EXPECT_THAT(attention(q, k, v, {.scale = 0.7, .bias = &bias}).out.values,
              Pointwise(IsNear(1e-13), attention(q, k, v, {.scale = 0.7}).out.values));
  // Values of one give one; a single key gives its value.
  Array ones(v.shape);
  ones.values.assign(ones.values.size(), 1);
  EXPECT_THAT(attention(q, k, ones, options).out.values, Each(DoubleNear(1, 1e-13)));
  const Array single = wavy({1, 1, 1, 3}, 4);
  EXPECT_EQ(attention(wavy({1, 1, 1, 3}, 5), wavy({1, 1, 1, 3}, 6), single).out.values, single.values);
}

double loss(const Array& q, const Array& k, const Array& v, const Array& d_out, const AttentionOptions& options) {
  const Array out = attention(q, k, v, options).out;
  double sum = 0;
  for (size_t i = 0; i < out.values.size(); ++i) sum += out.values[i] * d_out.values[i];
  return sum;
}

// The derivative of `value` by every element of x, by central differences.
std::vector<double> differences(Array& x, const std::function<double()>& value) {
  constexpr double kStep = 1e-5;
  std::vector<double> result;
  for (double& element : x.values) {
    const double before = element;
    element = before + kStep;
    const double above = value();
    element = before - kStep;
    const double below = value();
    element = before;
    result.push_back((above - below) / (2 * kStep));
  }
  return result;
}

TEST(Attention, BackwardIsTheDerivative) {
  Array bias = wavy({2, 4, 3, 5}, 9);
  // Query 2 of batch 1 sees nothing.
  const Array q_ids({2, 3}, {1, 1, 2, 1, 2, 9}), kv_ids({2, 5}, {1, 1, 2, 2, 1, 1, 2, 2, 1, 1});
  const AttentionOptions cases[] = {
      {},
      {.scale = 0.3, .causal = true, .causal_offset = 1},
      {.scale = 1.3, .soft_cap = 1.5},
      {.scale = 0.5, .bias = &bias},
      {.q_segment_ids = &q_ids, .kv_segment_ids = &kv_ids},
      {.scale = 0.9, .causal = true, .soft_cap = 3, .bias = &bias, .q_segment_ids = &q_ids, .kv_segment_ids = &kv_ids},
  };
  for (const AttentionOptions& options : cases) {
    Array q = wavy({2, 4, 3, 2}, 1), k = wavy({2, 2, 5, 2}, 2), v = wavy({2, 2, 5, 3}, 3);
    const Array d_out = wavy({2, 4, 3, 3}, 4);
    const AttentionGradients g = attention_backward(q, k, v, d_out, options);
    const auto value = [&] { return loss(q, k, v, d_out, options); };
    EXPECT_THAT(g.dq.values, Pointwise(IsNear(1e-8), differences(q, value)));
    EXPECT_THAT(g.dk.values, Pointwise(IsNear(1e-8), differences(k, value)));
    EXPECT_THAT(g.dv.values, Pointwise(IsNear(1e-8), differences(v, value)));
    if (options.bias) {
      EXPECT_THAT(g.dbias.values, Pointwise(IsNear(1e-8), differences(bias, value)));
    }
  }
}

TEST(Attention, PagedIsAttentionOverTheGatheredKeys) {
  // Three sequences of 3, 0 and 5 keys in pages of 2.
  const Array q = wavy({3, 4, 2}, 1), k_pages = wavy({2, 6, 2, 2}, 2), v_pages = wavy({2, 6, 2, 2}, 3);
  const Array lengths({3}, {3, 0, 5}), table({3, 3}, {4, 1, 0, 0, 0, 0, 5, 2, 3});
  const Array out = paged_attention(q, k_pages, v_pages, lengths, table, {.scale = 0.5});
  const int64_t keys[2][5][2] = {{{4, 0}, {4, 1}, {1, 0}, {}, {}}, {{5, 0}, {5, 1}, {2, 0}, {2, 1}, {3, 0}}};
  for (int64_t b : {0, 2})
    for (int64_t h = 0; h < 4; ++h) {
      double sum = 0, weighted[2] = {0, 0};
      for (int64_t t = 0; t < static_cast<int64_t>(lengths(b)); ++t) {
        const auto [page, row] = keys[b / 2][t];
        const double logit = q(b, h, 0) * k_pages(h / 2, page, row, 0) + q(b, h, 1) * k_pages(h / 2, page, row, 1);
        sum += std::exp(0.5 * logit);
        for (int64_t c = 0; c < 2; ++c) weighted[c] += std::exp(0.5 * logit) * v_pages(h / 2, page, row, c);
      }
      for (int64_t c = 0; c < 2; ++c) EXPECT_NEAR(out(b, h, c), weighted[c] / sum, 1e-14);
    }
  for (int64_t h = 0; h < 4; ++h) EXPECT_EQ(out(1, h, 0), 0);
}

TEST(Attention, NanInAQueryIsNanInItsRowAlone) {
  const Array q({1, 1, 2, 1}, {NAN, 1}), k({1, 1, 2, 1}, {1, 2}), v({1, 1, 2, 1}, {3, 3});
  const Array out = attention(q, k, v, {}).out;
  EXPECT_TRUE(std::isnan(out.values[0]));
  EXPECT_DOUBLE_EQ(out.values[1], 3);
}

}  // namespace
}  // namespace tilecheck::reference
