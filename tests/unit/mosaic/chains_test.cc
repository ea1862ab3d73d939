// Payloads whose operations run together: the same results, counts and findings as one after another.
#include "sim/mosaic/chains.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels.h"
#include "sim/machine/launch.h"
#include "sim/mosaic/payload.h"
#include "sim/ops/chain.h"

namespace tilecheck::mosaic {
namespace {

// out = f(x, y), all f32[16,128], by a kernel without a grid.
Module kernel_of(const std::function<ValueId(BlockBuilder&, ValueId, ValueId, const Type*)>& f) {
  ModuleBuilder m;
  const Type* block = m.memref(DType::f32, {16, 128});
  const Type* value = m.vector(DType::f32, {16, 128});
  m.kernel("k", {.windows = {{block, ""}, {block, ""}, {block, ""}}}, [&](BlockBuilder& b) {
    const ValueId c0 = b.index(0);
    const ValueId x = b.load(b.arg(0), {c0, c0}), y = b.load(b.arg(1), {c0, c0});
    b.store(f(b, x, y, value), b.arg(2), {c0, c0});
  });
  return m.finish();
}

HostArray counting(double first, double step) {
  HostArray a(DType::f32, {16, 128});
  for (int64_t i = 0; i < a.size(); ++i) a.set(i, first + step * static_cast<double>(i % 97));
  return a;
}

LaunchResult result_of(const Module& module, const std::vector<HostArray>& operands) {
  const ArrayType type = {DType::f32, {16, 128}};
  const auto payload = Payload::make(open_kernel(call_of(module, {type, type}, {type})));
  const DeviceArgs args = payload->arguments(operands);
  return launch(payload->spec({}), payload->body(), {&args, 1}, {});
}

size_t longest(const Code& code) {
  size_t n = 0;
  for (const Instr& instr : code.instrs)
    for (const Code& block : instr.blocks) n = std::max(n, block.instrs.size());
  return n;
}

// How many instructions at most run together.
size_t joined(const Module& built) {
  const Module module = load_module(write_bytecode(built), "test");
  return longest(compile(module, module.functions[0])->body);
}

struct Case {
  const char* what;
  std::function<ValueId(BlockBuilder&, ValueId, ValueId, const Type*)> f;
  std::function<float(float, float)> expected;
  size_t together;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"a chain",
       [](BlockBuilder& b, ValueId x, ValueId y, const Type*) {
         const ValueId less = b.binary("arith.subf", x, y);
         const ValueId scaled = b.binary("arith.mulf", less, y);
         return b.binary("arith.maximumf", scaled, x);
       },
       [](float x, float y) { return std::fmax((x - y) * y, x); }, 3},
      {"a value that two use ends a chain",
       [](BlockBuilder& b, ValueId x, ValueId y, const Type*) {
         const ValueId less = b.binary("arith.subf", x, y);
         const ValueId scaled = b.binary("arith.mulf", less, y);
         return b.binary("arith.addf", scaled, less);
       },
       [](float x, float y) {
         const float less = x - y;
         const float scaled = less * y;
         return scaled + less;
       },
       2},
      {"its square",
       [](BlockBuilder& b, ValueId x, ValueId y, const Type*) {
         const ValueId less = b.binary("arith.subf", x, y);
         return b.binary("arith.mulf", less, less);
       },
       [](float x, float y) { return (x - y) * (x - y); }, 2},
      {"only constants before the last",
       [](BlockBuilder& b, ValueId x, ValueId y, const Type* value) {
         const ValueId shifted = b.binary("arith.addf", x, b.splat(value, 1.5));
         return b.binary("arith.mulf", y, shifted);
       },
       [](float x, float y) { return y * (x + 1.5f); }, 2},
  };
  return all;
}

TEST(Chains, GiveTheSameBits) {
  const HostArray x = counting(-3, 0.37), y = counting(2, -0.11);
  for (const Case& c : cases()) {
    const Module module = kernel_of(c.f);
    EXPECT_EQ(joined(module), c.together) << c.what;
    const LaunchResult r = result_of(module, {x, y});
    EXPECT_TRUE(r.report.findings.empty()) << c.what;
    const HostArray& out = r.devices[0].out[0];
    for (int64_t i = 0; i < out.size(); ++i)
      ASSERT_EQ(out.as<float>()[i], c.expected(x.as<float>()[i], y.as<float>()[i])) << c.what << ", element " << i;
  }
}

// What may change something keeps two operations apart, whether it uses their values or not.
TEST(Chains, NothingMovesPastAStore) {
  const Module module = kernel_of([](BlockBuilder& b, ValueId x, ValueId y, const Type*) {
    const ValueId less = b.binary("arith.subf", x, y);
    b.store(y, b.arg(2), {b.index(0), b.index(0)});
    return b.binary("arith.mulf", less, y);
  });
  EXPECT_EQ(joined(module), 0u);
}

