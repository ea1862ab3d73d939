#include "sim/mosaic/kernel_module.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels.h"
#include "sim/mosaic/inspect.h"
#include "sim/types/error.h"

namespace tilecheck::mosaic {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

const ArrayType kArray{DType::f32, {32, 128}};

// A grid with a dynamic bound, scalar prefetch, an element window, a whole-array operand and scratch.
Module rich_module() {
  ModuleBuilder m;
  const Type* prefetch = m.memref(DType::i32, {5}, Space::smem);
  m.kernel(
      "rich",
      {.grid = {2, kDynamic},
       .prefetch = {prefetch},
       .windows = {{m.memref(DType::f32, {24, 128}),
                    "rows",
                    {{"window_kind", m.text("#tpu.element_window<[8, 0], [8, 0]>")},
                     {"pipeline_mode", m.text("#tpu.pipeline_mode<synchronous>")}}},
                   {m.memref(DType::i32, {32, 128}, Space::any), ""},
                   {m.memref(DType::f32, {8, 128}), "looked_up", {{"revisit_mode", m.text("#tpu.revisit_mode<any>")}}}},
       .scratch = {m.memref(DType::f32, {8, 128}), m.semaphore()},
       .semantics = {"parallel", "arbitrary"}},
      [](BlockBuilder& b) {
        const ValueId c0 = b.index(0);
        b.store(b.load(b.arg(3), {c0, c0}, {8, 128}), b.arg(5), {c0, c0});
      });
  m.index_map("rows", 2,
              [](BlockBuilder& b) {
                return std::vector<ValueId>{b.binary("arith.muli", b.arg(0), b.i32(8)), b.i32(0)};
              },
              {prefetch});
  m.index_map("looked_up", 2,
              [](BlockBuilder& b) {
                return std::vector<ValueId>{b.scalar_load(b.arg(2), {b.as_index(b.arg(1))}), b.arg(0)};
              },
              {prefetch});
  return m.finish();
}
KernelCall rich_call() {
  return call_of(rich_module(), {{DType::i32, {}}, {DType::i32, {5}}, {DType::f32, {64, 128}}, {DType::u32, {32, 128}}},
                 {{DType::f32, {40, 128}}});
}

TEST(KernelModule, SaysWhatArgumentsMean) {
  const KernelModule k = open_kernel(rich_call());
  EXPECT_EQ(k.name, "rich");
  EXPECT_EQ(k.grid, (Dims{2, kDynamic}));
  EXPECT_THAT(k.semantics, ElementsAre(Semantics::parallel, Semantics::arbitrary));
  EXPECT_EQ(k.dynamic_bounds, 1);
  EXPECT_EQ(k.prefetch_count, 1);
  EXPECT_EQ(k.input_count, 2);
  EXPECT_EQ(k.output_count, 1);
  EXPECT_EQ(k.scratch_count, 2);
  EXPECT_EQ(k.input_array(0), (ArrayType{DType::f32, {64, 128}}));
  EXPECT_EQ(k.window_array(2), (ArrayType{DType::f32, {40, 128}}));
  ASSERT_EQ(k.windows.size(), 3u);
  EXPECT_TRUE(k.windows[0].windowed);
  EXPECT_EQ(k.windows[0].buffers, 1);
  EXPECT_THAT(k.windows[0].element->pad_lo, ElementsAre(8, 0));
  EXPECT_EQ(k.windows[0].transform->name, "rows");
  EXPECT_FALSE(k.windows[1].windowed);
  EXPECT_EQ(k.windows[2].revisit, Revisit::any);
  EXPECT_EQ(k.arg_type(k.scratch_arg(1)).dtype, DType::dma_semaphore);
  EXPECT_THAT(k.arg_names, ElementsAre("i0", "i1", "prefetch0", "in0", "in1", "out0", "scratch0", "scratch1"));
}

TEST(KernelModule, RefusesCallsThatDoNotFit) {
  struct Case {
    std::function<void(KernelCall&)> change;
    const char* message;
  };
  for (const Case& c :
       {Case{[](KernelCall& k) { k.call.operands.pop_back(); },
             "3 inputs and results in all, found 3 operands and 1 results"},
        Case{[](KernelCall& k) { k.call.results.push_back(kArray); }, "found 4 operands and 2 results"},
        Case{[](KernelCall& k) { k.call.operands[0].dtype = DType::f32; }, "grid bound 0 as one i32"},
        Case{[](KernelCall& k) { k.call.operands[1].shape = {6}; }, "prefetch0, i32[6], of the argument's type"},
        Case{[](KernelCall& k) { k.call.operands[2].dtype = DType::bf16; },
             "in0, bf16[64,128], of the block's rank and type"},
        Case{[](KernelCall& k) { k.call.operands[2].shape = {64}; }, "in0, f32[64], of the block's rank"},
        Case{[](KernelCall& k) {
               k.call.operands[3].shape = {32, 64};
             },
             "in1, u32[32,64], of the argument's type"},
        Case{[](KernelCall& k) {
               k.call.aliases.push_back({9, 0});
             },
             "an alias of operand 9 and result 0"}}) {
    KernelCall call = rich_call();
    c.change(call);
    EXPECT_THAT(message_of([&] { open_kernel(call); }), HasSubstr(c.message));
  }
}

// A kernel of one block, with these attributes of the main function in the place of what the builder writes.
std::string with_kernel(const std::function<void(ModuleBuilder&, ModuleBuilder::Kernel&)>& change) {
  ModuleBuilder m;
  const Type* block = m.memref(DType::f32, {8, 128});
  ModuleBuilder::Kernel kernel{.grid = {4}, .windows = {{block, "map"}, {block, "map"}}};
  change(m, kernel);
  m.kernel("k", kernel, [](BlockBuilder&) {});
  m.index_map("map", 1, [](BlockBuilder& b) { return std::vector<ValueId>{b.arg(0), b.arg(0)}; });
  m.index_map("short_map", 1, [](BlockBuilder& b) { return std::vector<ValueId>{b.arg(0)}; });
  const Module module = m.finish();
  return message_of([&] { open_kernel(call_of(module, {kArray}, {kArray})); });
}

TEST(KernelModule, RefusesBrokenWindows) {
  using K = ModuleBuilder::Kernel;
  struct Case {
    std::function<void(ModuleBuilder&, K&)> change;
    const char* message;
  };
  for (const Case& c :
       {Case{[](ModuleBuilder&, K&) {}, ""},
        Case{[](ModuleBuilder&, K&k) { k.windows[0].transform = "nobody"; }, "transform function @nobody"},
        Case{[](ModuleBuilder&, K&k) { k.windows[0].transform = "short_map"; }, "to 2 block indices"},
        Case{[](ModuleBuilder&, K&k) { k.windows[0].transform = "k"; }, "to 2 block indices"},
        Case{[](ModuleBuilder&m, K&k) {
               k.windows[0].more = {{"pipeline_mode", m.text("#tpu.pipeline_mode<triple>")}};
             },
             "#tpu.pipeline_mode<triple>"},
        Case{[](ModuleBuilder&m, K&k) {
               k.windows[0].more = {{"window_kind", m.text("#tpu.element_window<[1], [0]>")}};
             },
             "padding for each dimension"},
        Case{[](ModuleBuilder&m, K&k) {
               k.windows[0].more = {{"window_kind", m.text("#tpu.element_window<[-1, 0], [0, 0]>")}};
             },
             "padding of at least 0"},
        Case{[](ModuleBuilder&m, K&k) {
               k.windows[0].more = {{"window_shape", m.text("unit")}};
             },
             "`window_shape` in window_params of in0"},
        Case{[](ModuleBuilder&, K&k) {
               k.semantics = {"parallel", "parallel"};
             },
             "each of the 1 grid dimensions, found 2"},
        Case{[](ModuleBuilder&, K&k) { k.semantics = {"sideways"}; }, "known dimension semantics"},
        Case{[](ModuleBuilder&, K&k) { k.grid = {-4}; }, "grid bounds of at least 0"},
        Case{[](ModuleBuilder&m, K&k) {
               k.windows[0].type = m.memref(DType::f32, {0, 128});
             },
             "positive window_bounds"}})
    EXPECT_THAT(with_kernel(c.change), c.message[0] ? testing::Matcher<std::string>(HasSubstr(c.message))
                                                    : testing::Matcher<std::string>(testing::Eq("")));
}

std::string stablehlo_of(const KernelCall& call) {
  std::string config = to_json(call.config), escaped;
  for (char c : config) escaped += c == '"' ? std::string("\\22") : std::string(1, c);
  return "func.func public @main(%arg0: tensor<32x128xf32>) -> tensor<32x128xf32> {\n  %0 = stablehlo.custom_call "
         "@tpu_custom_call(%arg0) {backend_config = \"" +
         escaped +
         "\", kernel_name = \"my_relu\"} : (tensor<32x128xf32>) -> tensor<32x128xf32>\n  return %0 : "
         "tensor<32x128xf32>\n}\n";
}

TEST(ReadKernelCalls, TakesTextConfigAndBody) {
  const KernelCall call = relu_call();
  const std::vector<KernelCall> from_text = read_kernel_calls(stablehlo_of(call), "relu.mlir");
  ASSERT_EQ(from_text.size(), 1u);
  const KernelModule k = open_kernel(from_text[0]);
  EXPECT_EQ(k.name, "my_relu");
  EXPECT_EQ(k.source, "relu.mlir line 2");
  EXPECT_EQ(k.removed.loads, 1);

  for (const std::string& bytes : {to_json(call.config), "\n  " + to_json(call.config), as_string(call.config.body)}) {
    const std::vector<KernelCall> bare = read_kernel_calls(bytes, "relu");
    ASSERT_EQ(bare.size(), 1u);
    EXPECT_THAT(message_of([&] { open_kernel(bare[0]); }), HasSubstr("--result 0=f32[1024]"));
    OpenOptions options;
    options.results = {kArray};
    EXPECT_THAT(message_of([&] { open_kernel(bare[0], options); }), HasSubstr("--operand 0=TYPE[SHAPE]"));
    options.operands = {kArray};
    options.aliases = {{0, 0}};
    options.vmem_limit_bytes = 1 << 20;
    const KernelModule opened = open_kernel(bare[0], options);
    EXPECT_EQ(opened.name, "relu");
    EXPECT_EQ(opened.call.aliases.size(), 1u);
    EXPECT_EQ(opened.vmem_limit_bytes, 1 << 20);
  }
}

TEST(ReadKernelCalls, KnowsWholeArraysOfABareBody) {
  ModuleBuilder m;
  const Type* whole = m.memref(DType::f32, {32, 128});
  m.kernel("copy", {.windows = {{whole, ""}, {whole, ""}}}, [](BlockBuilder& b) {
    const ValueId c0 = b.index(0);
    b.store(b.load(b.arg(0), {c0, c0}), b.arg(1), {c0, c0});
  });
  OpenOptions options;
  options.results = {kArray};
  const KernelModule k = open_kernel(read_kernel_calls(as_string(write_bytecode(m.finish())), "body")[0], options);
  EXPECT_EQ(k.input_array(0), kArray);
  EXPECT_FALSE(k.has_grid());
}

TEST(Inspect, ShowsTheKernel) {
  const std::string text = inspect(open_kernel(relu_call()));
  for (const char* part : {"kernel relu  (test)", "1 of 2 loads unused (4096 B), left out", "grid      (4)  arbitrary",
                           "0  in0   f32[32,128]  block 8x128 VMEM  (i0) -> (i0, 0)", "body(i0, in0, out0)",
                           "v0 = load in0[0, 0] : f32[8,128]", "# relu.py:10", "v1 = v0 * 2.0 : f32[8,128]",
                           "v3 = maximumf v2, 0.0 : f32[8,128]", "store out0[0, 0] = v3"})
    EXPECT_THAT(text, HasSubstr(part));
  const std::string rich = inspect(open_kernel(rich_call()));
  for (const char* part : {"(2, operand 0)  parallel, arbitrary", "grid bound", "scalar prefetch, SMEM",
                           "(i0, i1) -> (i0 * 8, 0)  in elements, padded (8, 0) before, (8, 0) after  Buffered(1)",
                           "whole array, ANY", "(i0, i1) -> (prefetch0[i1], i0)  revisit any", "dma_semaphore[]"})
    EXPECT_THAT(rich, HasSubstr(part));
  EXPECT_THAT(raw_text(relu_call()), HasSubstr("\"arith.maximumf\"(%8, %9) : (vector<8x128xf32>, vector<8x128xf32>) -> "
                                               "(vector<8x128xf32>) loc(relu.py:12:3 (kernel))"));
}

// relu_module with one thing changed.
KernelModule relu_with(double scale, int line, int64_t grid, bool swapped = false) {
  ModuleBuilder m;
  const Type* block = m.memref(DType::f32, {8, 128});
  const Type* value = m.vector(DType::f32, {8, 128});
  m.kernel("relu", {.grid = {grid}, .windows = {{block, "map"}, {block, "map"}}}, [&](BlockBuilder& b) {
    m.at("relu.py", line);
    const ValueId c0 = b.index(0);
    const ValueId x = b.load(b.arg(1), {c0, c0});
    const ValueId y = b.binary("arith.mulf", x, b.splat(value, scale));
    const ValueId z = b.binary("arith.subf", swapped ? y : x, swapped ? x : y);
    b.store(z, b.arg(2), {c0, c0});
  });
  m.index_map("map", 1, [](BlockBuilder& b) { return std::vector<ValueId>{b.arg(0), b.i32(0)}; });
  return open_kernel(call_of(m.finish(), {kArray}, {kArray}));
}

TEST(Identity, DependsOnTheProgramAlone) {
  const Identity base = identity(relu_with(2, 10, 4));
  EXPECT_EQ(base.without_locations.size(), 32u);
  const Identity moved = identity(relu_with(2, 11, 4));
  EXPECT_EQ(moved.without_locations, base.without_locations);
  EXPECT_NE(moved.with_locations, base.with_locations);
  EXPECT_EQ(identity(relu_with(2, 10, 4)).with_locations, base.with_locations);
  EXPECT_NE(identity(relu_with(3, 10, 4)).without_locations, base.without_locations);
  EXPECT_NE(identity(relu_with(2, 10, 2)).without_locations, base.without_locations);
  // The same kernel in another IR version.
  EXPECT_EQ(identity(open_kernel(call_of(relu_module(11), {kArray}, {kArray}))).without_locations,
            identity(open_kernel(call_of(relu_module(15), {kArray}, {kArray}))).without_locations);
  KernelCall limited = relu_call();
  limited.config.vmem_limit_bytes = 1 << 20;
  EXPECT_NE(identity(open_kernel(limited)).without_locations, identity(open_kernel(relu_call())).without_locations);
}

TEST(Diff, SaysWhatDiffers) {
  EXPECT_EQ(diff(relu_with(2, 10, 4), relu_with(2, 10, 4)), "");
  const std::string moved = diff(relu_with(2, 10, 4), relu_with(2, 12, 4));
  EXPECT_THAT(moved, StartsWith("only source lines"));
  EXPECT_THAT(moved, HasSubstr("relu.py:10 -> relu.py:12"));
  EXPECT_EQ(diff(relu_with(2, 10, 4), relu_with(2, 10, 2)), "grid: (4)  arbitrary\n    -> (2)  arbitrary\n");
  EXPECT_EQ(diff(relu_with(2, 10, 4), relu_with(3, 10, 4)),
            "body:\n- v1 = v0 * 2.0 : f32[8,128]    # relu.py:10\n+ v1 = v0 * 3.0 : f32[8,128]    # relu.py:10\n");
  EXPECT_EQ(diff(relu_with(2, 10, 4), relu_with(2, 10, 4, true)),
            "body:\n- v2 = v0 - v1 : f32[8,128]    # relu.py:10\n+ v2 = v1 - v0 : f32[8,128]    # relu.py:10\n");
  const std::string other = diff(open_kernel(relu_call()), open_kernel(rich_call()));
  for (const char* part : {"name: relu -> rich", "operands 1: only in the second",
                           "scratch 0: only in the second: scratch0  f32[8,128] VMEM"})
    EXPECT_THAT(other, HasSubstr(part));
}

}  // namespace
}  // namespace tilecheck::mosaic
