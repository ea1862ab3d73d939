#include "reference/basic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "reference/collectives.h"
#include "reference/product.h"

namespace tilecheck::reference {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;

TEST(Reference, Relu2xPlus1) {
  const Array y = relu_2x_plus_1(Array({5}, {0, 1, 2, 3, -2}));
  EXPECT_THAT(y.values, ElementsAre(1, 3, 5, 7, 0));
  EXPECT_TRUE(std::isnan(relu_2x_plus_1(Array({1}, {NAN})).values[0]));
}

TEST(Reference, Add) { EXPECT_THAT(add(Array({2}, {1, 2}), Array({2}, {10, -2})).values, ElementsAre(11, 0)); }

TEST(Reference, Matmul) {
  const Array c = matmul(Array({2, 3}, {1, 2, 3, 4, 5, 6}), Array({3, 2}, {7, 8, 9, 10, 11, 12}));
  EXPECT_THAT(c.shape, ElementsAre(2, 2));
  EXPECT_THAT(c.values, ElementsAre(58, 64, 139, 154));
}

TEST(Reference, ProductsAreMatmulToTheBit) {
  for (const auto& [rows, inner, columns] :
       {std::array{1, 1, 1}, {4, 3, 8}, {7, 5, 19}, {9, 0, 2}, {13, 33, 7}, {2, 300, 150}}) {
    Array a({rows, inner}), b({inner, columns});
    for (size_t i = 0; i < a.values.size(); ++i) a.values[i] = std::sin(1.7 * static_cast<double>(i));
    for (size_t i = 0; i < b.values.size(); ++i) b.values[i] = std::cos(2.3 * static_cast<double>(i));
    const Array expected = matmul(a, b);
    EXPECT_EQ(product(a, b).values, expected.values);
    EXPECT_EQ(weighted_sum(a, b).values, expected.values);
  }
  const Array weights({1, 2}, {0, 2}), values({2, 1}, {NAN, 3});
  EXPECT_TRUE(std::isnan(product(weights, values).values[0]));
  EXPECT_EQ(weighted_sum(weights, values).values[0], 6);
}

TEST(Reference, SoftmaxRows) {
  const Array y = softmax_rows(Array({2, 2}, {0, std::log(3), 1000, 1000}));
  EXPECT_THAT(y.values, ElementsAre(DoubleEq(0.25), DoubleEq(0.75), 0.5, 0.5));
}

TEST(Reference, LayerNorm) {
  // Mean 2, variance 1.
  const Array y = layer_norm(Array({1, 2}, {1, 3}), Array({2}, {2, 10}), Array({2}, {0, 1}), 0);
  EXPECT_THAT(y.values, ElementsAre(-2, 11));
  // Mean 0, variance 1, epsilon 3: halved.
  EXPECT_THAT(layer_norm(Array({1, 2}, {-1, 1}), Array({2}, {1, 1}), Array({2}, {0, 0}), 3).values,
              ElementsAre(-0.5, 0.5));
}

TEST(Reference, TransposeAndPermute) {
  const Array y = transpose(Array({2, 3}, {1, 2, 3, 4, 5, 6}));
  EXPECT_THAT(y.shape, ElementsAre(3, 2));
  EXPECT_THAT(y.values, ElementsAre(1, 4, 2, 5, 3, 6));
  Array x({2, 3, 4});
  for (size_t i = 0; i < x.values.size(); ++i) x.values[i] = static_cast<double>(i);
  const Array z = permute(x, {2, 0, 1});
  EXPECT_THAT(z.shape, ElementsAre(4, 2, 3));
  for (int64_t i = 0; i < 2; ++i)
    for (int64_t j = 0; j < 3; ++j)
      for (int64_t k = 0; k < 4; ++k) EXPECT_EQ(z(k, i, j), x(i, j, k));
}

TEST(Reference, Collectives) {
  const PerDevice x = {Array({3}, {1, 2, 3}), Array({3}, {10, 20, 30}), Array({3}, {100, 200, 300})};
  const PerDevice right = ring_permute(x, 1), left = ring_permute(x, -4);
  EXPECT_THAT(right[0].values, ElementsAre(100, 200, 300));
  EXPECT_THAT(right[1].values, ElementsAre(1, 2, 3));
  EXPECT_THAT(left[0].values, ElementsAre(10, 20, 30));
  for (const Array& all : all_gather(x)) {
    EXPECT_THAT(all.shape, ElementsAre(9));
    EXPECT_THAT(all.values, ElementsAre(1, 2, 3, 10, 20, 30, 100, 200, 300));
  }
  for (const Array& total : all_reduce(x)) EXPECT_THAT(total.values, ElementsAre(111, 222, 333));
  const PerDevice parts = reduce_scatter(x);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_THAT(parts[1].shape, ElementsAre(1));
  EXPECT_THAT(parts[1].values, ElementsAre(222));
  EXPECT_THAT(parts[2].values, ElementsAre(333));
}

}  // namespace
}  // namespace tilecheck::reference
