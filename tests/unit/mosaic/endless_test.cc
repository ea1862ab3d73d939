// Payloads that would run for ever: cancelled within a step, or refused.
#include <gmock/gmock.h>

#include "sim/machine/launch.h"
#include "sim/mosaic/payload.h"
#include "sim/types/error.h"
#include "tests/unit/mosaic/kernels.h"

namespace tilecheck::mosaic {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kForEver = int64_t{1} << 62;

// One step on a block of f32[8,128], and its index map.
KernelModule block_kernel(const BuildBlock& body, const BuildYield& map) {
  ModuleBuilder m;
  const Type* block = m.memref(DType::f32, {8, 128});
  m.kernel("k", {.grid = {1}, .windows = {{block, "map"}, {block, "map"}}}, body);
  m.index_map("map", 1, map);
  const ArrayType array{DType::f32, {8, 128}};
  return open_kernel(call_of(m.finish(), {array}, {array}));
}

std::vector<ValueId> origin(BlockBuilder& b) { return {b.i32(0), b.i32(0)}; }

LaunchResult run(const Payload& payload, int64_t asked_at_most) {
  LaunchOptions options;
  int64_t asked = 0;
  options.go_on = [&asked, asked_at_most] { return ++asked < asked_at_most; };
  const std::vector<HostArray> operands{HostArray(DType::f32, {8, 128})};
  const DeviceArgs args = payload.arguments(operands);
  return launch(payload.spec(), payload.body(), {&args, 1}, options);
}

TEST(Endless, ALoopIsCancelledWithinAStep) {
  const auto payload = Payload::make(block_kernel(
      [](BlockBuilder& b) {
        const ValueId c0 = b.index(0), out = b.arg(2);
        b.store(b.load(b.arg(1), {c0, c0}), out, {c0, c0});
        b.loop(c0, b.index(kForEver), b.index(1), {}, [c0, out](BlockBuilder& inner) {
          inner.store(inner.load(out, {c0, c0}), out, {c0, c0});
          return std::vector<ValueId>{};
        });
      },
      origin));
  const LaunchResult r = run(*payload, 3);
  EXPECT_THAT(r.report.incomplete, ElementsAre("cancelled after 0 of 1 steps"));
}

// Carries what the map returns through a loop.
BuildYield looping(int64_t upper, int64_t step) {
  return [upper, step](BlockBuilder& b) {
    const ValueId carried = b.loop(b.index(0), b.index(upper), b.index(step), {b.i32(0)},
                                   [](BlockBuilder& inner) { return std::vector<ValueId>{inner.arg(1)}; });
    return std::vector<ValueId>{carried, b.i32(0)};
  };
}

TEST(Endless, AnIndexMapEnds) {
  const auto copy = [](BlockBuilder& b) {
    const ValueId c0 = b.index(0);
    b.store(b.load(b.arg(1), {c0, c0}), b.arg(2), {c0, c0});
  };
  const BuildYield of_floats = [](BlockBuilder& b) {
    const ValueId finite = b.op("math.isfinite", {b.f32(1)}, {b.module().i1()});
    return std::vector<ValueId>{b.cast("arith.extui", finite, DType::i32), b.i32(0)};
  };
  const std::pair<BuildYield, const char*> cases[] = {
      {looping(kForEver, 1), "a loop of more than 1048576 iterations in an index map"},
      {looping(4, 0), "scf.for with a step that is not positive in an index map"},
      {of_floats, "math.isfinite in an index map is not modelled"},
  };
  for (const auto& [map, message] : cases)
    EXPECT_THAT(message_of([&, &m = map] {
                  const auto payload = Payload::make(block_kernel(copy, m));
                  for (const std::string& what : run(*payload, 1 << 30).report.incomplete) throw Incomplete(what);
                }),
                HasSubstr(message));
}

}  // namespace
}  // namespace tilecheck::mosaic
