#include "sim/mosaic/backend_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels.h"
#include "sim/types/error.h"

namespace tilecheck::mosaic {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(BackendConfig, ReadsEveryKey) {
  const BackendConfig c =
      parse_backend_config(R"({"custom_call_config": {"body": "TUzvUg==", "has_communication": true, "collective_id": 7,
    "cost_estimate": {"flops": 1, "transcendentals": 2, "bytes_accessed": 3, "remote_bytes_transferred": 4}, "needs_hlo_passes": true,
    "serialization_format": 1, "needs_layout_passes": true, "shape_invariant_numerics": false, "allow_input_fusion": [true, false],
    "internal_scratch_in_bytes": 4096, "output_memory_space_colors": [{"color": 1, "shape_index": [2]}, {"color": 0}],
    "input_memory_space_colors": [{"operand_index": 3, "color": 1}], "disable_bounds_checks": true, "disable_semaphore_checks": true,
    "skip_device_barrier": true, "brand_new": 1}, "scoped_memory_configs": [{"memory_space": 1, "offset": 0, "size": 1048576}],
    "flag_configs": [{"flag_type": "XLA_FLAG", "value": {"boolean_value": true}}], "megachip_parallelism_config": {"cores": ["0"]}})",
                           "m");
  EXPECT_THAT(c.body, ElementsAre(0x4d, 0x4c, 0xef, 0x52));
  EXPECT_TRUE(c.has_communication && c.needs_hlo_passes && c.needs_layout_passes && c.disable_bounds_checks &&
              c.disable_semaphore_checks && c.skip_device_barrier);
  EXPECT_FALSE(c.shape_invariant_numerics);
  EXPECT_EQ(c.collective_id, 7);
  EXPECT_EQ(c.cost_estimate->flops, 1);
  EXPECT_EQ(c.cost_estimate->transcendentals, 2);
  EXPECT_EQ(c.cost_estimate->bytes_accessed, 3);
  EXPECT_EQ(c.cost_estimate->remote_bytes, 4);
  EXPECT_THAT(c.allow_input_fusion, ElementsAre(true, false));
  EXPECT_EQ(c.internal_scratch_bytes, 4096);
  ASSERT_EQ(c.output_spaces.size(), 2u);
  EXPECT_EQ(c.output_spaces[0].index, 2);
  EXPECT_EQ(c.output_spaces[0].color, 1);
  ASSERT_EQ(c.input_spaces.size(), 1u);
  EXPECT_EQ(c.input_spaces[0].index, 3);
  EXPECT_EQ(c.vmem_limit_bytes, 1048576);
  ASSERT_EQ(c.flags.size(), 1u);
  EXPECT_EQ(c.flags[0].second, "{\"boolean_value\":true}");
  EXPECT_THAT(c.unknown_keys, ElementsAre("custom_call_config.brand_new", "megachip_parallelism_config"));

  BackendConfig known = c;
  known.unknown_keys.clear();
  EXPECT_EQ(to_json(parse_backend_config(to_json(known), "again")), to_json(known));
}

TEST(BackendConfig, HasJaxsDefaults) {
  const BackendConfig c = parse_backend_config(R"({"custom_call_config": {"body": ""}})", "m");
  EXPECT_TRUE(c.shape_invariant_numerics);
  EXPECT_FALSE(c.has_communication || c.collective_id || c.cost_estimate || c.vmem_limit_bytes ||
               c.internal_scratch_bytes);
}

TEST(BackendConfig, RefusesOthers) {
  const auto call = [](const std::string& more) { return R"({"custom_call_config": {"body": "", )" + more + "}}"; };
  struct Case {
    std::string json;
    const char* message;
  };
  for (const Case& c :
       {Case{"", "no JSON at byte"},
        Case{"{", "no JSON at byte"},
        Case{"[1]", "`custom_call_config`"},
        Case{"{}", "`custom_call_config`"},
        Case{R"({"custom_call_config": 1})", "an object as `custom_call_config`"},
        Case{R"({"custom_call_config": {}})", "custom_call_config.body"},
        Case{R"({"custom_call_config": {"body": 1}})", "a string as `body`"},
        Case{R"({"custom_call_config": {"body": "TUz"}})", "base64 in groups of four"},
        Case{R"({"custom_call_config": {"body": "TU!vUg=="}})", "at offset 2"},
        Case{call(R"("collective_id": "x")"), "an integer as `collective_id`"},
        Case{call(R"("internal_scratch_in_bytes": -1)"), "a number of bytes as `internal_scratch_in_bytes`, found -1"},
        Case{R"({"custom_call_config": {"body": ""}, "scoped_memory_configs": [{"memory_space": 1, "size": -5}]})",
             "a number of bytes as `scoped_memory_configs.size`, found -5"},
        Case{call(R"("collective_id": 99999999999)"), "32-bit"},
        Case{call(R"("collective_id": 18446744073709551615)"), "an integer"},
        Case{call(R"("has_communication": 1)"), "true or false"},
        Case{call(R"("serialization_format": 2)"), "serialization_format 1, found 2"},
        Case{call(R"("cost_estimate": {"flops": 1.5})"), "an integer as `flops`"},
        Case{call(R"("allow_input_fusion": [1])"), "true or false"},
        Case{call(R"("input_memory_space_colors": [{"color": 1}])"), "operand_index"},
        Case{R"({"custom_call_config": {"body": ""}, "scoped_memory_configs": [{}]})", "memory_space and size"},
        Case{R"({"custom_call_config": {"body": ""}, "device_type": "DEVICE_TYPE_SPARSECORE"})", "SparseCore"},
        Case{R"({"custom_call_config": {"body": ""}, "sparse_core_config": {}})", "SparseCore"},
        Case{"{\"custom_call_config\": " + std::string(100000, '['), "nested deeper than 64"},
        Case{"{\"custom_call_config\": \"\xff\"}", "no JSON"}})
    EXPECT_THAT(message_of([&] { parse_backend_config(c.json, "m"); }), HasSubstr(c.message)) << c.json.substr(0, 80);
  EXPECT_THROW(parse_backend_config(R"({"custom_call_config": {"body": ""}, "sparse_core_config": {}})", "m"),
               Incomplete);
}

TEST(Base64, RoundTripsEveryLength) {
  std::vector<uint8_t> bytes;
  for (int n = 0; n < 50; ++n) {
    EXPECT_EQ(decode_base64(encode_base64(bytes), "b"), bytes);
    bytes.push_back(static_cast<uint8_t>(n * 37));
  }
  for (const char* text : {"A", "AA", "AAA", "AA=A", "A===", "====", "AAAA=", "AA==AA==", "AAA\n"})
    EXPECT_THAT(message_of([&] { decode_base64(text, "b"); }), HasSubstr("expected base64")) << text;
}

}  // namespace
}  // namespace tilecheck::mosaic
