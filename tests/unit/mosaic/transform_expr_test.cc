// What a payload's index map is written out as is what running it gives.
#include <gtest/gtest.h>

#include <random>

#include "sim/mosaic/payload.h"
#include "sim/spec/index_expr.h"
#include "tests/unit/mosaic/kernels.h"

namespace tilecheck::mosaic {
namespace {

const Dims kGrid{5, 7};

std::shared_ptr<const Payload> kernel_with(const BuildYield& map) {
  ModuleBuilder m;
  const Type* block = m.memref(DType::f32, {8, 128});
  m.kernel("k", {.grid = {kGrid[0], kGrid[1]}, .windows = {{block, "map"}, {block, "map"}}}, [](BlockBuilder& b) {
    const ValueId c0 = b.index(0);
    b.store(b.load(b.arg(2), {c0, c0}), b.arg(3), {c0, c0});
  });
  m.index_map("map", 2, map);
  const ArrayType array{DType::f32, {8, 128}};
  return Payload::make(open_kernel(call_of(m.finish(), {array}, {array})));
}

// Sums, divisions and choices, as JAX lowers //, %, jnp.where and jnp.minimum; of small and of large numbers, which
// wrap.
std::vector<ValueId> random_map(BlockBuilder& b, uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto pick = [&](size_t n) { return static_cast<size_t>(random() % n); };
  std::vector<ValueId> numbers{b.arg(0), b.arg(1)}, truths;
  for (int i = 0; i < 3; ++i) numbers.push_back(b.i32(static_cast<int64_t>(pick(9)) - 3));
  if (pick(3) == 0) numbers.push_back(b.i32(1 << 30));
  truths.push_back(b.compare("arith.cmpi", 2, b.arg(0), b.arg(1)));
  for (int i = 0; i < 9; ++i) {
    const ValueId a = numbers[pick(numbers.size())], c = numbers[pick(numbers.size())];
    const ValueId t = truths[pick(truths.size())], u = truths[pick(truths.size())];
    constexpr const char* kNumbers[] = {"arith.addi",  "arith.subi",  "arith.muli", "arith.divsi",
                                        "arith.remsi", "arith.minsi", "arith.maxsi"};
    constexpr const char* kTruths[] = {"arith.andi", "arith.ori", "arith.xori"};
    switch (pick(5)) {
      case 0:
        truths.push_back(b.compare("arith.cmpi", static_cast<int>(pick(6)), a, c));
        break;
      case 1:
        truths.push_back(b.binary(kTruths[pick(3)], t, u));
        break;
      case 2:
        numbers.push_back(pick(2) == 0 ? b.op("arith.select", {t, a, c}, {&b.type_of(a)})
                                       : b.cast("arith.extui", t, DType::i32));
        break;
      default:
        numbers.push_back(b.binary(kNumbers[pick(7)], a, c));
    }
  }
  return {numbers.back(), numbers[numbers.size() - 2]};
}

TEST(TransformExpr, OfRandomMapsIsWhatTheyGive) {
  int told = 0, wrapping = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto payload = kernel_with([seed](BlockBuilder& b) { return random_map(b, seed); });
    const IndexMap map = payload->spec().in[0].index;
    const auto expr = map.expression(2);
    ASSERT_TRUE(expr);
    const auto bound = BoundIndexExpr::over(*expr, {0, 0}, kGrid);
    ++(bound ? told : wrapping);
    if (!bound) continue;
    std::vector<int64_t> values(2), slopes(2);
    for (int64_t i = 0; i < kGrid[0]; ++i)
      for (int64_t j = 0; j < kGrid[1];) {
        const int64_t steps = bound->segment({i, j}, 1, kGrid[1] - j, values, slopes);
        for (int64_t k = 0; k < steps; ++k, ++j) {
          const std::array<Index, 2> at{Index::grid(0, i), Index::grid(1, j)};
          const Indices indices = map(at, PrefetchRefs(nullptr));
          for (size_t d = 0; d < 2; ++d)
            ASSERT_EQ(values[d] + slopes[d] * k, indices.values[d].value()) << i << ", " << j << " result " << d;
        }
      }
  }
  EXPECT_GT(told, 250);
  EXPECT_GT(wrapping, 10);
}

TEST(TransformExpr, OfAMapThatLoopsThereIsNone) {
  const auto payload = kernel_with([](BlockBuilder& b) {
    const ValueId carried = b.loop(b.index(0), b.index(3), b.index(1), {b.arg(0)},
                                   [](BlockBuilder& inner) { return std::vector<ValueId>{inner.arg(1)}; });
    return std::vector<ValueId>{carried, b.i32(0)};
  });
  EXPECT_FALSE(payload->spec().in[0].index.expression(2));
}

}  // namespace
}  // namespace tilecheck::mosaic
