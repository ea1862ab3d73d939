// Definedness: a table of rules, then a property: bits that change with the garbage are marked, whatever the operation.
#include "tests/unit/ops/tiles.h"

namespace tilecheck {
namespace {

class Shadows : public OpsTest {
 protected:
  Tile ints(DType dtype, const std::vector<double>& values, const std::vector<int>& shadow) {
    return shadowed(tile(dtype, values), shadow);
  }
};

// Undefined and computed with defined data, in 4 bytes and in 1.
constexpr int kC = 15 | kComputedFlag, kC1 = 1 | kComputedFlag;

TEST_F(Shadows, FollowTheTable) {
  const auto i32 = [&](const std::vector<double>& v, const std::vector<int>& s) { return ints(DType::i32, v, s); };
  const Tile one = Tile::scalar_int(context, DType::i32, 1);
  const struct {
    const char* what;
    Tile result;
    std::vector<int> expected;
  } cases[] = {
      {"add takes any undefined byte to the whole", i32({1, 2, 3}, {0, 1, 15}) + one, {0, kC, kC}},
      {"add with a defined tile", one + i32({1, 2}, {0, 8}), {0, kC}},
      {"zero times undefined is undefined",
       tile(DType::f32, {0, 0}) * shadowed(tile(DType::f32, {1, 1}), {0, 15}),
       {0, kC}},
      {"and keeps bytes apart", i32({0x01010101}, {5}) & i32({-1}, {0}), {5}},
      {"and with zero bytes absorbs", i32({0}, {15}) & tile(DType::i32, {0x0000ffff}), {3}},
      {"and absorbs only with what is defined", i32({0}, {15}) & i32({0}, {15}), {15}},
      {"or with ones absorbs", i32({0}, {15}) | tile(DType::i32, {-65536}), {3}},
      {"xor joins bytes", i32({0}, {1}) ^ i32({0}, {2}), {3}},
      {"bool and with false", ints(DType::b1, {1}, {1}) & tile(DType::b1, {0}), {0}},
      {"bool and with true", ints(DType::b1, {1}, {1}) & tile(DType::b1, {1}), {1}},
      {"bool or with true", ints(DType::b1, {0}, {1}) | tile(DType::b1, {1}), {0}},
      {"bool not", ~ints(DType::b1, {0, 1}, {1, 0}), {1, 0}},
      {"shift left by bytes", i32({0}, {3}) << Tile::scalar_int(context, DType::i32, 16), {12}},
      {"shift left by bits", i32({0}, {1}) << Tile::scalar_int(context, DType::i32, 4), {3}},
      {"logical shift right",
       convert(bitcast(i32({0}, {12}), DType::u32) >> Tile::scalar_int(context, DType::u32, 16), DType::i32),
       {3}},
      {"arithmetic shift right spreads the sign", i32({0}, {8}) >> Tile::scalar_int(context, DType::i32, 16), {14}},
      {"shift out of range", i32({0}, {15}) << Tile::scalar_int(context, DType::i32, 32), {0}},
      {"shift by an undefined amount", tile(DType::i32, {1}) << i32({1}, {1}), {kC}},
      {"truncate keeps low bytes", convert(i32({0, 0}, {12, 2}), DType::i16), {0, 2}},
      {"sign extension spreads the top byte", convert(ints(DType::i16, {0, 0}, {1, 2}), DType::i32), {1, 14}},
      {"zero extension", convert(ints(DType::u16, {0}, {2}), DType::u32), {2}},
      {"conversion to float", convert(i32({0, 0}, {1, 0}), DType::f32), {15, 0}},
      {"narrowing float", convert(shadowed(tile(DType::f32, {0, 0}), {15, 0}), DType::bf16), {3, 0}},
      {"comparison", lt(i32({0, 0}, {1, 0}), one), {kC1, 0}},
      {"select by a defined condition",
       select(tile(DType::b1, {1, 0, 1}), i32({1, 1, 1}, {15, 15, 0}), i32({2, 2, 2}, {0, 3, 15})),
       {15, 3, 0}},
      {"select by an undefined condition",
       select(ints(DType::b1, {1, 0}, {1, 0}), tile(DType::i32, {1, 1}), tile(DType::i32, {2, 2})),
       {kC, 0}},
      {"masking garbage away",
       select(lt(iota(context, DType::i32, {3}, 0), 2), i32({1, 1, 1}, {0, 0, 15}),
              Tile::scalar_int(context, DType::i32, 0)),
       {0, 0, 0}},
      {"bitcast", bitcast(shadowed(tile(DType::f32, {0}), {5}), DType::i32), {5}},
      {"rows packed into words",
       bitcast(shadowed(tile(DType::i16, {2, 2}, {0, 0, 0, 0}), {3, 0, 0, 2}), DType::i32),
       {3, 8}},
      {"words taken apart", bitcast(shadowed(tile(DType::i32, {1, 2}, {0, 0}), {12, 1}), DType::i16), {0, 1, 3, 0}},
      {"sum over rows", reduce_sum(shadowed(tile(DType::f32, {2, 2}, {1, 2, 3, 4}), {0, 15, 0, 0}), {1}), {kC, 0}},
      {"max over columns", reduce_max(shadowed(tile(DType::f32, {2, 2}, {1, 2, 3, 4}), {0, 15, 0, 0}), {0}), {0, kC}},
      {"argmax", argmax(shadowed(tile(DType::f32, {2, 2}, {1, 2, 3, 4}), {0, 15, 0, 0}), 1), {kC, 0}},
      {"gather by an undefined index",
       take_along_axis(tile(DType::f32, {3}, {1, 2, 3}), shadowed(tile(DType::i32, {2}, {0, 1}), {0, 15}), 0),
       {0, kC}},
      {"rotate by an undefined amount",
       rotate(tile(DType::f32, {2}, {1, 2}), shadowed(Tile::scalar_int(context, DType::i32, 1), {15}), 0),
       {kC, kC}},
      {"what was computed stays so",
       bitcast(convert(i32({0, 0}, {kC, 15}), DType::f32) * tile(DType::f32, {1, 1}), DType::i32),
       {kC, kC}},
      {"conversion of what was computed", convert(i32({0, 0}, {kC, 15}), DType::f32), {kC, 15}},
      {"both undefined is not computed", i32({0}, {15}) + i32({0}, {15}), {15}},
      {"shifted flag", i32({0}, {8 | kComputedFlag}) >> Tile::scalar_int(context, DType::i32, 31), {kC}},
      {"packed flag",
       bitcast(shadowed(tile(DType::i16, {2, 1}, {0, 0}), {3 | kComputedFlag, 0}), DType::i32),
       {3 | kComputedFlag}},
      {"unpacked flag",
       bitcast(shadowed(tile(DType::i32, {1, 1}, {0}), {12 | kComputedFlag}), DType::i16),
       {0, 3 | kComputedFlag}},
      {"splat of an undefined scalar",
       broadcast_to(shadowed(Tile::scalar(context, DType::f32, 1), {15}), {2}),
       {15, 15}},
      {"undefined scalar joins a tile",
       tile(DType::f32, {1, 2}) + shadowed(Tile::scalar(context, DType::f32, 1), {15}),
       {kC, kC}},
  };
  for (const auto& c : cases) EXPECT_EQ(shadow_of(c.result), c.expected) << c.what;
}

TEST_F(Shadows, MatmulMarksTheRowsAndColumnsItMust) {
  const Tile a = shadowed(random_tile(DType::f32, {2, 3}, 1), {0, 15, 0, 0, 0, 0});
  const Tile b = shadowed(random_tile(DType::f32, {3, 2}, 2), {0, 0, 0, 0, 0, 15});
  const Tile plain_a = random_tile(DType::f32, {2, 3}, 1), plain_b = random_tile(DType::f32, {3, 2}, 2);
  EXPECT_EQ(shadow_of(matmul(a, plain_b)), (std::vector<int>{kC, kC, 0, 0}));
  EXPECT_EQ(shadow_of(matmul(plain_a, b)), (std::vector<int>{0, kC, 0, kC}));
  EXPECT_EQ(shadow_of(matmul(plain_a, plain_b, DotDims::plain(),
                             shadowed(random_tile(DType::f32, {2, 2}, 3), {0, 0, 15, 0}))),
            (std::vector<int>{0, 0, kC, 0}));
}

TEST_F(Shadows, AreDroppedWhenNothingIsLeftOfThem) {
  const Tile x = ints(DType::i32, {1, 2}, {15, 0});
  EXPECT_FALSE(x.all_defined());
  EXPECT_TRUE((x & Tile::scalar_int(context, DType::i32, 0)).all_defined());
  EXPECT_TRUE(slice(x, {1}, {1}).all_defined());
  EXPECT_TRUE(select(tile(DType::b1, {0, 1}), x, tile(DType::i32, {5, 5})).all_defined());
}

TEST_F(Shadows, EveryBitThatGarbageChangesIsMarked) {
  // Each operation runs twice, with different garbage in the undefined bytes: where a result byte differs, it is
  // marked.
  std::mt19937_64 random(9);
  for (DType dtype : {DType::i32, DType::i16, DType::i8, DType::b1})
    for (int op = static_cast<int>(OpId::addi); op <= static_cast<int>(OpId::mului_high); ++op) {
      const OpCall call{.op = static_cast<OpId>(op)};
      const size_t bytes = static_cast<size_t>(storage_bytes(dtype));
      const auto draw = [&] {
        return static_cast<int64_t>(dtype == DType::b1 ? random() & 1 : random() >> (random() % 64));
      };
      std::vector<Tile> first, second;
      for (int k = 0; k < info(call.op).max_operands; ++k) {
        std::vector<int> shadow;
        Tile a = Tile::dense(context, dtype, {400}), b = Tile::dense(context, dtype, {400});
        for (size_t i = 0; i < 400; ++i) {
          const int mask = random() % 3 ? 0 : static_cast<int>(random() & ((1u << bytes) - 1));
          const int64_t value = draw(), garbage = draw();
          std::memcpy(a.writable_bytes() + i * bytes, &value, bytes);
          std::memcpy(b.writable_bytes() + i * bytes, &value, bytes);
          for (size_t byte = 0; byte < bytes; ++byte)
            if (mask >> byte & 1)
              std::memcpy(b.writable_bytes() + i * bytes + byte, reinterpret_cast<const char*>(&garbage) + byte, 1);
          shadow.push_back(mask);
        }
        first.push_back(shadowed(a, shadow));
        second.push_back(shadowed(b, shadow));
      }
      const Tile x = run(call, first), y = run(call, second);
      const std::vector<uint64_t> x_bits = bits_of(x), y_bits = bits_of(y);
      const std::vector<int> marked = shadow_of(x), marked_too = shadow_of(y);
      for (size_t i = 0; i < 400; ++i) {
        const uint64_t differs = x_bits[i] ^ y_bits[i];
        for (size_t byte = 0; byte < bytes; ++byte)
          if (differs >> (8 * byte) & 0xff) {
            ASSERT_TRUE((marked[i] >> byte & 1) || (marked_too[i] >> byte & 1))
                << info(call.op).name << " " << dtype << " element " << i << " byte " << byte;
          }
      }
    }
}

}  // namespace
}  // namespace tilecheck
