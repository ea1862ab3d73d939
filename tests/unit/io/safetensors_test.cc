#include "sim/io/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/io/array_file.h"
#include "sim/io/file.h"
#include "sim/types/error.h"
#include "tests/unit/io/temp_dir.h"

namespace tilecheck {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string file_of(const std::string& header, const std::string& data) {
  std::string file;
  for (int i = 0; i < 8; ++i) file += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return file + header + data;
}

HostArray parse(const std::string& file, const std::string& tensor, std::optional<DType> dtype = {}) {
  return parse_safetensors(std::as_bytes(std::span(file)), "x.safetensors", tensor, dtype);
}

const std::string kGood = file_of(
    R"({"__metadata__":{"format":"pt"},"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]},)"
    R"("a":{"dtype":"BF16","shape":[1,2],"data_offsets":[0,4]}, "e":{"dtype":"I8","shape":[0],"data_offsets":[4,4]}}  )",
    std::string("\x80\x3f\x00\xc0\0\0\x80\x3f\0\0\0\xc0", 12));

TEST(Safetensors, ReadsNamedTensors) {
  const HostArray a = parse(kGood, "a"), b = parse(kGood, "b", DType::f32);
  EXPECT_EQ(a.dtype(), DType::bf16);
  EXPECT_EQ(a.shape(), (Shape{1, 2}));
  EXPECT_EQ(a.at(1), -2);
  EXPECT_EQ(b.at(0), 1);
  EXPECT_EQ(b.at(1), -2);
  EXPECT_EQ(parse(kGood, "e", DType::i4).size(), 0);
}

TEST(Safetensors, FromDisk) {
  const TempDir dir;
  write_file(dir / "m.safetensors", kGood);
  EXPECT_THAT(list_safetensors(dir / "m.safetensors"), ElementsAre("b", "a", "e"));
  EXPECT_EQ(read_array(dir / "m.safetensors:a").at(0), 1);
  EXPECT_THROW(read_array(dir / "m.safetensors"), InputError);
}

struct BadCase {
  std::string file;
  const char* what;
};

TEST(Safetensors, BadFiles) {
  const auto with = [](const std::string& entry) { return file_of("{\"a\":" + entry + "}", "1234"); };
  for (const BadCase& c : std::initializer_list<BadCase>{
           {"", "ends within the header length"},
           {"1234567", "ends within the header length"},
           {std::string(8, '\xff'), "expected at most 0"},
           {file_of("{", ""), "offset 9: header is not valid JSON"},
           {file_of("[]", ""), "not a JSON object"},
           {file_of("3", ""), "not a JSON object"},
           {file_of(std::string(100000, '['), ""), "not a JSON object"},
           {file_of("{\"x\":" + std::string(100000, '['), ""), "not a JSON object"},
           {file_of("{\"b\":{},\"c\":{}}", ""), "no tensor 'a'; it has 'b', 'c'"},
           {file_of("{}", ""), "no tensor 'a'; it has none"},
           {file_of("{\"a\":{},\"a\":{}}", ""), "twice"},
           {with("3"), "expected an object"},
           {with("{}"), "expected \"dtype\""},
           {with(R"({"dtype":"F4","shape":[1],"data_offsets":[0,4]})"), "type 'F4' is not known"},
           {with(R"({"dtype":"F32","shape":3,"data_offsets":[0,4]})"), "expected \"shape\""},
           {with(R"({"dtype":"F32","shape":[-1],"data_offsets":[0,4]})"),
            "shape [-1]; expected integers of at least 0"},
           {with(R"({"dtype":"F32","shape":[1024.0],"data_offsets":[0,4]})"), "shape [1024.0]; expected integers"},
           {with(R"({"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,4]})"),
            "shape [18446744073709551615]; expected integers"},
           {with(R"({"dtype":"F32","shape":[1]})"), "expected \"data_offsets\""},
           {with(R"({"dtype":"F32","shape":[1],"data_offsets":[0,5]})"), "lie within the 4 bytes"},
           {with(R"({"dtype":"F32","shape":[1],"data_offsets":[4,0]})"), "lie within the 4 bytes"},
           {with(R"({"dtype":"F32","shape":[1],"data_offsets":[18446744073709551616,4]})"),
            "data_offsets [1.8446744073709552e+19,4]"},
           {with(R"({"dtype":"F32","shape":[1],"data_offsets":[0,18446744073709551615]})"),
            "data_offsets [0,18446744073709551615]"},
           {with(R"({"dtype":"F32","shape":[2],"data_offsets":[0,4]})"), "expected 8 for shape (2,) of F32"},
           {with(R"({"dtype":"I32","shape":[1],"data_offsets":[0,4]})"), "holds 'I32' (int32); expected float32"},
       }) {
    try {
      parse(c.file, "a", DType::f32);
      ADD_FAILURE() << "accepted: " << c.what;
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), HasSubstr(c.what));
      EXPECT_THAT(error.what(), HasSubstr("x.safetensors"));
    }
  }
}

}  // namespace
}  // namespace tilecheck
