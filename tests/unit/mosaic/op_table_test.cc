#include "sim/mosaic/op_table.h"

#include <gtest/gtest.h>

#include "sim/mosaic/attr_names.h"

namespace tilecheck::mosaic {
namespace {

TEST(OpTable, FindsEachOperationByItsName) {
  for (int i = 0; i < kOpCodeCount; ++i) {
    const OpInfo& row = info(static_cast<OpCode>(i));
    EXPECT_EQ(find_op(row.name), row.code) << row.name;
    EXPECT_LE(row.min_regions, row.max_regions) << row.name;
    EXPECT_TRUE(row.max_operands < 0 || row.min_operands <= row.max_operands) << row.name;
    EXPECT_TRUE(row.max_results < 0 || row.min_results <= row.max_results) << row.name;
    EXPECT_TRUE(row.effect != Effect::terminator || row.max_results == 0) << row.name;
    EXPECT_TRUE(row.effect != Effect::read || row.min_results == 1) << row.name;
  }
}

TEST(OpTable, KnowsNoOtherNames) {
  for (const char* name : {"", "arith", "arith.", "arith.addx", "tpu.matmul ", "stable_mosaic.arith.addf", "zzz.zzz"})
    EXPECT_EQ(find_op(name), OpCode::unknown) << name;
}

TEST(AttrNames, FindsEachNameAndNoOther) {
  for (int i = 0; i < static_cast<int>(AttrName::other); ++i) {
    const auto id = static_cast<AttrName>(i);
    EXPECT_EQ(find_attr_name(name(id)), id) << name(id);
  }
  for (const char* text : {"", "valu", "values", "zz"}) EXPECT_EQ(find_attr_name(text), AttrName::other) << text;
  EXPECT_EQ(find_attr_name("operandSegmentSizes"), AttrName::operand_segment_sizes);
  EXPECT_EQ(find_attr_name("stable_mosaic.version"), AttrName::stable_mosaic_version);
  EXPECT_EQ(find_attr_name("window_params"), AttrName::window_params);
}

}  // namespace
}  // namespace tilecheck::mosaic
