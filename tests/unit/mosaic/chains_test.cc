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

// What stands between two operations keeps them apart, whether it uses their values or not.
TEST(Chains, NothingMovesPastAnotherOperation) {
  const Module module = kernel_of([](BlockBuilder& b, ValueId x, ValueId y, const Type*) {
    const ValueId less = b.binary("arith.subf", x, y);
    b.store(y, b.arg(2), {b.index(0), b.index(0)});
    return b.binary("arith.mulf", less, y);
  });
  EXPECT_EQ(joined(module), 0u);
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

// acc + x y^T, as Pallas' matmul accumulates: in one, and the same as a product and a sum.
TEST(Chains, AProductAndItsSum) {
  ModuleBuilder m;
  const Type* block = m.memref(DType::f32, {16, 128});
  const Type* square = m.memref(DType::f32, {16, 16});
  const Type* value = m.vector(DType::f32, {16, 16});
  m.kernel("k", {.windows = {{block, ""}, {block, ""}, {square, ""}}}, [&](BlockBuilder& b) {
    const ValueId c0 = b.index(0);
    const ValueId x = b.load(b.arg(0), {c0, c0}), y = b.load(b.arg(1), {c0, c0});
    const ValueId start = b.load(b.arg(0), {c0, c0}, {16, 16});
    const ValueId product =
        b.op("tpu.matmul", {x, y, b.splat(value, 0)}, {value}, {{"transpose_rhs", b.module().boolean(true)}});
    b.store(b.binary("arith.addf", start, product), b.arg(2), {c0, c0});
  });
  const Module module = m.finish();
  ASSERT_EQ(joined(module), 2u);
  const HostArray x = counting(-1, 0.013), y = counting(1, 0.07);
  const ArrayType type = {DType::f32, {16, 128}};
  const auto payload = Payload::make(open_kernel(call_of(module, {type, type}, {{DType::f32, {16, 16}}})));
  const DeviceArgs args = payload->arguments(std::vector<HostArray>{x, y});
  const LaunchResult r = launch(payload->spec({}), payload->body(), {&args, 1}, {});
  ASSERT_TRUE(r.report.findings.empty());
  EXPECT_EQ(r.report.counters.flops, 2 * 16 * 16 * 128);
  for (int64_t i = 0; i < 16; ++i)
    for (int64_t j = 0; j < 16; ++j) {
      float sum = 0;
      for (int64_t k = 0; k < 128; ++k) sum = std::fma(x.as<float>()[i * 128 + k], y.as<float>()[j * 128 + k], sum);
      EXPECT_EQ(r.devices[0].out[0].as<float>()[i * 16 + j], x.as<float>()[i * 128 + j] + sum);
    }
}

}  // namespace
}  // namespace tilecheck::mosaic
