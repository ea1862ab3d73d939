#include "sim/mosaic/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels.h"

namespace tilecheck::mosaic {
namespace {

using testing::HasSubstr;

TEST(Text, ReadsTypesAndWritesThemBack) {
  for (const char* text : {"f32",
                           "bf16",
                           "f16",
                           "f64",
                           "i1",
                           "i8",
                           "i32",
                           "si32",
                           "index",
                           "none",
                           "f8E4M3FN",
                           "f8E5M2",
                           "f8E4M3B11FNUZ",
                           "f8E8M0FNU",
                           "f4E2M1FN",
                           "!tpu.semaphore",
                           "!tpu.dma_semaphore",
                           "vector<f32>",
                           "vector<8x128xf32>",
                           "vector<3xi1>",
                           "memref<8x128xf32, #tpu.memory_space<vmem>>",
                           "memref<?x128xbf16, #tpu.memory_space<any>>",
                           "memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>",
                           "memref<i32, #tpu.memory_space<smem>>",
                           "memref<16xi32, #tpu.tiled<(128),[1]>, #tpu.memory_space<vmem>>",
                           "tensor<4x0xi32>",
                           "(i32, f32) -> (i32)",
                           "() -> ()",
                           "!llvm.ptr<3>",
                           "complex<f32>",
                           "vector<8xf80>",
                           "tensor<2xcomplex<f32>>"}) {
    Module module;
    TextCursor cursor(text, "type");
    const Type* type = parse_type(module, cursor);
    EXPECT_TRUE(cursor.done()) << text;
    EXPECT_EQ(to_string(*type), text);
    const std::string written = to_string(*type);
    TextCursor again(written, "type");
    EXPECT_EQ(*parse_type(module, again), *type) << text;
  }
}

TEST(Text, ResolvesTheElementsItKnows) {
  struct Case {
    const char* text;
    TypeKind kind;
    DType dtype;
  };
  for (const Case& c :
       {Case{"ui8", TypeKind::scalar, DType::u8}, Case{"si32", TypeKind::scalar, DType::i32},
        Case{"i1", TypeKind::scalar, DType::b1}, Case{"!tpu.float8_exmy<f8E5M2>", TypeKind::scalar, DType::f8e5m2},
        Case{"vector<2xi4>", TypeKind::vector, DType::i4}, Case{"index", TypeKind::index, DType::i64},
        Case{"i33", TypeKind::opaque, DType::i32}}) {
    Module module;
    TextCursor cursor(c.text, "type");
    const Type* type = parse_type(module, cursor);
    EXPECT_EQ(type->kind, c.kind) << c.text;
    EXPECT_TRUE(c.kind == TypeKind::opaque || type->dtype == c.dtype) << c.text;
  }
}

TEST(Text, RefusesBrokenTypes) {
  struct Case {
    std::string text;
    const char* message;
  };
  for (const Case& c :
       {Case{"", "expected a type"}, Case{"vector<8x128", "a dimension followed by x"},
        Case{"vector<8xf32", "found the end"}, Case{"vector<8x", "expected a type"},
        Case{"vector<99999999999999999999xf32>", "a dimension followed by x"},
        Case{"vector<1x1x1x1x1x1x1x1x1x1x1xf32>", "at most 10 dimensions"},
        Case{"memref<8xf32, #tpu.memory_space<moon>>", "a known memory space"}, Case{"(i32", "`)`"},
        Case{"(" + std::string(200, '('), "at most 64 nested types"},
        Case{"!x<" + std::string(100, '<'), "at most 64 nested brackets"}, Case{"!x<(>", "expected `)`"}}) {
    EXPECT_THAT(message_of([&] {
                  Module module;
                  TextCursor cursor(c.text, "type");
                  parse_type(module, cursor);
                  if (!cursor.done()) cursor.fail("the end");
                }),
                HasSubstr(c.message))
        << c.text;
  }
}

TEST(Text, EvaluatesAffineMaps) {
  struct Case {
    const char* text;
    std::vector<int64_t> expected;  // of d0 = 7, d1 = -3
    bool identity;
  };
  for (const Case& c :
       {Case{"affine_map<(d0, d1) -> (d0, d1)>", {7, -3}, true}, Case{"affine_map<() -> ()>", {}, true},
        Case{"affine_map<(d0, d1) -> (d1, d0)>", {-3, 7}, false},
        Case{"affine_map<(a, b) -> (a * 2 + b - 1, (a + b) * 3)>", {10, 12}, false},
        Case{"affine_map<(d0, d1) -> (d0 floordiv 2, d1 floordiv 2, d1 ceildiv 2, d1 mod 2)>", {3, -2, -1, 1}, false},
        Case{"affine_map<(d0, d1) -> (-d0, 5, d0 floordiv 0)>", {-7, 5, 0}, false}}) {
    Module module;
    TextCursor cursor(c.text, "map");
    const Attr* attr = parse_attr(module, cursor);
    ASSERT_EQ(attr->kind, AttrKind::affine_map) << c.text;
    ASSERT_EQ(attr->map->results.size(), c.expected.size()) << c.text;
    for (size_t i = 0; i < c.expected.size(); ++i)
      EXPECT_EQ(attr->map->eval(static_cast<int>(i), std::vector<int64_t>{7, -3}), c.expected[i])
          << c.text << " result " << i;
    EXPECT_EQ(attr->map->is_identity(), c.identity) << c.text;
    const std::string written = to_string(*attr);
    TextCursor again(written, "map");
    EXPECT_EQ(to_string(*parse_attr(module, again)), to_string(*attr));
  }
}

TEST(Text, RefusesBrokenAffineMaps) {
  for (const std::string& text :
       {std::string("affine_map<(d0) -> (d1)>"), std::string("affine_map<(d0) -> (d0 +)>"),
        std::string("affine_map<(d0)>"), std::string("affine_map<(d0) -> (99999999999999999999)>"),
        "affine_map<(d0) -> (" + std::string(1000, '(')}) {
    EXPECT_THAT(message_of([&] {
                  Module module;
                  TextCursor cursor(text, "map");
                  parse_attr(module, cursor);
                }),
                HasSubstr("expected"))
        << text;
  }
}

TEST(Text, UnescapesStrings) {
  EXPECT_EQ(unescape(R"(a\22b\0A\5C\\\"\n\t)", "s"), "a\"b\n\\\\\"\n\t");
  EXPECT_EQ(unescape("", "s"), "");
  EXPECT_THAT(message_of([] { unescape(R"(a\q)", "s"); }), HasSubstr("unknown escape"));
  EXPECT_THAT(message_of([] { unescape("a\\", "s"); }), HasSubstr("unknown escape"));
}

TEST(Text, SplitsDialectAttributes) {
  Module module;
  TextCursor cursor("#tpu.element_window<[8, 0], [8, 0]>", "attribute");
  const Attr* attr = parse_attr(module, cursor);
  EXPECT_EQ(attr->kind, AttrKind::dialect);
  EXPECT_EQ(attr->mnemonic, "tpu.element_window");
  EXPECT_EQ(attr->body, "[8, 0], [8, 0]");
}

}  // namespace
}  // namespace tilecheck::mosaic
