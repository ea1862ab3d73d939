#include "sim/mosaic/stablehlo_scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels.h"
#include "sim/types/error.h"

namespace tilecheck::mosaic {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kModule = R"mlir(
module @jit_f attributes {mhlo.num_partitions = 1 : i32} {
  // stablehlo.custom_call @not_a_call(%x) {} : () -> ()
  func.func public @main(%arg0: tensor<8x128xf32> {jax.arg = "stablehlo.custom_call @tpu_custom_call("}, %arg1: tensor<ui32>) -> (tensor<8x128xbf16>) {
    %0 = stablehlo.add %arg0, %arg0 : tensor<8x128xf32>
    %1:2 = stablehlo.custom_call @tpu_custom_call(%arg1, %0#1, %arg0) {api_version = 1 : i32, backend_config = "{\22a\22: \22\\\22x\0A\22}", has_side_effect = true, kernel_name = "my kernel", mhlo.frontend_attributes = {kernel_metadata = "{\22k\22: 1}", xla_allow_dce_side_effecting_op = "true"}, operand_layouts = [dense<> : tensor<0xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [1], operand_index = 2, operand_tuple_indices = []>], result_layouts = [dense<0> : tensor<1xindex>, dense<[1, 0]> : tensor<2xindex>]} : (tensor<ui32>, tensor<8x128xf32>, tensor<8x128xf32>) -> (tensor<16xbf16>, tensor<8x128xf32>) loc(#loc1)
    return %1#0 : tensor<16xbf16>
  }
  func.func private @"other f"(%arg0: tensor<4x0xi1>) -> tensor<i32> {
    %2 = "stablehlo.custom_call"(%arg0) <{backend_config = "B", call_target_name = "tpu_custom_call", kernel_name = "second"}> : (tensor<4x0xi1>) -> tensor<i32>
    %3 = stablehlo.custom_call @Sharding(%2) {mhlo.sharding = "{}"} : (tensor<i32>) -> tensor<i32>
    %4 = stablehlo.custom_call @tpu_custom_call() {backend_config = "C"} : () -> tuple<tensor<2xf8E4M3FN>>
    return %3 : tensor<i32>
  }
}
)mlir";

TEST(StablehloScan, ReadsCallsInBothForms) {
  const std::vector<CustomCall> calls = scan_stablehlo(kModule, "module.mlir");
  ASSERT_EQ(calls.size(), 4u);
  const CustomCall& a = calls[0];
  EXPECT_EQ(a.target, "tpu_custom_call");
  EXPECT_EQ(a.kernel_name, "my kernel");
  EXPECT_EQ(a.backend_config, "{\"a\": \"\\\"x\n\"}");
  EXPECT_EQ(a.kernel_metadata, "{\"k\": 1}");
  EXPECT_TRUE(a.has_side_effect);
  EXPECT_EQ(a.function, "main");
  EXPECT_EQ(a.line, 6);
  EXPECT_THAT(a.operands,
              ElementsAre(ArrayType{DType::u32, {}}, ArrayType{DType::f32, {8, 128}}, ArrayType{DType::f32, {8, 128}}));
  EXPECT_THAT(a.results, ElementsAre(ArrayType{DType::bf16, {16}}, ArrayType{DType::f32, {8, 128}}));
  ASSERT_EQ(a.aliases.size(), 1u);
  EXPECT_EQ(a.aliases[0].input, 2);
  EXPECT_EQ(a.aliases[0].output, 1);

  EXPECT_EQ(calls[1].kernel_name, "second");
  EXPECT_EQ(calls[1].backend_config, "B");
  EXPECT_EQ(calls[1].function, "other f");
  EXPECT_EQ(calls[1].line, 10);
  EXPECT_THAT(calls[1].operands, ElementsAre(ArrayType{DType::b1, {4, 0}}));
  EXPECT_EQ(calls[2].target, "Sharding");
  EXPECT_THAT(calls[3].results, ElementsAre(ArrayType{DType::f8e4m3fn, {2}}));
  EXPECT_EQ(tpu_calls(calls, "module.mlir").size(), 3u);
}

// One call with these attributes, of an operand and a result of 8x128.
std::string one_call(const std::string& attrs, const std::string& types = "(tensor<8x128xf32>) -> tensor<8x128xf32>") {
  return "func.func @main() {\n  %0 = stablehlo.custom_call @tpu_custom_call(%a) {" + attrs + "} : " + types +
         "\n  return\n}\n";
}

TEST(StablehloScan, RefusesByNameAndLine) {
  struct Case {
    std::string text;
    const char* message;
  };
  for (const Case& c :
       {Case{one_call("operand_layouts = [dense<[0, 1]> : tensor<2xindex>]"), "operand 0 has [0, 1]"},
        Case{one_call("result_layouts = [dense<[0, 1]> : tensor<2xindex>]"), "result 0 has [0, 1]"},
        Case{one_call("operand_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>]"),
             "a layout for each of the call's 1 types"},
        Case{one_call("output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], "
                      "operand_index = 1, operand_tuple_indices = []>]"),
             "an operand's number"},
        Case{one_call("output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [1], "
                      "operand_index = 0, operand_tuple_indices = []>]"),
             "a result's number"},
        Case{one_call("kernel_name = \"\\zz\""), "unknown escape"},
        Case{one_call("kernel_name = \"k"), "a closing quote"},
        Case{one_call("", "(tensor<8xf32>) -> tensor<?xf32>"), "static shape"},
        Case{one_call("", "(tensor<8xcomplex<f32>>) -> tensor<8xf32>"), "expected"},
        Case{one_call("", "(tensor<4611686018427387904xf32>) -> tensor<8xf32>"), "more bytes than 63 bits"},
        Case{one_call("", "(tensor<8xf32>)"), "`->`"}, Case{one_call("a = ["), "`]`"},
        Case{"stablehlo.custom_call @tpu_custom_call(%a", "`)`"},
        Case{"stablehlo.custom_call @tpu_custom_call(%a) {" + std::string(100, '{'), "an attribute's name"},
        Case{one_call("a = " + std::string(100, '[')), "at most 64 nested brackets"}}) {
    const std::string message = message_of([&] { scan_stablehlo(c.text, "m.mlir"); });
    EXPECT_THAT(message, HasSubstr(c.message)) << c.text;
    EXPECT_THAT(message, HasSubstr("m.mlir line ")) << c.text;
  }
}

TEST(StablehloScan, SaysWhyThereIsNoKernel) {
  const auto why = [](const std::string& text) {
    return message_of([&] { tpu_calls(scan_stablehlo(text, "m.mlir"), "m.mlir"); });
  };
  const std::string none = why("module { func.func @main() { return } }");
  EXPECT_THAT(none, HasSubstr("interpret=True"));
  EXPECT_THAT(none, HasSubstr("lowering_platforms=(\"tpu\",)"));
  EXPECT_THAT(why("stablehlo.custom_call @__gpu$xla.gpu.triton(%a) {api_version = 4 : i32, mhlo.backend_config = {ir = "
                  "\"ML\\EFR\"}} : (tensor<8xf32>) -> tensor<8xf32>"),
              HasSubstr("GPU kernel (custom call @__gpu$xla.gpu.triton)"));
  EXPECT_THAT(why("stablehlo.custom_call @mosaic_gpu_v2(%a) {} : (tensor<8xf32>) -> tensor<8xf32>"),
              HasSubstr("@mosaic_gpu_v2"));
  EXPECT_THROW(tpu_calls(scan_stablehlo("stablehlo.custom_call @triton_kernel_call_ffi(%a) {} : () -> ()", "m"), "m"),
               Incomplete);
}

TEST(ArrayTypeText, IsReadAndWritten) {
  for (const char* text : {"f32[8,128]", "i32[]", "bf16[1024]", "u8[0,3]", "bool[4]"})
    EXPECT_EQ(to_string(parse_array_type(text, "--result")), text);
  EXPECT_EQ(parse_array_type("bfloat16[8]", "x"), (ArrayType{DType::bf16, {8}}));
  for (const char* text : {"", "f32", "f32[", "f32[8,]", "f32[-1]", "f32[8x128]", "what[8]", "f32[,8]",
                           "f32[9223372036854775807,9]", "f32[1,1,1,1,1,1,1,1,1,1,1]"})
    EXPECT_THAT(message_of([&] { parse_array_type(text, "--result"); }),
                HasSubstr("--result: expected a type like f32[8,128]"))
        << text;
}

}  // namespace
}  // namespace tilecheck::mosaic
