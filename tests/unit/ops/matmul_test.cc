// Contractions: against the chain that defines them, for all layouts, types and instruction sets.
#include "tests/unit/ops/tiles.h"

namespace tilecheck {
namespace {

class Matmul : public OpsTest {};

// Element (m, n) of a plain product as the definition has it: a chain of fused multiply-adds in k order.
float chain(const Tile& a, const Tile& b, int64_t m, int64_t n, int64_t k_extent, int64_t columns, float start) {
  float sum = start;
  for (int64_t k = 0; k < k_extent; ++k)
    sum = std::fma(static_cast<float>(a.at(m * k_extent + k)), static_cast<float>(b.at(k * columns + n)), sum);
  return sum;
}

TEST_F(Matmul, IsOneChainPerElementWithEitherInstructionSet) {
  const int64_t shapes[][3] = {{1, 1, 1},   {3, 5, 7},   {6, 16, 8},   {8, 32, 16},  {7, 33, 300},
                               {13, 50, 9}, {20, 1, 40}, {1, 130, 20}, {64, 64, 64}, {17, 47, 513}};
  uint64_t seed = 1;
  for (const auto& [m, n, k] : shapes)
    for (DType dtype : {DType::f32, DType::bf16, DType::f8e4m3fn}) {
      const Tile a = random_tile(dtype, {m, k}, seed++), b = random_tile(dtype, {k, n}, seed++);
      const Tile start = random_tile(DType::f32, {m, n}, seed++);
      for (VectorIsa isa : {VectorIsa::best, VectorIsa::avx2}) {
        use_vector_isa(isa);
        const Tile plain = matmul(a, b), onto = matmul(a, b, DotDims::plain(), start);
        const Tile turned = matmul(a, transpose(b), DotDims::transposed_rhs());
        const Tile lhs_turned = matmul(transpose(a), b, DotDims{{0}, {0}, {1}, {1}, {}, {}, {}});
        for (int64_t i = 0; i < m; ++i)
          for (int64_t j = 0; j < n; ++j) {
            const float expected = chain(a, b, i, j, k, n, 0);
            ASSERT_EQ(plain.at(i * n + j), expected) << m << "x" << n << "x" << k << " " << dtype;
            ASSERT_EQ(turned.at(i * n + j), expected) << m << "x" << n << "x" << k << " " << dtype;
            ASSERT_EQ(lhs_turned.at(i * n + j), expected) << m << "x" << n << "x" << k << " " << dtype;
            ASSERT_EQ(onto.at(i * n + j), chain(a, b, i, j, k, n, static_cast<float>(start.at(i * n + j))));
          }
      }
      use_vector_isa(VectorIsa::best);
    }
}

// Tall products go through rows and panels in another order than short ones.
TEST_F(Matmul, OfManyRowsHasTheBitsOfItsParts) {
  const int64_t m = 600, n = 530, k = 300, part = 40;
  const Tile a = random_tile(DType::f32, {m, k}, 1), b = random_tile(DType::f32, {k, n}, 2);
  const Tile start = random_tile(DType::f32, {m, n}, 3), narrow = convert(b, DType::bf16);
  for (VectorIsa isa : {VectorIsa::best, VectorIsa::avx2}) {
    use_vector_isa(isa);
    const Tile whole = matmul(a, b, DotDims::plain(), start);
    const Tile turned = matmul(convert(a, DType::bf16), transpose(narrow), DotDims::transposed_rhs());
    for (int64_t i = 0; i < m; i += part) {
      const Tile rows = slice(a, {i, 0}, {part, k});
      EXPECT_EQ(bits_of(slice(whole, {i, 0}, {part, n})),
                bits_of(matmul(rows, b, DotDims::plain(), slice(start, {i, 0}, {part, n}))));
      EXPECT_EQ(bits_of(slice(turned, {i, 0}, {part, n})), bits_of(matmul(convert(rows, DType::bf16), narrow)));
    }
  }
  use_vector_isa(VectorIsa::best);
}

TEST_F(Matmul, SplitsOfKAreTheWholeChain) {
  const Tile a = random_tile(DType::f32, {16, 96}, 1), b = random_tile(DType::f32, {96, 40}, 2);
  Tile acc = Tile::splat(context, DType::f32, {16, 40}, 0);
  for (int64_t k = 0; k < 96; k += 32)
    acc = matmul(slice(a, {0, k}, {16, 32}), slice(b, {k, 0}, {32, 40}), DotDims::plain(), std::move(acc));
  EXPECT_EQ(bits_of(acc), bits_of(matmul(a, b)));
}

TEST_F(Matmul, ReusesASoleAccumulator) {
  const Tile a = random_tile(DType::f32, {8, 8}, 1);
  Tile acc = random_tile(DType::f32, {8, 8}, 2);
  const float* block = acc.data<float>();
  acc = matmul(a, a, DotDims::plain(), std::move(acc));
  EXPECT_EQ(acc.data<float>(), block);
  const Tile kept = acc;
  const Tile other = matmul(a, a, DotDims::plain(), acc);
  EXPECT_NE(other.data<float>(), block);
}

TEST_F(Matmul, BatchesAndOrdersDimensions) {
  // [b, m, k] x [b, n, k] -> [b, m, n]
  const Tile a = random_tile(DType::f32, {3, 4, 5}, 1), b = random_tile(DType::f32, {3, 6, 5}, 2);
  const DotDims batched{{2}, {2}, {1}, {1}, {0}, {0}, {}};
  const Tile out = matmul(a, b, batched);
  EXPECT_EQ(out.shape(), (Shape{3, 4, 6}));
  for (int64_t i = 0; i < 3; ++i) {
    const Tile one = matmul(reshape(slice(a, {i, 0, 0}, {1, 4, 5}), {4, 5}),
                            reshape(slice(b, {i, 0, 0}, {1, 6, 5}), {6, 5}), DotDims::transposed_rhs());
    EXPECT_EQ(bits_of(slice(out, {i, 0, 0}, {1, 4, 6})), bits_of(one));
  }
  // The same, batch last and rhs first: [n, m, b].
  DotDims ordered = batched;
  ordered.out_order = {1, 1, 0, 1, 0, 0};
  const Tile start = random_tile(DType::f32, {6, 4, 3}, 3);
  const Tile turned = matmul(a, b, ordered);
  EXPECT_EQ(turned.shape(), (Shape{6, 4, 3}));
  EXPECT_EQ(bits_of(transpose(turned, {2, 1, 0})), bits_of(out));
  EXPECT_EQ(bits_of(transpose(matmul(a, b, ordered, start), {2, 1, 0})),
            bits_of(matmul(a, b, batched, transpose(start, {2, 1, 0}))));
  // Several contracted dimensions that no one stride walks: [m, x, y] x [y, x, n].
  const Tile c = random_tile(DType::f32, {4, 3, 5}, 4), e = random_tile(DType::f32, {5, 3, 6}, 5);
  const Tile two = matmul(c, e, DotDims{{1, 2}, {1, 0}, {0}, {2}, {}, {}, {}});
  EXPECT_EQ(bits_of(two), bits_of(matmul(reshape(c, {4, 15}), reshape(transpose(e, {1, 0, 2}), {15, 6}))));
  // Vector times matrix.
  const Tile v = random_tile(DType::f32, {5}, 6), m = random_tile(DType::f32, {5, 7}, 7);
  EXPECT_EQ(bits_of(matmul(v, m, DotDims{{0}, {0}, {}, {1}, {}, {}, {}})), bits_of(matmul(reshape(v, {1, 5}), m)));
}

TEST_F(Matmul, IntegersWrap) {
  const Tile a = random_tile(DType::i8, {5, 2000}, 1, -128, 127), b = random_tile(DType::i8, {2000, 9}, 2, -128, 127);
  const Tile out = matmul(a, b);
  EXPECT_EQ(out.dtype(), DType::i32);
  for (int64_t i = 0; i < 5; ++i)
    for (int64_t j = 0; j < 9; ++j) {
      int64_t sum = 0;
      for (int64_t k = 0; k < 2000; ++k) sum += a.int_at(i * 2000 + k) * b.int_at(k * 9 + j);
      ASSERT_EQ(out.int_at(i * 9 + j), sum);
    }
  const Tile big = tile(DType::i32, {1, 2}, {1 << 30, 1 << 30}), four = tile(DType::i32, {2, 1}, {2, 3});
  EXPECT_EQ(matmul(big, four).int_at(0), 1 << 30);
  EXPECT_EQ(matmul(tile(DType::u8, {1, 1}, {255}), tile(DType::u8, {1, 1}, {255})).int_at(0), 65025);
  EXPECT_EQ(matmul(tile(DType::i4, {1, 1}, {-8}), tile(DType::i4, {1, 1}, {7})).int_at(0), -56);
}

TEST_F(Matmul, PrecisionIsTheMxusWhereAskedFor) {
  const double x = 1 + 0x1p-7 + 0x1p-12;
  const Tile a = tile(DType::f32, {1, 1}, {x});
  const double high = 1 + 0x1p-7, low = 0x1p-12;
  const auto product = [&](Precision precision) { return matmul(a, a, DotDims::plain(), {}, precision).at(0); };
  const float exact = static_cast<float>(x * x);
  const float three = static_cast<float>(high * high + 2 * high * low);
  EXPECT_EQ(product(Precision::default_), exact);
  EXPECT_EQ(product(Precision::highest), exact);
  EXPECT_EQ(product(Precision::bf16), high * high);
  EXPECT_EQ(product(Precision::bf16x3), three);
  context.numerics = Numerics::mxu;
  EXPECT_EQ(product(Precision::default_), high * high);
  EXPECT_EQ(product(Precision::highest), exact);
}

TEST_F(Matmul, EmptyContractionGivesTheAccumulator) {
  const Tile a = Tile::dense(context, DType::f32, {2, 0}), b = Tile::dense(context, DType::f32, {0, 3});
  EXPECT_EQ(values_of(matmul(a, b)), std::vector<double>(6, 0));
  EXPECT_EQ(values_of(matmul(a, b, DotDims::plain(), Tile::splat(context, DType::f32, {2, 3}, 5))),
            std::vector<double>(6, 5));
}

}  // namespace
}  // namespace tilecheck