TEST(Chains, OperationsMovePastLoads) {
  const HostArray x = counting(-3, 0.37), y = counting(2, -0.11);
  for (const bool still_used : {false, true}) {
    const Module module = kernel_of([&](BlockBuilder& b, ValueId first, ValueId second, const Type*) {
      const ValueId less = b.binary("arith.subf", first, second);
      const ValueId again = b.load(b.arg(1), {b.index(0), b.index(0)});
      // Its last use, which ends it.
      const ValueId other = b.unary("math.absf", still_used ? first : again);
      return b.binary("arith.maximumf", b.binary("arith.mulf", less, again), other);
    });
    EXPECT_EQ(joined(module), still_used ? 2u : 3u);
    const LaunchResult r = result_of(module, {x, y});
    for (int64_t i = 0; i < x.size(); ++i) {
      const float a = x.as<float>()[i], b = y.as<float>()[i];
      ASSERT_EQ(r.devices[0].out[0].as<float>()[i], std::fmax((a - b) * b, std::fabs(still_used ? a : b)));
    }
  }
}

TEST(Chains, CountEachOperation) {
  const Module module = kernel_of([](BlockBuilder& b, ValueId x, ValueId y, const Type*) {
    return b.unary("math.exp", b.binary("arith.subf", x, y));
  });
  ASSERT_EQ(joined(module), 2u);
  const LaunchResult r = result_of(module, {counting(0, 0.1), counting(1, 0.2)});
  EXPECT_EQ(r.report.counters.operations, 2);
  EXPECT_EQ(r.report.counters.transcendentals, 16 * 128);
}

// out = scratch + x, where nobody wrote the scratch's second half.
Module half_written(bool whole) {
  ModuleBuilder m;
  const Type* block = m.memref(DType::f32, {16, 128});
  const Type* value = m.vector(DType::f32, {16, 128});
  m.kernel("k", {.windows = {{block, ""}, {block, ""}, {block, ""}}, .scratch = {block}}, [&](BlockBuilder& b) {
    const ValueId c0 = b.index(0);
    const ValueId x = b.load(b.arg(0), {c0, c0});
    b.store(b.load(b.arg(0), {c0, c0}, {8, 128}), b.arg(3), {c0, c0});
    if (whole) b.store(b.load(b.arg(0), {c0, c0}, {8, 128}), b.arg(3), {b.index(8), c0});
    const ValueId s = b.load(b.arg(3), {c0, c0});
    b.store(b.binary("arith.mulf", b.binary("arith.addf", s, x), b.splat(value, 2)), b.arg(2), {c0, c0});
  });
  return m.finish();
}

TEST(Chains, UndefinedElementsAreSeen) {
  const HostArray x = counting(1, 1);
  for (const bool whole : {false, true}) {
    const Module module = half_written(whole);
    ASSERT_EQ(joined(module), 2u);
    const LaunchResult r = result_of(module, {x, x});
    EXPECT_EQ(r.report.findings.empty(), whole);
    if (!whole) {
      EXPECT_EQ(r.report.findings.at(0).kind, Kind::undefined_output);
      EXPECT_THAT(r.report.findings.at(0).message, testing::HasSubstr("1024 of 2048"));
    }
  }
}

// acc + p y * rows, as Pallas' matmul and flash attention accumulate: in one, and the same as one after another.
TEST(Chains, AProductWithItsFactorAndItsSum) {
  const HostArray x = counting(-1, 0.013), y = counting(1, 0.07);
  const float *p = x.as<float>(), *q = y.as<float>();
  for (const auto& [scales, adds] : {std::pair(true, false), std::pair(false, true), std::pair(true, true)}) {
    const Module module =
        kernel_of([&, scales = scales, adds = adds](BlockBuilder& b, ValueId, ValueId second, const Type* value) {
          const ValueId c0 = b.index(0);
          const ValueId part = b.load(b.arg(0), {c0, c0}, {16, 16}), column = b.load(b.arg(1), {c0, c0}, {16, 1});
          const ValueId rows = b.op("vector.broadcast", {column}, {value});
          ValueId result = b.op("tpu.matmul", {part, second, b.splat(value, 0)}, {value});
          const ValueId start = b.load(b.arg(0), {c0, c0});
          if (scales) result = b.binary("arith.mulf", result, rows);
          return adds ? b.binary("arith.addf", start, result) : result;
        });
    EXPECT_EQ(joined(module), size_t{1} + scales + adds);
    const LaunchResult r = result_of(module, {x, y});
    ASSERT_TRUE(r.report.findings.empty());
    EXPECT_EQ(r.report.counters.flops, 2 * 16 * 16 * 128);
    for (int64_t i = 0; i < 16; ++i)
      for (int64_t j = 0; j < 128; ++j) {
        float sum = 0;
        for (int64_t k = 0; k < 16; ++k) sum = std::fma(p[i * 128 + k], q[k * 128 + j], sum);
        if (scales) sum *= q[i * 128];
        if (adds) sum = p[i * 128 + j] + sum;
        ASSERT_EQ(r.devices[0].out[0].as<float>()[i * 128 + j], sum) << i << ", " << j;
      }
  }
}

}  // namespace
}  // namespace tilecheck::mosaic
