#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "sim/types/host_array.h"

namespace tilecheck {
namespace {

TEST(DTypes, EveryNameParsesToItsType) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(parse_dtype(info(dtype).name), dtype);
    EXPECT_EQ(parse_dtype(info(dtype).jax_name), dtype);
    EXPECT_EQ(parse_dtype(info(dtype).mlir_name), dtype);
    EXPECT_EQ(storage_bytes(dtype), (bits(dtype) + 7) / 8);
  }
  for (const char* text : {"", "f33", "F32", "float", "ui3", "f32 "}) EXPECT_FALSE(parse_dtype(text)) << text;
}

TEST(DTypes, TableRowsStandInTheOrderOfTheEnum) {
  EXPECT_EQ(name(DType::f64), "f64");
  EXPECT_EQ(name(DType::f4e2m1fn), "f4e2m1fn");
  EXPECT_EQ(name(DType::i2), "i2");
  EXPECT_EQ(name(DType::u2), "u2");
  EXPECT_EQ(name(DType::b1), "bool");
  EXPECT_EQ(name(DType::dma_semaphore), "dma_semaphore");
  EXPECT_TRUE(is_floating(DType::f8e8m0fnu) && is_signed_int(DType::i4) && is_unsigned_int(DType::u64));
  EXPECT_FALSE(is_int(DType::b1) || is_int(DType::semaphore) || is_floating(DType::i64));
}

TEST(Shapes, InsertEraseStridesAndText) {
  Shape shape{2, 3, 4};
  EXPECT_EQ(element_count(shape), 24);
  EXPECT_EQ(row_major_strides(shape), (Dims{12, 4, 1}));
  shape.insert(0, 7);
  shape.insert(4, 9);
  shape.insert(2, 8);
  EXPECT_EQ(shape, (Shape{7, 2, 8, 3, 4, 9}));
  shape.erase(5);
  shape.erase(0);
  shape.erase(1);
  EXPECT_EQ(shape, (Shape{2, 3, 4}));
  EXPECT_EQ(to_string(shape), "2x3x4");
  EXPECT_EQ(to_string(Shape{}), "");
  EXPECT_EQ(to_tuple(shape), "(2, 3, 4)");
  EXPECT_EQ(to_tuple(Shape{5}), "(5,)");
  EXPECT_EQ(to_tuple(Shape{}), "()");
  EXPECT_EQ(element_count(Shape{}), 1);
}

TEST(Shapes, CheckedCount) {
  EXPECT_EQ(checked_element_count(Shape{2, 3}, 4), 6);
  EXPECT_EQ(checked_element_count(Shape{}, 8), 1);
  EXPECT_EQ(checked_element_count(Shape{0, 5}), 0);
  EXPECT_EQ(checked_element_count(Shape{-1, 0}), -1);
  const int64_t big = int64_t{1} << 32;
  EXPECT_EQ(checked_element_count(Shape{big, big}), -1);
  EXPECT_EQ(checked_element_count(Shape{0, big, big}), -1);
  EXPECT_EQ(checked_element_count(Shape{big, big / 4}, 1), big * (big / 4));
  EXPECT_EQ(checked_element_count(Shape{big, big / 4}, 8), -1);
}

TEST(HostArrays, ZeroFilledAlignedAndShared) {
  HostArray a(DType::bf16, {3, 5});
  EXPECT_EQ(a.size(), 15);
  EXPECT_EQ(a.size_bytes(), 30);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(a.data()) % 64, 0u);
  for (int64_t i = 0; i < a.size(); ++i) EXPECT_EQ(a.at(i), 0);
  HostArray same = a, other = a.clone();
  a.set(4, 1.5);
  EXPECT_EQ(same.at(4), 1.5);
  EXPECT_EQ(other.at(4), 0);
  EXPECT_TRUE(HostArray(DType::f32, {0, 4}).has_value());
}

TEST(HostArrays, ViewKeepsItsOwnerAlive) {
  auto owner = std::make_shared<std::array<int32_t, 2>>(std::array<int32_t, 2>{7, 8});
  std::weak_ptr<void> watch = owner;
  HostArray a = HostArray::view(DType::i32, {2}, owner->data(), owner);
  owner.reset();
  EXPECT_EQ(a.at(1), 8);
  a = HostArray();
  EXPECT_TRUE(watch.expired());
}

TEST(HostArrays, Convert) {
  HostArray a(DType::f32, {3});
  a.set(0, 1.00390625 + 0.001);
  a.set(1, -1e9);
  a.set(2, std::nan(""));
  EXPECT_EQ(a.convert(DType::bf16).at(0), 1.0078125);
  EXPECT_EQ(a.convert(DType::i8).at(1), -128);
  EXPECT_EQ(a.convert(DType::i8).at(2), 0);
  EXPECT_TRUE(std::isnan(a.convert(DType::f64).at(2)));
}

TEST(HostArrays, ConvertKeepsEveryBitOf64BitIntegers) {
  HostArray a(DType::i64, {3});
  a.as<int64_t>()[0] = (int64_t{1} << 53) + 1;
  a.as<int64_t>()[1] = -5;
  a.as<int64_t>()[2] = std::numeric_limits<int64_t>::max();
  const HostArray u = a.convert(DType::u64);
  EXPECT_EQ(u.as<uint64_t>()[0], (uint64_t{1} << 53) + 1);
  EXPECT_EQ(u.as<uint64_t>()[1], 0u);
  HostArray big(DType::u64, {1});
  big.as<uint64_t>()[0] = std::numeric_limits<uint64_t>::max();
  EXPECT_EQ(big.convert(DType::i64).as<int64_t>()[0], std::numeric_limits<int64_t>::max());
  EXPECT_EQ(a.convert(DType::i64).as<int64_t>()[1], -5);
}

}  // namespace
}  // namespace tilecheck
