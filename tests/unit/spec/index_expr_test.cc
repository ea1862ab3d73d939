// What is told of an index map from its expression is what evaluating it at each step shows.
#include "sim/spec/index_expr.h"

#include <gtest/gtest.h>

#include <random>

#include "sim/spec/index_map.h"
#include "sim/spec/traffic_affine.h"

namespace tilecheck {
namespace {

using Kind = IndexExpr::Kind;

int64_t evaluate(const IndexExpr& expr, int at, const Dims& step) {
  const IndexExpr::Node& n = expr.nodes[static_cast<size_t>(at)];
  if (n.kind == Kind::constant) return n.value;
  if (n.kind == Kind::axis) return step[static_cast<int>(n.value)];
  const int64_t a = evaluate(expr, n.a, step), b = evaluate(expr, n.b, step);
  switch (n.kind) {
    case Kind::add:
      return a + b;
    case Kind::sub:
      return a - b;
    case Kind::mul:
      return a * b;
    case Kind::div:
      return b == 0 ? -1 : a / b;
    case Kind::rem:
      return b == 0 ? a : a % b;
    case Kind::min:
      return std::min(a, b);
    case Kind::max:
      return std::max(a, b);
    case Kind::eq:
      return a == b;
    case Kind::lt:
      return a < b;
    case Kind::le:
      return a <= b;
    case Kind::both:
      return a != 0 && b != 0;
    case Kind::either:
      return a != 0 || b != 0;
    default:
      return a != 0 ? b : evaluate(expr, n.c, step);
  }
}

IndexExpr random_expr(std::mt19937_64& random, int axes) {
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<uint64_t>(n)); };
  IndexExpr e;
  std::vector<int> numbers, truths;
  for (int axis = 0; axis < axes; ++axis) numbers.push_back(e.axis(axis));
  for (int i = 0; i < 3; ++i) numbers.push_back(e.constant(pick(9) - 3));
  truths.push_back(e.constant(pick(2)));
  const auto any = [&](const std::vector<int>& of) {
    return of[static_cast<size_t>(pick(static_cast<int>(of.size())))];
  };
  for (int i = 0; i < 10; ++i) {
    const int kind = static_cast<int>(Kind::add) + pick(13);
    const auto k = static_cast<Kind>(kind);
    if (k == Kind::eq || k == Kind::lt || k == Kind::le)
      truths.push_back(e.add(k, any(numbers), any(numbers)));
    else if (k == Kind::both || k == Kind::either)
      truths.push_back(e.add(k, any(truths), any(truths)));
    else if (k == Kind::select)
      numbers.push_back(e.select(any(truths), any(numbers), any(numbers)));
    else
      numbers.push_back(e.add(k, any(numbers), any(numbers)));
  }
  e.results = {numbers.back(), any(numbers), truths.back()};
  return e;
}

Dims step_of(int64_t k, const Dims& lo, const Dims& extents) {
  Dims step = lo;
  for (int i = extents.rank() - 1; i >= 0; --i) {
    step[i] += k % extents[i];
    k /= extents[i];
  }
  return step;
}

TEST(IndexExpr, RandomOnesGoOnAsTheySay) {
  int64_t bound_count = 0, linear = 0, long_segments = 0;
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto axes = static_cast<int>(1 + random() % 3);
    Dims lo, extents;
    for (int i = 0; i < axes; ++i) {
      lo.push_back(static_cast<int64_t>(random() % 4));
      extents.push_back(1 + static_cast<int64_t>(random() % 12));
    }
    const IndexExpr expr = random_expr(random, axes);
    const auto bound = BoundIndexExpr::over(expr, lo, extents);
    if (!bound) continue;
    ++bound_count;
    std::vector<int64_t> values(3), slopes(3);
    const int64_t points = element_count(extents);
    for (int64_t k = 0; k < points; ++k) {
      const Dims step = step_of(k, lo, extents);
      const int last = axes - 1;
      const int64_t steps = bound->segment(step, last, lo[last] + extents[last] - step[last], values, slopes);
      ASSERT_GE(steps, 1);
      long_segments += steps > 2;
      for (int64_t s = 0; s < steps; ++s) {
        Dims at = step;
        at[last] += s;
        for (size_t i = 0; i < 3; ++i) {
          const int64_t truth = evaluate(expr, expr.results[i], at);
          ASSERT_EQ(values[i] + slopes[i] * s, truth) << "result " << i << " at " << to_string(at);
          ASSERT_LE(bound->range(i).lo, truth);
          ASSERT_GE(bound->range(i).hi, truth);
          const auto affine = bound->affine(i);
          if (!affine) continue;
          ++linear;
          int64_t sum = affine->offset;
          for (int a = 0; a < axes; ++a) sum += affine->per_axis[static_cast<size_t>(a)] * at[a];
          ASSERT_EQ(sum, truth) << "result " << i << " at " << to_string(at);
        }
      }
    }
  }
  EXPECT_GT(bound_count, 3500);
  EXPECT_GT(linear, 100000);
  EXPECT_GT(long_segments, 100000);
}

