// The table itself: names, type rules and their messages, scalars, numerics, recording runs, the observer.
#include "sim/ops/strips.h"
#include "tests/unit/ops/tiles.h"

namespace tilecheck {
namespace {

class TableTest : public OpsTest {};

TEST_F(TableTest, RefusesWhatDoesNotFitAndSaysWhy) {
  const Tile f = tile(DType::f32, {2, 3}, {1, 2, 3, 4, 5, 6}), i = tile(DType::i32, {1, 2});
  const auto call = [&](OpCall c, std::vector<Tile> operands) { return [=, this] { run(c, operands); }; };
  const struct {
    std::function<void()> body;
    const char* message;
  } cases[] = {
      {[&] {
         f + tile(DType::f32, {1, 2});
       },
       "addf: operand shapes (2, 3) and (2,) do not broadcast"},
      {[&] {
         f + tile(DType::bf16, {1, 2, 3});
       },
       "addf: operand types f32[2x3] and bf16[2x3] differ"},
      {call({.op = OpId::addf}, {f, tile(DType::f32, {3}, {1, 2, 3})}), "addf: operand shapes 2x3 and 3 differ"},
      {call({.op = OpId::addi}, {f, f}), "addi: operand is f32[2x3], expected an integer type or bool"},
      {call({.op = OpId::addf}, {f}), "addf: 1 operands (f32[2x3]), expected 2"},
      {[&] { exp(i); }, "exp: operand is i32[2], expected a float type"},
      {call({.op = OpId::select}, {i, i, i}), "select: condition is i32[2], expected bool"},
      {[&] { reshape(f, {4}); }, "shape_cast: f32[2x3] to (4,): the number of elements differs"},
      {[&] {
         broadcast_to(f, {2, 4});
       },
       "broadcast: f32[2x3] does not broadcast to (2, 4)"},
      {[&] {
         transpose(f, {0, 0});
       },
       "transpose: (0, 0) is not a permutation of the dimensions of f32[2x3]"},
      {[&] {
         slice(f, {0, 2}, {2, 2});
       },
       "extract_strided_slice: offsets (0, 2), shape (2, 2) do not lie inside f32[2x3]"},
      {[&] { reduce_sum(f, {2}); }, "reduce_add: axis 2 of a tile of shape (2, 3): expected -2 to 1"},
      {call({.op = OpId::reduce_add, .dims = {1, 1}}, {f}), "reduce_add: axis 1 is named twice"},
      {[&] { matmul(f, f); },
       "matmul: f32[2x3] x f32[2x3] contracting (1,) with (0,), batch () with (): dimension numbers do not fit the "
       "shapes"},
      {[&] { matmul(f, transpose(f), DotDims::plain(), tile(DType::f32, {1})); },
       "matmul: accumulator is f32[1], expected f32[2x2]"},
      {[&] { bitcast(tile(DType::i16, {1}), DType::i32); },
       "bitcast: from i16[1] to i32: a change of width acts on the second-minor dimension; expected rank 2 or more"},
      {[&] {
         concatenate(std::vector<Tile>{f, i}, 0);
       },
       "concatenate: operands f32[2x3] and i32[2] along axis 0: expected one type and equal other dimensions"},
      {[&] { iota(context, DType::i32, {4}, 1); }, "iota: axis 1 of a tile of shape (4,): expected 0 to 0"},
      {[&] { repeat(f, int64_t{1} << 60, 0); }, "repeat: shape (2305843009213693952, 3) is negative or too large"},
      {[&] { rotate(f, f, 0); }, "dynamic_rotate: operand is f32[2x3], expected an integer type or bool"},
      {[&] { Tile() + f; }, "addf: operand is a tile without a value"},
      {call({.op = OpId::cmpf, .predicate = Predicate::slt}, {f, f}), "cmpf: predicate is one of cmpi"},
      {call({.op = OpId::pack_elementwise, .dtype = DType::i32, .source_dtype = DType::bf16}, {f}),
       "pack_elementwise: 1 operands of bf16 into i32: expected 2"},
  };
  for (const auto& c : cases) EXPECT_EQ(error_of(c.body), c.message);
}

TEST_F(TableTest, ScalarsMatchTiles) {
  std::mt19937_64 random(4);
  const auto check = [&](const OpCall& call, DType dtype, std::vector<DType> types) {
    std::vector<uint64_t> raw;
    std::vector<Tile> operands;
    for (DType type : types) {
      const uint64_t element = is_floating(type) ? encode_element(type, static_cast<double>(random() % 2000) / 100 - 10)
                                                 : encode_int(type, static_cast<int64_t>(random() >> (random() % 64)));
      raw.push_back(element);
      operands.push_back(Tile::splat_bits(context, type, {}, element));
    }
    const Tile tile = run(call, operands);
    EXPECT_EQ(apply_scalar(call, dtype, raw), tile.splat_bits()) << info(call.op).name << " " << dtype;
  };
  for (int repeat = 0; repeat < 20; ++repeat) {
    for (DType dtype : {DType::i32, DType::i64, DType::u8, DType::i4, DType::b1}) {
      for (int op = static_cast<int>(OpId::addi); op <= static_cast<int>(OpId::mului_high); ++op)
        check({.op = static_cast<OpId>(op)}, dtype,
              std::vector<DType>(static_cast<size_t>(info(static_cast<OpId>(op)).max_operands), dtype));
      for (int p = static_cast<int>(Predicate::eq); p <= static_cast<int>(Predicate::iuge); ++p)
        check({.op = OpId::cmpi, .predicate = static_cast<Predicate>(p)}, dtype, {dtype, dtype});
      check({.op = OpId::select}, dtype, {DType::b1, dtype, dtype});
      check({.op = OpId::sitofp, .dtype = DType::f32}, dtype, {dtype});
      check({.op = OpId::extsi, .dtype = DType::i64}, dtype, {dtype});
      check({.op = OpId::trunci, .dtype = DType::b1}, dtype, {dtype});
    }
    for (DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16}) {
      for (int op = 0; op <= static_cast<int>(OpId::is_weird); ++op)
        check({.op = static_cast<OpId>(op)}, dtype,
              std::vector<DType>(static_cast<size_t>(info(static_cast<OpId>(op)).max_operands), dtype));
      for (int p = 0; p <= static_cast<int>(Predicate::true_); ++p)
        check({.op = OpId::cmpf, .predicate = static_cast<Predicate>(p)}, dtype, {dtype, dtype});
      check({.op = OpId::fptosi, .dtype = DType::i32}, dtype, {dtype});
      check({.op = OpId::truncf, .dtype = DType::bf16}, dtype, {dtype});
    }
  }
  EXPECT_EQ(error_of([] { apply_scalar({.op = OpId::transpose}, DType::f32, std::array<uint64_t, 1>{0}); }),
            "transpose: not an operation on scalars");
}

TEST_F(TableTest, EveryElementwiseOperationHasStripsForItsTypes) {
  const DType floats[] = {DType::f64,    DType::f32,           DType::bf16,      DType::f16,     DType::f8e4m3fn,
                          DType::f8e5m2, DType::f8e4m3b11fnuz, DType::f8e8m0fnu, DType::f4e2m1fn};
  const DType ints[] = {DType::i64, DType::i32, DType::i16, DType::i8, DType::i4, DType::i2, DType::u64,
                        DType::u32, DType::u16, DType::u8,  DType::u4, DType::u2, DType::b1};
  for (int i = 0; i < kOpCount; ++i) {
    const OpId op = static_cast<OpId>(i);
    EXPECT_EQ(info(op).op, op);
    if (!info(op).elementwise || op == OpId::stochastic_convert) continue;
    const bool on_floats =
        op < OpId::addi || op == OpId::cmpf || op == OpId::select || (op >= OpId::extf && op <= OpId::fptoui);
    const bool on_ints = !on_floats || op == OpId::select;
    const bool to_floats = op == OpId::extf || op == OpId::truncf || op == OpId::sitofp || op == OpId::uitofp;
    const bool converts = op >= OpId::extf;
    const auto check = [&](DType from) {
      if (!converts) {
        EXPECT_NE(strip_fn(op, from, from), nullptr) << info(op).name << " " << from;
      } else if (to_floats) {
        for (DType to : floats) EXPECT_NE(strip_fn(op, from, to), nullptr) << info(op).name << " " << from << " " << to;
      } else {
        for (DType to : ints) EXPECT_NE(strip_fn(op, from, to), nullptr) << info(op).name << " " << from << " " << to;
      }
    };
    if (on_floats)
      for (DType from : floats) check(from);
    if (on_ints)
      for (DType from : ints) check(from);
  }
}

TEST_F(TableTest, F64KeepsFloatsInF64UntilABitcast) {
  context.numerics = Numerics::f64;
  const Tile x = tile(DType::bf16, {1, 3});
  EXPECT_EQ(x.repr(), DType::f64);
  const Tile third = x / 3.0;
  EXPECT_EQ(third.dtype(), DType::bf16);
  EXPECT_EQ(third.at(0), 1.0 / 3.0);
  EXPECT_EQ(convert(third, DType::f32).at(0), 1.0 / 3.0);
  EXPECT_EQ(exp(third).at(0), std::exp(1.0 / 3.0));
  EXPECT_EQ(bitcast(third, DType::i16).int_at(0), 0x3eab);
  EXPECT_EQ(bitcast(bitcast(third, DType::i16), DType::bf16).at(0), 0.333984375);
  EXPECT_EQ(reduce_sum(third, {0}).value(), 1.0 / 3.0 + 1);
  const Tile a = tile(DType::f32, {1, 2}, {1, 1e-9}), b = tile(DType::f32, {2, 1}, {1, 1});
  const Tile product = matmul(a, b);
  EXPECT_EQ(product.dtype(), DType::f32);
  EXPECT_EQ(product.at(0), 1 + 1e-9);
  EXPECT_EQ(values_of(lt(third, x)), (std::vector<double>{1, 1}));
  EXPECT_EQ(convert(third, DType::i32).int_at(1), 1);
  EXPECT_EQ(iota(context, DType::f32, {3}, 0).repr(), DType::f64);
  EXPECT_EQ(select(tile(DType::b1, {1, 0}), x, third).at(1), 1);
  const OpCall pack{.op = OpId::pack_elementwise, .dtype = DType::i32, .source_dtype = DType::bf16};
  EXPECT_EQ(run(pack, {tile(DType::f32, {1.0 / 3}), tile(DType::f32, {1})}).int_at(0), 0x3f803eab);
}

TEST_F(TableTest, RecordingKeepsScalarsAndDropsData) {
  context.record_only = true;
  const Tile x = Tile::shape_only(context, DType::bf16, {4, 8});
  const Tile y = matmul(x + x, transpose(x));
  EXPECT_EQ(y.layout(), Layout::shape_only);
  EXPECT_EQ(y.shape(), (Shape{4, 4}));
  EXPECT_EQ(y.dtype(), DType::f32);
  EXPECT_EQ(reduce_max(x, {1}, true).shape(), (Shape{4, 1}));
  EXPECT_EQ(iota(context, DType::i32, {4}, 0).layout(), Layout::shape_only);
  const Tile step = Tile::scalar_int(context, DType::i32, 3);
  EXPECT_EQ((step * 4.0 + 1.0).int_value(), 13);
  EXPECT_EQ(lt(step, 4).int_value(), 1);
  EXPECT_NE(error_of([&] { x + Tile::shape_only(context, DType::bf16, {4, 7}); }), "no error");
}

class Counting : public OpObserver {
 public:
  void on_op(const OpCall& call, std::span<const Tile> operands, const Tile& result) override {
    seen.push_back(std::string(info(call.op).name) + " " + std::to_string(operands.size()) + " " +
                   to_string(operands.empty() ? Shape{} : operands[0].shape()) + " " + to_string(result.shape()));
  }
  std::vector<std::string> seen;
};

TEST_F(TableTest, TheObserverSeesEveryOperationOnce) {
  for (bool record : {false, true}) {
    Counting counting;
    context.observer = &counting;
    context.record_only = record;
    const Tile x = record ? Tile::shape_only(context, DType::f32, {4, 8}) : random_tile(DType::f32, {4, 8}, 1);
    const Tile y = exp(x - reduce_max(x, {1}, true));
    matmul(y, x, DotDims::transposed_rhs(), {}, Precision::bf16x3);
    context.observer = nullptr;
    context.record_only = false;
    EXPECT_EQ(counting.seen,
              (std::vector<std::string>{"reduce_max 1 4x8 4", "shape_cast 1 4 4x1", "broadcast 1 4x1 4x8",
                                        "subf 2 4x8 4x8", "exp 1 4x8 4x8", "matmul 2 4x8 4x4"}));
  }
}

TEST_F(TableTest, PoolsReuseBlocksOfLikeSize) {
  const void* first;
  {
    const BlockPtr block = pool.allocate(1000);
    first = block.data();
    EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % 64, 0u);
  }
  EXPECT_EQ(pool.allocate(990).data(), first);
  const int64_t held = pool.held_bytes();
  { const BlockPtr large = pool.allocate(1 << 20); }
  EXPECT_LE(pool.held_bytes() - held, (1 << 20) + 4096);
  for (int64_t bytes : {0, 1, 63, 64, 65, 80, 81, 5000, 1 << 16, (1 << 16) + 1}) {
    const BlockPtr block = pool.allocate(bytes);
    std::memset(block.data(), 1, static_cast<size_t>(bytes));
  }
}

}  // namespace
}  // namespace tilecheck
