// Transcendental functions of f32 against long double: special values by table, accuracy over all exponents, the same
// bits with either instruction set.
#include <algorithm>
#include <bit>

#include "tests/unit/ops/tiles.h"

namespace tilecheck {
namespace {

class Math : public OpsTest {
 protected:
  double one(OpId op, double x) { return run({.op = op}, {Tile::scalar(context, DType::f32, x)}).value(); }
  double two(OpId op, double x, double y) {
    return run({.op = op}, {Tile::scalar(context, DType::f32, x), Tile::scalar(context, DType::f32, y)}).value();
  }
};

struct Function {
  OpId op;
  long double (*exact)(long double);
};

const Function kFunctions[] = {
    {OpId::exp, &std::exp},
    {OpId::exp2, &std::exp2},
    {OpId::log, &std::log},
    {OpId::log2, &std::log2},
    {OpId::log1p, &std::log1p},
    {OpId::expm1, &std::expm1},
    {OpId::sqrt, &std::sqrt},
    {OpId::rsqrt, [](long double x) { return 1 / std::sqrt(x); }},
    {OpId::cbrt, &std::cbrt},
    {OpId::tanh, &std::tanh},
    {OpId::sin, &std::sin},
    {OpId::cos, &std::cos},
    {OpId::tan, &std::tan},
    {OpId::asin, &std::asin},
    {OpId::acos, &std::acos},
    {OpId::atan, &std::atan},
    {OpId::sinh, &std::sinh},
    {OpId::cosh, &std::cosh},
    {OpId::erf, &std::erf},
    {OpId::erfc, &std::erfc},
    {OpId::logistic, [](long double x) { return 1 / (1 + std::exp(-x)); }},
};

// f32 values on a line without gaps: neighbours are 1 apart.
int64_t place(float x) {
  const int32_t bits = std::bit_cast<int32_t>(x);
  return bits < 0 ? int64_t{std::numeric_limits<int32_t>::min()} - bits : bits;
}

int64_t ulps(float got, long double exact) {
  const float wanted = static_cast<float>(exact);
  if (std::isnan(got) || std::isnan(wanted)) return std::isnan(got) && std::isnan(wanted) ? 0 : 1 << 30;
  return std::abs(place(got) - place(wanted));
}

// Every exponent, a few thousand mantissas in all, both signs, then the range where most functions bend.
std::vector<double> sample(uint64_t seed) {
  std::vector<double> values = {0, -0.0, 1, -1, 0.5, 2, kInf, -kInf, kNan};
  std::mt19937_64 random(seed);
  for (uint32_t exponent = 0; exponent < 255; ++exponent)
    for (int i = 0; i < 24; ++i)
      values.push_back(std::bit_cast<float>(static_cast<uint32_t>(random() & 0x807fffffu) | exponent << 23));
  std::uniform_real_distribution<double> bend(-12, 12), wide(-110, 110);
  for (int i = 0; i < 20000; ++i) values.push_back(static_cast<float>(bend(random)));
  for (int i = 0; i < 10000; ++i) values.push_back(static_cast<float>(wide(random)));
  return values;
}

TEST_F(Math, IsWithinOneUlpOfTheRoundedResult) {
  const std::vector<double> values = sample(11);
  const Tile x = tile(DType::f32, values);
  for (const Function& function : kFunctions) {
    const Tile y = run({.op = function.op}, {x});
    int64_t worst = 0;
    double at = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      const float got = static_cast<float>(y.at(static_cast<int64_t>(i)));
      const int64_t off = ulps(got, function.exact(static_cast<long double>(values[i])));
      if (off > worst) worst = off, at = values[i];
    }
    EXPECT_LE(worst, 1) << info(function.op).name << "(" << at << ") = " << one(function.op, at) << ", exactly "
                        << static_cast<double>(function.exact(at));
    RecordProperty(std::string(info(function.op).name), static_cast<int>(worst));
  }
}

TEST_F(Math, TwoOperandFunctionsAreWithinOneUlpToo) {
  std::mt19937_64 random(12);
  std::vector<double> x = sample(13), y = sample(14);
  std::shuffle(y.begin(), y.end(), random);
  std::uniform_real_distribution<double> base(0, 20), power(-30, 30);
  for (int i = 0; i < 20000; ++i) {
    x.push_back(static_cast<float>(base(random)));
    y.push_back(static_cast<float>(i % 3 == 0 ? std::round(power(random)) : power(random)));
    if (i % 5 == 0) x.back() = -x.back();
  }
  for (double a : {0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, kInf, -kInf, kNan})
    for (double b : {0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 0.5, kInf, -kInf, kNan}) {
      x.push_back(a);
      y.push_back(b);
    }
  const Tile tx = tile(DType::f32, x), ty = tile(DType::f32, y);
  const Tile power_of = run({.op = OpId::powf}, {tx, ty}), angle = run({.op = OpId::atan2}, {tx, ty});
  for (size_t i = 0; i < x.size(); ++i) {
    const int64_t at = static_cast<int64_t>(i);
    const long double a = static_cast<long double>(x[i]), b = static_cast<long double>(y[i]);
    ASSERT_LE(ulps(static_cast<float>(power_of.at(at)), std::pow(a, b)), 1) << x[i] << " ^ " << y[i];
    ASSERT_LE(ulps(static_cast<float>(angle.at(at)), std::atan2(a, b)), 1) << "atan2 " << x[i] << " " << y[i];
    ASSERT_EQ(std::signbit(power_of.at(at)) && !std::isnan(power_of.at(at)),
              std::signbit(std::pow(a, b)) && !std::isnan(std::pow(a, b)))
        << x[i] << " ^ " << y[i];
  }
}

TEST_F(Math, KeepsTheSignOfZero) {
  for (OpId op :
       {OpId::log1p, OpId::expm1, OpId::sqrt, OpId::cbrt, OpId::tanh, OpId::sin, OpId::tan, OpId::asin, OpId::atan,
        OpId::sinh, OpId::erf, OpId::ceil, OpId::floor, OpId::round, OpId::roundeven, OpId::trunc})
    EXPECT_TRUE(one(op, -0.0) == 0 && std::signbit(one(op, -0.0))) << info(op).name;
  EXPECT_TRUE(std::signbit(two(OpId::atan2, -0.0, 1)));
}

TEST_F(Math, HasTheSameBitsWithEitherInstructionSet) {
  const Tile x = tile(DType::f32, sample(15));
  std::vector<double> other = sample(16);
  const Tile y = tile(DType::f32, other);
  for (int op = 0; op <= static_cast<int>(OpId::is_weird); ++op) {
    const OpId id = static_cast<OpId>(op);
    std::vector<Tile> operands = {x, y, x};
    operands.resize(static_cast<size_t>(info(id).max_operands));
    use_vector_isa(VectorIsa::best);
    const Tile best = run({.op = id}, operands);
    use_vector_isa(VectorIsa::avx2);
    EXPECT_EQ(vector_isa(), "avx2");
    const Tile avx2 = run({.op = id}, operands);
    use_vector_isa(VectorIsa::best);
    EXPECT_EQ(bits_of(best), bits_of(avx2)) << info(id).name;
  }
}

TEST_F(Math, DoesNotDependOnWhereAnElementStands) {
  const std::vector<double> values = {0.1, -0.7, 3.5, 11, -20, 0.9, 1e-3, 77, 5, -5, 0.25, 42, -1e-8, 8, 2.5, 6, 33};
  for (const Function& function : kFunctions) {
    const Tile whole = run({.op = function.op}, {tile(DType::f32, values)});
    for (size_t i = 0; i < values.size(); ++i)
      EXPECT_EQ(bits_of(whole)[i], bits_of(run({.op = function.op}, {Tile::scalar(context, DType::f32, values[i])}))[0])
          << info(function.op).name << " " << values[i];
  }
}

TEST_F(Math, NarrowTypesRoundTheF32Result) {
  // Every bf16, f16 and f8 value through every function.
  for (DType dtype : {DType::bf16, DType::f16, DType::f8e4m3fn, DType::f8e5m2}) {
    const int64_t count = int64_t{1} << bits(dtype);
    Tile x = Tile::dense(context, dtype, {count});
    for (int64_t i = 0; i < count; ++i)
      std::memcpy(x.writable_bytes() + i * storage_bytes(dtype), &i, static_cast<size_t>(storage_bytes(dtype)));
    const Tile wide = convert(x, DType::f32);
    for (const Function& function : kFunctions) {
      const Tile narrow = run({.op = function.op}, {x});
      const Tile expected = convert(run({.op = function.op}, {wide}), dtype);
      ASSERT_EQ(bits_of(narrow), bits_of(expected)) << info(function.op).name << " " << dtype;
    }
  }
}

}  // namespace
}  // namespace tilecheck