TEST(IndexExpr, WhatMayWrapIsNotTold) {
  IndexExpr e;
  const int i = e.axis(0);
  e.results = {e.add(Kind::mul, i, e.constant(1 << 20), true)};
  EXPECT_TRUE(BoundIndexExpr::over(e, {0}, {2048}));
  EXPECT_FALSE(BoundIndexExpr::over(e, {0}, {2049}));
  e.nodes.back().is_i32 = false;
  EXPECT_TRUE(BoundIndexExpr::over(e, {0}, {2049}));
  EXPECT_FALSE(BoundIndexExpr::over(e, {0}, {int64_t{1} << 42}));
}

TEST(IndexExpr, OfAMapThatJudgesByItselfThereIsNone) {
  const auto written_out = [](const IndexMap& map) { return map.expression(2) != nullptr; };
  EXPECT_TRUE(written_out([](Index i, Index j) { return Indices{i * 3 + j / 2, min(i, j)}; }));
  EXPECT_TRUE(written_out([](Index i, Index j) { return Indices{select(less(i, j), i, 0)}; }));
  EXPECT_FALSE(written_out([](Index i, Index j) { return Indices{i.value() < 2 ? i : j}; }));
  EXPECT_FALSE(written_out([](Index i, Index j) { return Indices{select(i.value() < 2, i, i, j)}; }));
  EXPECT_FALSE(written_out([](Index i, Index, const PrefetchRefs& p) { return Indices{p(0, i)}; }));
  EXPECT_FALSE(written_out([](Index i, Index, const PrefetchRefs& p) { return Indices{i, Index(p.at(0, {0}))}; }));
  EXPECT_FALSE(written_out([](Index i, Index, const PrefetchRefs& p) { return Indices{i + p(0, 0) * 0}; }));
}

TEST(IndexExpr, ValuesOfStridesAreCountedOnce) {
  int told = 0;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<Stride> strides;
    std::vector<int64_t> sums{0};
    for (uint64_t i = 0, n = random() % 4; i < n; ++i) {
      const Stride s{1 + static_cast<int64_t>(random() % 9), 2 + static_cast<int64_t>(random() % 5)};
      strides.push_back(s);
      std::vector<int64_t> longer;
      for (int64_t k = 0; k < s.count; ++k)
        for (int64_t sum : sums) longer.push_back(sum + k * s.step);
      sums = std::move(longer);
    }
    std::ranges::sort(sums);
    std::ranges::sort(strides, {}, &Stride::step);
    const auto values = StrideValues::of(strides);
    told += values.has_value();
    for (int64_t limit = -2; limit <= sums.back() + 2; ++limit) {
      const auto end = std::ranges::upper_bound(sums, limit);
      int64_t budget = 1000;
      EXPECT_EQ(static_cast<int64_t>(*points_at_most(strides, limit, budget)), end - sums.begin()) << "seed " << seed;
      std::vector<int64_t> distinct(sums.begin(), end);
      distinct.erase(std::ranges::unique(distinct).begin(), distinct.end());
      if (values) {
        EXPECT_EQ(static_cast<int64_t>(values->at_most(limit)), static_cast<int64_t>(distinct.size()))
            << "seed " << seed;
      }
    }
  }
  EXPECT_GT(told, 1000);
}

}  // namespace
}  // namespace tilecheck
