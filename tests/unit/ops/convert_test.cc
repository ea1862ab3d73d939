// Conversions: a table of the rules, then every pair of types against conversion through a wider number.
#include <bit>

#include "tests/unit/ops/tiles.h"

namespace tilecheck {
namespace {

class Conversions : public OpsTest {
 protected:
  Tile converted(OpId op, const Tile& from, DType to) { return run({.op = op, .dtype = to}, {from}); }
};

TEST_F(Conversions, FollowTheTable) {
  const struct {
    OpId op;
    DType from, to;
    double in, out;
  } cases[] = {
      {OpId::truncf, DType::f32, DType::bf16, 1.00390625, 1.0},       // tie to even
      {OpId::truncf, DType::f32, DType::bf16, 1.01171875, 1.015625},  // tie to even, upward
      {OpId::truncf, DType::f32, DType::f16, 65520, kInf},
      {OpId::truncf, DType::f32, DType::f16, 65519, 65504},
      {OpId::truncf, DType::f32, DType::f8e5m2, 1e9, kInf},
      {OpId::truncf, DType::f32, DType::f8e4m3fn, 500, kNan},
      {OpId::truncf, DType::f32, DType::f8e4m3fn, 448, 448},
      {OpId::truncf, DType::f64, DType::f32, 0x1.000001000001p0, 0x1.000002p0},
      {OpId::truncf, DType::f32, DType::bf16, kNan, kNan},
      {OpId::extf, DType::bf16, DType::f32, -0.0, -0.0},
      {OpId::fptosi, DType::f32, DType::i32, -2.9, -2},
      {OpId::fptosi, DType::f32, DType::i32, 3e9, 2147483647},
      {OpId::fptosi, DType::f32, DType::i32, -3e9, -2147483648.0},
      {OpId::fptosi, DType::f32, DType::i32, kNan, 0},
      {OpId::fptosi, DType::f32, DType::i32, kInf, 2147483647},
      {OpId::fptosi, DType::f32, DType::i8, 300, 127},
      {OpId::fptosi, DType::f32, DType::i8, -300, -128},
      {OpId::fptosi, DType::bf16, DType::i4, 9, 7},
      {OpId::fptoui, DType::f32, DType::u8, 300, 255},
      {OpId::fptoui, DType::f32, DType::u8, -3, 0},
      {OpId::fptoui, DType::f32, DType::i32, 3e9, 3e9 - 4294967296.0},
      {OpId::fptoui, DType::f32, DType::u32, -kInf, 0},
      {OpId::sitofp, DType::i32, DType::f32, 16777217, 16777216},
      {OpId::sitofp, DType::i32, DType::bf16, 257, 256},
      {OpId::sitofp, DType::i32, DType::bf16, 16842753, 16908288},  // one rounding: just above a tie of bf16
      {OpId::sitofp, DType::i4, DType::f32, -8, -8},
      {OpId::sitofp, DType::b1, DType::f32, 1, -1},
      {OpId::uitofp, DType::b1, DType::f32, 1, 1},
      {OpId::uitofp, DType::i8, DType::f32, -1, 255},
      {OpId::uitofp, DType::i4, DType::bf16, -1, 15},
      {OpId::extsi, DType::i8, DType::i32, -1, -1},
      {OpId::extsi, DType::b1, DType::i32, 1, -1},
      {OpId::extui, DType::i8, DType::i32, -1, 255},
      {OpId::extui, DType::i4, DType::i32, -1, 15},
      {OpId::extui, DType::b1, DType::i32, 1, 1},
      {OpId::trunci, DType::i32, DType::i8, 300, 44},
      {OpId::trunci, DType::i32, DType::i4, 8, -8},
      {OpId::trunci, DType::i32, DType::u4, -1, 15},
      {OpId::trunci, DType::i32, DType::b1, 2, 0},
  };
  for (const auto& c : cases) {
    const Tile dense = converted(c.op, tile(c.from, {c.in, c.in}), c.to);
    EXPECT_THAT(values_of(dense), SameValues(std::vector<double>{c.out, c.out}))
        << info(c.op).name << " " << c.from << " " << c.in << " to " << c.to;
    const Tile splat = converted(c.op, Tile::scalar(context, c.from, c.in), c.to);
    EXPECT_EQ(splat.layout(), Layout::splat);
    EXPECT_THAT(values_of(splat), SameValues(std::vector<double>{c.out}));
  }
}

const DType kFloats[] = {DType::f64,    DType::f32,           DType::bf16,      DType::f16,     DType::f8e4m3fn,
                         DType::f8e5m2, DType::f8e4m3b11fnuz, DType::f8e8m0fnu, DType::f4e2m1fn};
const DType kInts[] = {DType::i64, DType::i32, DType::i16, DType::i8, DType::i4, DType::i2,
                       DType::u64, DType::u32, DType::u16, DType::u8, DType::u4, DType::u2};

TEST_F(Conversions, EveryPairOfFloatsRoundsOnce) {
  for (DType from : kFloats) {
    std::vector<double> values = {0, -0.0, 1, -1.5, 0.001, 448, 449, 70000, 1e-8, 1e30, -1e30, kInf, -kInf, kNan};
    std::mt19937_64 random(2);
    for (int i = 0; i < 300; ++i)
      values.push_back(
          std::ldexp(static_cast<double>(random() % 2000001) / 1e6 - 1, static_cast<int>(random() % 60) - 30));
    const Tile source = tile(from, values);
    for (DType to : kFloats) {
      std::vector<double> expected;
      for (int64_t i = 0; i < source.size(); ++i) {
        uint64_t element = encode_element(to, source.at(i));
        expected.push_back(decode_element(to, &element));
      }
      EXPECT_THAT(values_of(converted(OpId::truncf, source, to)), SameValues(expected)) << from << " to " << to;
    }
  }
}

TEST_F(Conversions, VectorRoundingEqualsTheScalarOneOnAnyBits) {
  // Random f32 bits, and every bf16: among them ties, subnormals, infinities and NaN of each format.
  std::mt19937_64 random(5);
  Tile x = Tile::dense(context, DType::f32, {(1 << 16) + 30001});
  for (int64_t i = 0; i < x.size(); ++i) {
    const uint32_t u = i < 1 << 16 ? static_cast<uint32_t>(i) << 16 : static_cast<uint32_t>(random());
    std::memcpy(x.writable_bytes() + 4 * i, &u, 4);
  }
  for (DType to : kFloats)
    for (VectorIsa isa : {VectorIsa::best, VectorIsa::avx2}) {
      use_vector_isa(isa);
      const Tile rounded = converted(OpId::truncf, x, to);
      use_vector_isa(VectorIsa::best);
      for (int64_t i = 0; i < x.size(); ++i) {
        uint64_t element = 0, got = 0;
        store_from_double(to, &element, x.at(i));
        std::memcpy(&got, rounded.strip(i, 1, &got), static_cast<size_t>(storage_bytes(to)));
        if (std::isnan(x.at(i))) {  // any NaN
          ASSERT_TRUE(std::isnan(rounded.at(i)) || to == DType::f4e2m1fn) << to;
          continue;
        }
        ASSERT_EQ(got, element) << x.at(i) << " to " << to;
      }
    }
}

TEST_F(Conversions, EveryPairOfIntegersWraps) {
  const int64_t values[] = {0, 1, -1, 7, 8, -8, 127, 128, 255, 256, -129, 65535, 1 << 20, -(int64_t{1} << 40) - 3};
  for (DType from : kInts)
    for (DType to : kInts)
      for (int64_t value : values) {
        const Tile source = Tile::scalar_int(context, from, value);
        const bool grows = bits(to) >= bits(from);
        const uint64_t raw = static_cast<uint64_t>(source.int_value());
        const Tile as_signed = converted(grows ? OpId::extsi : OpId::trunci, source, to);
        EXPECT_EQ(as_signed.int_value(), canonical_int(to, static_cast<uint64_t>(sign_extend(raw, bits(from)))))
            << from << " " << value << " to " << to;
        if (grows) {
          EXPECT_EQ(converted(OpId::extui, source, to).int_value(), canonical_int(to, zero_extend(raw, bits(from))))
              << from << " " << value << " to " << to;
        }
      }
}

TEST_F(Conversions, IntegersToFloatsRoundOnceAndBackSaturate) {
  const int64_t values[] = {0,
                            1,
                            -1,
                            7,
                            100,
                            16777217,
                            33554431,
                            -2147483647,
                            (int64_t{1} << 53) + 1,
                            (int64_t{1} << 62) + (int64_t{1} << 54) + 1};
  for (DType from : kInts)
    for (DType to : {DType::f64, DType::f32, DType::bf16, DType::f16}) {
      for (int64_t value : values) {
        const Tile source = Tile::scalar_int(context, from, value);
        // long double holds every 64-bit integer; rounding it to odd in double loses nothing for a narrower type.
        const long double exact =
            static_cast<long double>(sign_extend(static_cast<uint64_t>(source.int_value()), bits(from)));
        double near = static_cast<double>(exact);
        if (to != DType::f64 && static_cast<long double>(near) != exact) {
          uint64_t u = std::bit_cast<uint64_t>(near);
          const long double magnitude = exact < 0 ? -exact : exact;
          if (static_cast<long double>(std::fabs(near)) > magnitude) --u;
          near = std::bit_cast<double>(u | 1);
        }
        const uint64_t expected = encode_element(to, near);
        EXPECT_EQ(converted(OpId::sitofp, source, to).splat_bits(), expected) << from << " " << value << " to " << to;
      }
    }
  for (DType to : kInts) {
    const int64_t top =
        is_signed_int(to) ? static_cast<int64_t>(~uint64_t{0} >> (65 - bits(to))) : canonical_int(to, ~uint64_t{0});
    const OpId op = is_signed_int(to) ? OpId::fptosi : OpId::fptoui;
    EXPECT_EQ(converted(op, Tile::scalar(context, DType::f32, 1e30), to).int_value(), top) << to;
    EXPECT_EQ(converted(op, Tile::scalar(context, DType::f64, 1e30), to).int_value(), top) << to;
    EXPECT_EQ(converted(op, Tile::scalar(context, DType::bf16, -1e30), to).int_value(),
              is_signed_int(to) ? -top - 1 : 0)
        << to;
  }
}

TEST_F(Conversions, ConvertPicksTheOperation) {
  EXPECT_EQ(convert(tile(DType::u8, {255}), DType::i32).int_at(0), 255);
  EXPECT_EQ(convert(tile(DType::i8, {-1}), DType::u32).int_at(0), 0xffffffff);
  EXPECT_EQ(convert(tile(DType::b1, {1}), DType::f32).at(0), 1);
  EXPECT_EQ(convert(tile(DType::f32, {0.5, 0}), DType::b1).int_at(0), 1);
  EXPECT_EQ(convert(tile(DType::f32, {-3.7}), DType::u8).int_at(0), 0);
  EXPECT_EQ(convert(tile(DType::i32, {3}), DType::bf16).dtype(), DType::bf16);
}

TEST_F(Conversions, StochasticRoundingGoesUpByTheRandomWord) {
  // 1 + 1/256 lies halfway between two bf16 values.
  const Tile x = tile(DType::f32, {1.00390625, 1.00390625, 1.0, -1.00390625, kInf, kNan, 3.3896e38});
  const Tile random = tile(DType::u32, {0x7fffffff, 0x80000000, 0xffffffff, 0x80000000, 0xffffffff, 0xffffffff, 0});
  const Tile result = run({.op = OpId::stochastic_convert, .dtype = DType::bf16}, {x, random});
  EXPECT_THAT(values_of(result), SameValues(std::vector<double>{1, 1.0078125, 1, -1.0078125, kInf, kNan, 0x1.fep127}));
  // Below the smallest subnormal of e5m2, 2^-16: half of it goes up for half of the words.
  const OpCall small{.op = OpId::stochastic_convert, .dtype = DType::f8e5m2};
  const auto one = [&](double value, double word) {
    return run(small, {tile(DType::f32, {value}), tile(DType::u32, {word})}).at(0);
  };
  EXPECT_EQ(one(0x1p-17, 0x7fffffff), 0);
  EXPECT_EQ(one(0x1p-17, 0x80000000), 0x1p-16);
  EXPECT_EQ(one(0x1p-40, 0xfffffeff), 0);
  EXPECT_EQ(one(0x1p-40, 0xffffffff), 0x1p-16);
  EXPECT_EQ(one(0x1p-80, 0xffffffff), 0);
  EXPECT_EQ(one(0x1.8p-16, 0x80000000), 0x1p-15);
}

TEST_F(Conversions, BitcastsOfEqualWidthKeepTheBits) {
  EXPECT_EQ(bitcast(tile(DType::f32, {1, -0.0}), DType::i32).int_at(0), 0x3f800000);
  EXPECT_EQ(bitcast(tile(DType::i32, {0x40000000}), DType::f32).at(0), 2);
  EXPECT_EQ(bitcast(tile(DType::bf16, {1}), DType::u16).int_at(0), 0x3f80);
  EXPECT_EQ(bitcast(tile(DType::i4, {-1}), DType::u4).int_at(0), 15);
  EXPECT_EQ(bitcast(tile(DType::u4, {15}), DType::i4).int_at(0), -1);
  EXPECT_EQ(bitcast(tile(DType::f4e2m1fn, {-1}), DType::i4).int_at(0), -6);
  EXPECT_EQ(bitcast(Tile::scalar(context, DType::f32, 1), DType::i32).layout(), Layout::splat);
}

TEST_F(Conversions, BitcastsToWordsPackRows) {
  // Rows 2r and 2r + 1 of a column share a word, row 2r in the low half.
  const Tile halves = tile(DType::u16, {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  const Tile words = bitcast(halves, DType::i32);
  EXPECT_EQ(words.shape(), (Shape{2, 2}));
  EXPECT_EQ(values_of(words), (std::vector<double>{0x30001, 0x40002, 0x70005, 0x80006}));
  EXPECT_EQ(values_of(bitcast(words, DType::u16)), values_of(halves));
  const Tile nibbles = bitcast(tile(DType::i8, {1, 1}, {-127}), DType::i4);  // 0x81
  EXPECT_EQ(values_of(nibbles), (std::vector<double>{1, -8}));
  EXPECT_EQ(bitcast(nibbles, DType::i8).int_at(0), -127);
}

TEST_F(Conversions, PackAndUnpackWords) {
  const OpCall pack{.op = OpId::pack_elementwise, .dtype = DType::i32, .source_dtype = DType::bf16};
  const Tile words = run(pack, {tile(DType::f32, {1, 1.00390625}), tile(DType::f32, {-2, 4})});
  EXPECT_EQ(values_of(words), (std::vector<double>{-1073725568.0, 0x40803f80}));  // 0xc0003f80
  for (int index : {0, 1}) {
    const OpCall unpack{
        .op = OpId::unpack_elementwise, .dtype = DType::f32, .amount = index, .source_dtype = DType::bf16};
    EXPECT_EQ(values_of(run(unpack, {words})), (index ? std::vector<double>{-2, 4} : std::vector<double>{1, 1}));
  }
  const OpCall bytes{.op = OpId::pack_elementwise, .dtype = DType::i32, .source_dtype = DType::i8};
  const Tile packed =
      run(bytes, {tile(DType::i32, {-1}), tile(DType::i32, {2}), tile(DType::i32, {300}), tile(DType::i32, {4})});
  EXPECT_EQ(packed.int_at(0), 0x042c02ff);
  const OpCall low{.op = OpId::unpack_elementwise, .dtype = DType::i32, .amount = 0, .source_dtype = DType::i8};
  EXPECT_EQ(run(low, {packed}).int_at(0), -1);
}

}  // namespace
}  // namespace tilecheck
