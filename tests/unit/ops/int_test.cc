// Integer operations: a table of the rules, then every operation against plain 128-bit arithmetic at every width.
#include <bit>

#include "tests/unit/ops/tiles.h"

namespace tilecheck {
namespace {

class IntOps : public OpsTest {};

struct Case {
  OpId op;
  DType dtype;
  int64_t a, b, expected;
};

constexpr int64_t kMin32 = std::numeric_limits<int32_t>::min();
constexpr int64_t kMax32 = std::numeric_limits<int32_t>::max();
constexpr int64_t kMin64 = std::numeric_limits<int64_t>::min();

// Machine rule 25: nothing traps.
const Case kCases[] = {
    {OpId::addi, DType::i32, kMax32, 1, kMin32},
    {OpId::subi, DType::u8, 0, 1, 255},
    {OpId::muli, DType::i16, 300, 300, 24464},
    {OpId::muli, DType::i32, 65536, 65536, 0},
    {OpId::divsi, DType::i32, 7, -2, -3},
    {OpId::divsi, DType::i32, 5, 0, -1},
    {OpId::divsi, DType::i32, kMin32, -1, kMin32},
    {OpId::divsi, DType::i64, kMin64, -1, kMin64},
    {OpId::divsi, DType::i8, -128, -1, -128},
    {OpId::divui, DType::i32, -1, 2, kMax32},
    {OpId::divui, DType::u32, 5, 0, 0xffffffff},
    {OpId::divui, DType::i32, 5, 0, -1},
    {OpId::remsi, DType::i32, -7, 2, -1},
    {OpId::remsi, DType::i32, 7, 0, 7},
    {OpId::remsi, DType::i32, kMin32, -1, 0},
    {OpId::remui, DType::u8, 250, 0, 250},
    {OpId::remui, DType::i32, -1, 10, 5},
    {OpId::ceildivsi, DType::i32, 7, 2, 4},
    {OpId::ceildivsi, DType::i32, -7, 2, -3},
    {OpId::floordivsi, DType::i32, -7, 2, -4},
    {OpId::floordivsi, DType::i32, 7, 2, 3},
    {OpId::maxsi, DType::i32, -1, 1, 1},
    {OpId::maxui, DType::i32, -1, 1, -1},
    {OpId::minsi, DType::i8, -128, 127, -128},
    {OpId::minui, DType::i8, -128, 127, 127},
    {OpId::andi, DType::b1, 1, 0, 0},
    {OpId::ori, DType::b1, 1, 0, 1},
    {OpId::xori, DType::b1, 1, 1, 0},
    {OpId::shli, DType::i32, 1, 31, kMin32},
    {OpId::shli, DType::i32, 1, 32, 0},
    {OpId::shli, DType::i32, 1, -1, 0},
    {OpId::shrsi, DType::i32, -8, 1, -4},
    {OpId::shrsi, DType::i32, -8, 40, -1},
    {OpId::shrsi, DType::i32, 8, 40, 0},
    {OpId::shrui, DType::i32, -1, 28, 15},
    {OpId::shrui, DType::i32, -1, 32, 0},
    {OpId::shrui, DType::i4, -1, 1, 7},
    {OpId::shli, DType::i64, 1, 63, kMin64},
    {OpId::mulsi_high, DType::i32, kMin32, kMin32, 1 << 30},
    {OpId::mului_high, DType::u32, 0xffffffff, 0xffffffff, 0xfffffffe},
    {OpId::mulsi_high, DType::i64, kMin64, 2, -1},
    {OpId::absi, DType::i32, kMin32, 0, kMin32},
    {OpId::absi, DType::i8, -5, 0, 5},
    {OpId::ctlz, DType::i32, 1, 0, 31},
    {OpId::ctlz, DType::i32, 0, 0, 32},
    {OpId::ctlz, DType::i8, 1, 0, 7},
    {OpId::ctpop, DType::i32, -1, 0, 32},
    {OpId::ctpop, DType::i16, -1, 0, 16},
    {OpId::cttz, DType::i32, 8, 0, 3},
    {OpId::cttz, DType::i32, 0, 0, 32},
    {OpId::cttz, DType::i8, 0, 0, 8},
};

TEST_F(IntOps, FollowTheTable) {
  for (const Case& c : kCases) {
    std::vector<Tile> operands = {Tile::scalar_int(context, c.dtype, c.a)};
    if (info(c.op).max_operands == 2) operands.push_back(Tile::scalar_int(context, c.dtype, c.b));
    EXPECT_EQ(run({.op = c.op}, operands).int_value(), c.expected)
        << info(c.op).name << " " << c.dtype << " " << c.a << " " << c.b;
  }
}

__extension__ typedef __int128 Wide;
__extension__ typedef unsigned __int128 UnsignedWide;

int64_t wrapped(DType dtype, Wide value) { return canonical_int(dtype, static_cast<uint64_t>(value)); }

// The definition, on numbers of `width` bits: s signed, u unsigned.
int64_t naive(OpId op, DType dtype, int64_t a, int64_t b) {
  const int width = bits(dtype);
  const Wide sa = sign_extend(static_cast<uint64_t>(a), width), sb = sign_extend(static_cast<uint64_t>(b), width);
  const Wide ua = zero_extend(static_cast<uint64_t>(a), width), ub = zero_extend(static_cast<uint64_t>(b), width);
  const auto floor_div = [](Wide x, Wide y) { return x / y - ((x % y != 0) && ((x < 0) != (y < 0)) ? 1 : 0); };
  switch (op) {
    case OpId::addi:
      return wrapped(dtype, sa + sb);
    case OpId::subi:
      return wrapped(dtype, sa - sb);
    case OpId::muli:
      return wrapped(dtype, sa * sb);
    case OpId::divsi:
      return wrapped(dtype, sb == 0 ? -1 : sa / sb);
    case OpId::divui:
      return wrapped(dtype, ub == 0 ? -1 : ua / ub);
    case OpId::remsi:
      return wrapped(dtype, sb == 0 ? sa : sa % sb);
    case OpId::remui:
      return wrapped(dtype, ub == 0 ? ua : ua % ub);
    case OpId::floordivsi:
      return wrapped(dtype, sb == 0 ? -1 : floor_div(sa, sb));
    case OpId::ceildivsi:
      return wrapped(dtype, sb == 0 ? -1 : -floor_div(-sa, sb));
    case OpId::maxsi:
      return wrapped(dtype, std::max(sa, sb));
    case OpId::maxui:
      return wrapped(dtype, std::max(ua, ub));
    case OpId::minsi:
      return wrapped(dtype, std::min(sa, sb));
    case OpId::minui:
      return wrapped(dtype, std::min(ua, ub));
    case OpId::andi:
      return wrapped(dtype, sa & sb);
    case OpId::ori:
      return wrapped(dtype, sa | sb);
    case OpId::xori:
      return wrapped(dtype, sa ^ sb);
    case OpId::shli:
      return wrapped(dtype, ub < width ? static_cast<Wide>(static_cast<UnsignedWide>(ua) << static_cast<int>(ub)) : 0);
    case OpId::shrui:
      return wrapped(dtype, ub < width ? ua >> static_cast<int>(ub) : 0);
    case OpId::shrsi:
      return wrapped(dtype, ub < width ? sa >> static_cast<int>(ub) : (sa < 0 ? -1 : 0));
    case OpId::mulsi_high:
      return wrapped(dtype, sa * sb >> width);
    case OpId::mului_high:
      return wrapped(dtype, static_cast<Wide>(static_cast<UnsignedWide>(ua) * static_cast<UnsignedWide>(ub) >> width));
    case OpId::absi:
      return wrapped(dtype, sa < 0 ? -sa : sa);
    case OpId::ctlz: {
      int n = 0;
      while (n < width && !(ua >> (width - 1 - n) & 1)) ++n;
      return wrapped(dtype, n);
    }
    case OpId::cttz: {
      int n = 0;
      while (n < width && !(ua >> n & 1)) ++n;
      return wrapped(dtype, n);
    }
    case OpId::ctpop:
      return wrapped(dtype, std::popcount(static_cast<uint64_t>(ua)));
    default:
      ADD_FAILURE() << info(op).name;
      return 0;
  }
}

const DType kIntTypes[] = {DType::i64, DType::i32, DType::i16, DType::i8, DType::i4, DType::i2, DType::u64,
                           DType::u32, DType::u16, DType::u8,  DType::u4, DType::u2, DType::b1};

TEST_F(IntOps, EveryOperationAtEveryWidthMatchesWideArithmetic) {
  std::mt19937_64 random(1);
  for (DType dtype : kIntTypes) {
    // Edges, small numbers and random bits.
    std::vector<int64_t> a, b;
    for (int i = 0; i < 400; ++i) {
      const auto draw = [&] {
        const uint64_t r = random();
        switch (random() % 4) {
          case 0:
            return canonical_int(dtype, r);
          case 1:
            return canonical_int(dtype, r % 9 - 4);
          case 2:
            return canonical_int(dtype, (uint64_t{1} << (bits(dtype) - 1)) + r % 3 - 1);
          default:
            return canonical_int(dtype, r % 67);
        }
      };
      a.push_back(draw());
      b.push_back(draw());
    }
    const auto dense = [&](const std::vector<int64_t>& values) {
      Tile t = Tile::dense(context, dtype, {static_cast<int64_t>(values.size())});
      for (size_t i = 0; i < values.size(); ++i)
        std::memcpy(t.writable_bytes() + i * static_cast<size_t>(storage_bytes(dtype)), &values[i],
                    static_cast<size_t>(storage_bytes(dtype)));
      return t;
    };
    const Tile ta = dense(a), tb = dense(b);
    for (int op = static_cast<int>(OpId::addi); op <= static_cast<int>(OpId::mului_high); ++op) {
      const OpId id = static_cast<OpId>(op);
      const bool two = info(id).max_operands == 2;
      const Tile result = two ? run({.op = id}, {ta, tb}) : run({.op = id}, {ta});
      for (size_t i = 0; i < a.size(); ++i)
        ASSERT_EQ(result.int_at(static_cast<int64_t>(i)), naive(id, dtype, a[i], b[i]))
            << info(id).name << " " << dtype << " " << a[i] << " " << b[i];
      if (!two) continue;
      const Tile one_left = run({.op = id}, {Tile::scalar_int(context, dtype, a[0]), tb});
      const Tile one_right = run({.op = id}, {ta, Tile::scalar_int(context, dtype, b[0])});
      for (size_t i = 0; i < a.size(); ++i) {
        ASSERT_EQ(one_left.int_at(static_cast<int64_t>(i)), naive(id, dtype, a[0], b[i])) << info(id).name;
        ASSERT_EQ(one_right.int_at(static_cast<int64_t>(i)), naive(id, dtype, a[i], b[0])) << info(id).name;
      }
    }
  }
}

TEST_F(IntOps, CompareBySignOfThePredicate) {
  const Tile a = tile(DType::i32, {-1, 1, 2, 2}), b = tile(DType::i32, {1, -1, 2, 3});
  const struct {
    Predicate predicate;
    std::vector<double> expected;
  } cases[] = {
      {Predicate::eq, {0, 0, 1, 0}},   {Predicate::ne, {1, 1, 0, 1}},   {Predicate::slt, {1, 0, 0, 1}},
      {Predicate::sle, {1, 0, 1, 1}},  {Predicate::sgt, {0, 1, 0, 0}},  {Predicate::sge, {0, 1, 1, 0}},
      {Predicate::iult, {0, 1, 0, 1}}, {Predicate::iule, {0, 1, 1, 1}}, {Predicate::iugt, {1, 0, 0, 0}},
      {Predicate::iuge, {1, 0, 1, 0}},
  };
  for (const auto& c : cases) {
    const OpCall call{.op = OpId::cmpi, .predicate = c.predicate};
    const Tile result = run(call, {a, b});
    EXPECT_EQ(result.dtype(), DType::b1);
    EXPECT_EQ(values_of(result), c.expected) << static_cast<int>(c.predicate);
    EXPECT_EQ(values_of(run(call, {Tile::scalar_int(context, DType::i32, 2), b}))[2], c.expected[2]);
  }
  EXPECT_EQ(values_of(lt(tile(DType::u8, {200, 1}), tile(DType::u8, {1, 200}))), (std::vector<double>{0, 1}));
  EXPECT_EQ(values_of(lt(tile(DType::i4, {-8, 1}), 0)), (std::vector<double>{1, 0}));
}

TEST_F(IntOps, OperatorsTakeTheTypesSign) {
  EXPECT_EQ((tile(DType::u8, {250}) / tile(DType::u8, {3})).int_at(0), 83);
  EXPECT_EQ((tile(DType::i8, {-6}) / tile(DType::i8, {4})).int_at(0), -1);
  EXPECT_EQ((tile(DType::u8, {250}) >> tile(DType::u8, {1})).int_at(0), 125);
  EXPECT_EQ((tile(DType::i8, {-6}) >> tile(DType::i8, {1})).int_at(0), -3);
  EXPECT_EQ(values_of(~tile(DType::b1, {0, 1})), (std::vector<double>{1, 0}));
  EXPECT_EQ(values_of(maximum(tile(DType::u8, {250}), tile(DType::u8, {3}))), (std::vector<double>{250}));
  EXPECT_EQ(values_of(-tile(DType::i32, {5})), (std::vector<double>{-5}));
}

}  // namespace
}  // namespace tilecheck
