#include "sim/io/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "sim/io/array_file.h"
#include "sim/io/file.h"
#include "sim/types/error.h"
#include "tests/unit/io/temp_dir.h"

namespace tilecheck {
namespace {

using testing::HasSubstr;

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

// A .npy file with the given header text; version 1 unless told otherwise.
std::string npy(const std::string& dictionary, const std::string& data, char version = 1) {
  std::string file = std::string("\x93NUMPY") + version + '\0';
  const size_t n = dictionary.size();
  file += static_cast<char>(n & 0xff);
  file += static_cast<char>(n >> 8);
  if (version > 1) file += std::string(2, '\0');
  return file + dictionary + data;
}

std::string npy(const std::string& descr, const std::string& shape, const std::string& data, bool fortran) {
  return npy(
      "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': " + shape + ", }\n",
      data);
}

std::vector<double> values(const HostArray& array) {
  std::vector<double> out;
  for (int64_t i = 0; i < array.size(); ++i) out.push_back(array.at(i));
  return out;
}

struct DescrCase {
  const char* descr;
  std::optional<DType> wanted;
  std::string data;
  DType dtype;
  std::vector<double> values;
};

TEST(Npy, Types) {
  const std::string two("\0\0\x80\x3f\0\0\0\xc0", 8);
  for (const DescrCase& c : std::initializer_list<DescrCase>{
           {"<f4", {}, two, DType::f32, {1, -2}},
           {"<f4", DType::f32, two, DType::f32, {1, -2}},
           {"<f8", {}, std::string("\0\0\0\0\0\0\xf0\x3f", 8), DType::f64, {1}},
           {"<f2", {}, std::string("\0\x3c", 2), DType::f16, {1}},
           {"<V2", DType::bf16, std::string("\x80\x3f\x00\xc0", 4), DType::bf16, {1, -2}},
           {"|V2", DType::bf16, std::string("\x80\x3f", 2), DType::bf16, {1}},
           {"<V1", DType::f8e4m3fn, "\x38", DType::f8e4m3fn, {1}},
           {"|V1", DType::f8e5m2, "\x3c", DType::f8e5m2, {1}},
           {"<f1", {}, "\x3c", DType::f8e5m2, {1}},
           {"<V1", DType::i4, std::string("\x0f\x07\xff\x08", 4), DType::i4, {-1, 7, -1, -8}},
           {"<V1", DType::i2, std::string("\x03\x01", 2), DType::i2, {-1, 1}},
           {"<V1", DType::u4, "\x0f", DType::u4, {15}},
           {"<V1", DType::f4e2m1fn, "\x07", DType::f4e2m1fn, {6}},
           {"|i1", DType::i4, std::string("\xf8\x07", 2), DType::i4, {-8, 7}},
           {"|u1", DType::u2, "\x03", DType::u2, {3}},
           {"|b1", {}, std::string("\0\1\2", 3), DType::b1, {0, 1, 1}},
           {"|i1", {}, "\xff", DType::i8, {-1}},
           {"<u2", {}, "\xff\xff", DType::u16, {65535}},
           {"<i4", DType::semaphore, std::string("\5\0\0\0", 4), DType::semaphore, {5}},
           {"<i8", {}, std::string(8, '\xff'), DType::i64, {-1}},
       }) {
    const auto count = static_cast<int64_t>(c.values.size());
    const HostArray array =
        parse_npy(bytes_of(npy(c.descr, "(" + std::to_string(count) + ",)", c.data, false)), "x.npy", c.wanted);
    EXPECT_EQ(array.dtype(), c.dtype) << c.descr;
    EXPECT_EQ(array.shape(), Shape{count}) << c.descr;
    EXPECT_EQ(values(array), c.values) << c.descr << " " << name(c.dtype);
  }
}

TEST(Npy, FortranOrderIsTransposed) {
  // Element (i, j, k) of shape (2, 3, 2) has the value 6 i + 2 j + k.
  std::string data;
  for (char k = 0; k < 2; ++k)
    for (char j = 0; j < 3; ++j)
      for (char i = 0; i < 2; ++i) data += static_cast<char>(6 * i + 2 * j + k);
  const HostArray array = parse_npy(bytes_of(npy("|u1", "(2, 3, 2)", data, true)), "x.npy");
  EXPECT_EQ(array.shape(), (Shape{2, 3, 2}));
  EXPECT_EQ(values(array), (std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
}

TEST(Npy, OtherSpellings) {
  const std::string one("\0\0\x80\x3f", 4);
  EXPECT_EQ(parse_npy(bytes_of(npy("{\"shape\":(1,),\"descr\":\"<f4\",\"fortran_order\":False}", one)), "x").at(0), 1);
  EXPECT_EQ(parse_npy(bytes_of(npy("{'descr':'<f4','fortran_order':False,'shape':()}  ", one, 2)), "x").shape(),
            Shape{});
  EXPECT_EQ(parse_npy(bytes_of(npy("{'descr':'<f4','fortran_order':False,'shape':(1L, 1)}", one, 3)), "x").shape(),
            (Shape{1, 1}));
  EXPECT_EQ(parse_npy(bytes_of(npy("<f4", "(0, 9)", "", true)), "x").size(), 0);
}

struct BadCase {
  std::string file;
  const char* where;
  const char* what;
  std::optional<DType> wanted;
};

TEST(Npy, BadFiles) {
  const auto plain = [](const std::string& shape, size_t bytes) {
    return npy("<f4", shape, std::string(bytes, 'x'), false);
  };
  const auto header = [](const std::string& text) { return npy(text, std::string(4, 'x')); };
  for (const BadCase& c : std::initializer_list<BadCase>{
           {"", "x.npy, offset 0", "begins with", {}},
           {"PK\3\4zzzzzzzzzzzz", "x.npy, offset 0", "begins with", {}},
           {"\x93NUMPY", "x.npy, offset 6", "ends within", {}},
           {npy("{}", "", 4), "x.npy, offset 6", "version 4.0", {}},
           {npy("{}", "").substr(0, 11), "x.npy, offset 8", "header of 2 bytes; expected at most 1", {}},
           {std::string("\x93NUMPY\2\0\xff\xff\xff\xff{}", 14), "offset 8", "header of 4294967295 bytes", {}},
           {header("{}"), "offset 10", "without 'descr'", {}},
           {header("{'descr': '<f4', 'fortran_order': False}"), "offset 10", "without 'shape'", {}},
           {header("{'descr': '<f4', 'descr': '<f4'}"), "offset 27", "repeated key 'descr'", {}},
           {header("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}"), "offset 20", "structured", {}},
           {header("{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}"), "offset 44", "True or False", {}},
           {header("{'descr': '<f4"), "offset 20", "without an end", {}},
           {header("{'descr': '>f4', 'fortran_order': False, 'shape': (1,)}"), "offset 20", "big-endian", {}},
           {header("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}"), "offset 20", "is not known", {}},
           {header("{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}"), "offset 20", "is not known", {}},
           {header("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}"), "offset 61", "not negative", {}},
           {header("{'descr': '<f4', 'fortran_order': False, 'shape': (1)}"), "offset 62", "','", {}},
           {header("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x"), "offset 66", "only spaces", {}},
           {plain("(99999999999999999999,)", 4), "offset 61", "beyond 64 bits", {}},
           {plain("(4294967296, 4294967296)", 4), "offset 10", "64 bits", {}},
           {plain("(0, 4294967296, 4294967296)", 0), "offset 10", "64 bits", {}},
           {plain("(1,1,1,1,1,1,1,1,1,1,1)", 4), "offset 81", "at most 10 dimensions", {}},
           {plain("(2,)", 7), "offset 68", "expected 8 bytes of data for shape (2,) of '<f4', found 7", {}},
           {plain("(2,)", 9), "offset 68", "found 9", {}},
           {plain("(1000000000000,)", 8), "offset 80", "expected 4000000000000 bytes", {}},
           {plain("(1,)", 4), "x.npy", "holds '<f4' (float32); expected bfloat16", DType::bf16},
           {npy("<V2", "(1,)", "xx", false), "x.npy", "give the type (--dtype NAME)", {}},
           {npy("<V2", "(1,)", "xx", false), "x.npy", "expected float32", DType::f32},
           {npy("|i1", "(2,)", std::string("\x01\x08", 2), false), "x.npy", "element 1 is outside the range of int4",
            DType::i4},
       }) {
    try {
      parse_npy(bytes_of(c.file), "x.npy", c.wanted);
      ADD_FAILURE() << "accepted: " << c.what;
    } catch (const InputError& error) {
      EXPECT_THAT(error.where(), HasSubstr(c.where)) << error.what();
      EXPECT_THAT(error.what(), HasSubstr(c.what));
    }
  }
}

TEST(Npy, HeaderIsNumpysOwn) {
  // Byte for byte what numpy 2.4 with ml_dtypes 0.6 writes.
  const auto expected = [](const std::string& text) {
    return std::string("\x93NUMPY\x01\x00v\x00", 10) + text + std::string(117 - text.size(), ' ') + "\n";
  };
  const auto two_by_three = [&](const std::string& descr) {
    return expected("{'descr': '" + descr + "', 'fortran_order': False, 'shape': (2, 3), }");
  };
  EXPECT_EQ(npy_header(DType::f32, {}), expected("{'descr': '<f4', 'fortran_order': False, 'shape': (), }"));
  EXPECT_EQ(npy_header(DType::f32, {7}), expected("{'descr': '<f4', 'fortran_order': False, 'shape': (7,), }"));
  struct Row {
    DType dtype;
    const char* descr;
  };
  for (const Row& row : std::initializer_list<Row>{{DType::bf16, "<V2"},
                                                   {DType::f16, "<f2"},
                                                   {DType::f8e4m3fn, "<V1"},
                                                   {DType::f8e5m2, "<V1"},
                                                   {DType::f4e2m1fn, "<V1"},
                                                   {DType::i4, "<V1"},
                                                   {DType::u2, "<V1"},
                                                   {DType::i8, "|i1"},
                                                   {DType::u64, "<u8"},
                                                   {DType::b1, "|b1"},
                                                   {DType::f64, "<f8"},
                                                   {DType::semaphore, "<i4"}})
    EXPECT_EQ(npy_header(row.dtype, {2, 3}), two_by_three(row.descr)) << name(row.dtype);
  // Room for the first dimension to grow, as numpy leaves it.
  EXPECT_EQ(npy_header(DType::f32, Shape(Dims::filled(8, 1000))).size(), 192u);
}

TEST(Npy, WrittenFilesComeBack) {
  const TempDir dir;
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    HostArray array(dtype, {3, 5});
    for (int64_t j = 0; j < array.size(); ++j)
      array.set(j, static_cast<double>(j % 4) - (is_signed_int(dtype) ? 2 : 0));
    write_npy(dir / "x.npy", array);
    const HostArray back = read_npy(dir / "x.npy", dtype);
    EXPECT_EQ(back.shape(), array.shape());
    EXPECT_EQ(std::memcmp(back.data(), array.data(), static_cast<size_t>(array.size_bytes())), 0) << name(dtype);
  }
  EXPECT_EQ(dir.count_entries(), 1);
  // ml_dtypes stores int4 as the bits alone.
  HostArray minus_one(DType::i4, {1});
  minus_one.set(0, -1);
  write_npy(dir / "x.npy", minus_one);
  EXPECT_EQ(read_file(dir / "x.npy").back(), '\x0f');
}

TEST(Npy, LongHeadersAndVersion2FromDisk) {
  const TempDir dir;
  const std::string dictionary = "{'descr': '|u1', 'fortran_order': False, 'shape': (2,)}";
  for (const char version : {char{1}, char{2}})
    for (size_t spaces : {0, 450, 60000}) {
      write_file(dir / "x.npy", npy(dictionary + std::string(spaces, ' '), "\1\2", version));
      EXPECT_EQ(values(read_array(dir / "x.npy")), (std::vector<double>{1, 2})) << int{version} << " " << spaces;
    }
}

TEST(Npy, FilesThatCannotBeRead) {
  const TempDir dir;
  EXPECT_THROW(read_npy(dir / "missing.npy"), InputError);
  EXPECT_THROW(read_npy(dir / ""), InputError);
  EXPECT_THROW(read_npy("/dev/zero"), InputError);
}

}  // namespace
}  // namespace tilecheck
