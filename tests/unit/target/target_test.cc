#include "sim/target/target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/types/error.h"

namespace tilecheck {
namespace {

using ::testing::HasSubstr;

TEST(TargetTest, EveryDeviceKindOfJaxNamesItsGeneration) {
  const struct {
    const char* kind;
    const char* name;
  } kCases[] = {
      {"TPU v2", "v2"},  {"TPU v3", "v3"},   {"TPU v4", "v4"},       {"TPU v5 lite", "v5e"}, {"TPU v5e", "v5e"},
      {"TPU v5", "v5p"}, {"TPU v5p", "v5p"}, {"TPU v6 lite", "v6e"}, {"TPU v6e", "v6e"},     {"TPU7x", "v7x"},
      {"TPU7", "v7x"},   {"v2", "v2"},       {"v5p", "v5p"},         {"v7x", "v7x"},         {"tpu7x", "v7x"},
  };
  for (const auto& c : kCases) EXPECT_EQ(target_named(c.kind).name, c.name) << c.kind;
}

TEST(TargetTest, UnknownNamesSuggestTheNearest) {
  const struct {
    const char* asked;
    const char* message;
  } kCases[] = {
      {"v5 lite", "did you mean \"TPU v5 lite\"?"}, {"TPU v6", "did you mean \"TPU v6e\"?"},
      {"tpu v4", "did you mean \"TPU v4\"?"},       {"v6", "did you mean \"v6e\"?"},
      {"TPU8i", "without a row in the table"},      {"", "no target is named"},
      {"my.chip", "\"my.chip\" (known: v2, v3,"},
  };
  for (const auto& c : kCases) {
    try {
      target_named(c.asked);
      ADD_FAILURE() << c.asked << " was accepted";
    } catch (const InputError& e) {
      EXPECT_THAT(e.what(), HasSubstr(c.message)) << c.asked;
    }
  }
  EXPECT_THROW(target_named("TPU v5e "), InputError);
  EXPECT_THROW(target_named(std::string(100000, 'x')), InputError);
}

TEST(TargetTest, NearestName) {
  const std::vector<std::string> names = {"add", "relu_2x_plus_1", "flash_attention", "matmul", "out", "json"};
  const struct {
    const char *given, *nearest;
  } kCases[] = {
      {"relu", "relu_2x_plus_1"},
      {"flash", "flash_attention"},
      {"attention", "flash_attention"},
      {"matmull", "matmul"},
      {"Matmul", "matmul"},
      {"jsn", "json"},
      {"bogus", ""},
      {"m", ""},
      {"captures/add", ""},
      {"", ""},
  };
  for (const auto& c : kCases) EXPECT_EQ(nearest_name(c.given, names), c.nearest) << c.given;
}

TEST(TargetTest, ListsOfNames) {
  EXPECT_EQ(targets_named("all").size(), 7u);
  const std::vector<Target> two = targets_named("v5e,TPU v6 lite");
  ASSERT_EQ(two.size(), 2u);
  EXPECT_EQ(two[1].name, "v6e");
  EXPECT_THROW(targets_named("v5e,"), InputError);
}

TEST(TargetTest, LimitsAreTheMeasuredOnes) {
  const struct {
    const char* name;
    int64_t usable, limit, cap, smem, smem_reserved;
  } kCases[] = {
      {"v2", 16777216, 16777216, 16777216, 16384, 144},     {"v3", 16777216, 16777216, 16777216, 16384, 144},
      {"v4", 16777216, 16777216, 16777216, 1048576, 144},   {"v5e", 134217728, 16777216, 134217728, 1048576, 1920},
      {"v5p", 67043328, 16777216, 67108864, 1048576, 1920}, {"v6e", 134152192, 33554432, 134217728, 1048576, 1920},
      {"v7x", 67108864, 33554432, 67108864, 1048576, 1936},
  };
  for (const auto& c : kCases) {
    const Target& t = target_named(c.name);
    EXPECT_EQ(t[FigureId::vmem_usable_bytes], c.usable) << c.name;
    EXPECT_EQ(t[FigureId::vmem_default_limit_bytes], c.limit) << c.name;
    EXPECT_EQ(t[FigureId::vmem_bytes], c.cap) << c.name;
    EXPECT_EQ(t[FigureId::smem_bytes], c.smem) << c.name;
    EXPECT_EQ(t[FigureId::smem_reserved_bytes], c.smem_reserved) << c.name;
  }
}

TEST(TargetTest, EveryFigureIsInRangeAndHasASource) {
  for (const Target& t : targets()) {
    for (int i = 0; i < kFigureCount; ++i) {
      const FigureInfo& figure = info(static_cast<FigureId>(i));
      EXPECT_GE(t.figures[static_cast<size_t>(i)].value, figure.min) << t.name << ' ' << figure.name;
      EXPECT_LE(t.figures[static_cast<size_t>(i)].value, figure.max) << t.name << ' ' << figure.name;
      EXPECT_FALSE(t.figures[static_cast<size_t>(i)].source.empty()) << t.name << ' ' << figure.name;
    }
    EXPECT_FALSE(t.matmul_types.empty());
    EXPECT_FALSE(t.matmul_source.empty());
  }
}

TEST(TargetTest, MatmulTypes) {
  const struct {
    const char* name;
    DType type;
    bool accepted;
  } kCases[] = {
      {"v3", DType::bf16, false}, {"v3", DType::f32, true}, {"v4", DType::i8, false},   {"v4", DType::bf16, true},
      {"v5e", DType::i4, true},   {"v7x", DType::i8, true}, {"v6e", DType::i32, false},
  };
  for (const auto& c : kCases) EXPECT_EQ(target_named(c.name).accepts_matmul(c.type), c.accepted) << c.name;
}

TEST(TargetTest, TextAndJsonHoldTheTable) {
  const std::string text = targets_text(targets());
  for (const char* part : {"vmem_usable_bytes", "128 MiB", "67043328", "TPU v5 lite", "sources that disagree", "JAX"})
    EXPECT_THAT(text, HasSubstr(part));
  const std::string json = targets_json(targets());
  EXPECT_THAT(json, HasSubstr("\"value\": 134152192"));
}

TEST(TargetFileTest, BasedOnAnother) {
  const Target t = parse_target(
      R"({"name": "big", "based_on": "v6e", "vmem_usable_bytes": 100000000, "clock_hz": 2e9})", "big.json");
  EXPECT_EQ(t.name, "big");
  EXPECT_EQ(t[FigureId::vmem_usable_bytes], 100000000);
  EXPECT_EQ(t[FigureId::clock_hz], 2000000000);
  EXPECT_EQ(t.figure(FigureId::clock_hz).source, "big.json");
  EXPECT_EQ(t[FigureId::smem_bytes], 1048576);
  EXPECT_TRUE(t.accepts_matmul(DType::i8));
}

TEST(TargetFileTest, OneClearErrorEach) {
  const struct {
    const char* json;
    const char* message;
  } kCases[] = {
      {"", "must be one JSON object"},
      {"[1]", "must be one JSON object"},
      {R"({"based_on": "v6e"})", "\"name\" is missing"},
      {R"({"name": "x"})", "\"generation\" (generation number; rules that changed with one ask for it) is missing"},
      {R"({"name": "x", "based_on": "v6"})",
       "my.json, \"based_on\": target: no target is named \"v6\"; did you mean \"v6e\"?"},
      {R"({"name": "x", "based_on": "v6e", "generation": 99})",
       "\"generation\" is 99, expected an integer from 2 to 8"},
      {R"({"name": "x", "based_on": "v6e", "spill_free_registers": 1000})", "is larger than \"vector_registers\" (64)"},
      {R"({"name": "x", "based_on": "v6e", "semaphore_memory_bytes": 1000, "semaphore_reserved_bytes": 2000})",
       "\"semaphore_reserved_bytes\" (2000) is larger than \"semaphore_memory_bytes\" (1000)"},
      {R"({"name": "x", "name": "y", "based_on": "v6e"})", "\"name\" stands twice"},
      {R"({"name": "x", "based_on": "v6e", "lanes": 128, "lanes": 256})", "\"lanes\" stands twice"},
      {R"({"name": "a\nb", "based_on": "v6e"})", "\"name\" has a control character in it"},
      {R"({"name": "\u001b[31m", "based_on": "v6e"})", "\"name\" has a control character in it"},
      {R"({"name": "x", "based_on": "v6e", "source": "a\rb"})", "\"source\" has a control character in it"},
      {R"({"name": "x", "based_on": "v6e", "device_kinds": ["a\tb"]})", "\"device_kinds\" has a control character"},
      {R"({"name": "x", "based_on": "v6e", "vmem_usable_byte": 1})", "did you mean \"vmem_usable_bytes\"?"},
      {R"({"name": "x", "based_on": "v6e", "lanes": 0})", "\"lanes\" is 0, expected an integer from 8 to 4096"},
      {R"({"name": "x", "based_on": "v6e", "lanes": 100})", "\"lanes\" must be a power of two"},
      {R"({"name": "x", "based_on": "v6e", "lanes": "128"})", "\"lanes\" is \"128\", expected an integer"},
      {R"({"name": "x", "based_on": "v6e", "clock_hz": 1.5})", "\"clock_hz\" is 1.5, expected an integer"},
      {R"({"name": "x", "based_on": "v6e", "hbm_bytes": 18446744073709551615})", "expected an integer from 1048576"},
      {R"({"name": "x", "based_on": "v6e", "vmem_usable_bytes": 1000000000})", "is larger than \"vmem_bytes\""},
      {R"({"name": "x", "based_on": "v6e", "matmul_types": ["f33"]})", "\"f33\", which is no element type"},
      {R"({"name": 3, "based_on": "v6e"})", "\"name\" must be a string"},
  };
  for (const auto& c : kCases) {
    try {
      parse_target(c.json, "my.json");
      ADD_FAILURE() << c.json << " was accepted";
    } catch (const InputError& e) {
      EXPECT_THAT(e.what(), HasSubstr(c.message)) << c.json;
      EXPECT_TRUE(e.where().starts_with("my.json")) << e.where();
    }
  }
  EXPECT_THROW(read_target("/nonexistent/target.json"), InputError);
}

}  // namespace
}  // namespace tilecheck
