#include "harness/ranges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/types/error.h"

namespace tilecheck {
namespace {

using testing::HasSubstr;

struct Case {
  const char* text;
  std::vector<std::string> values;
};

TEST(Ranges, Expand) {
  for (const Case& c : std::initializer_list<Case>{
           {"64", {"64"}},
           {"64,128,64", {"64", "128"}},
           {"bf16,f32", {"bf16", "f32"}},
           {"128..1024*2", {"128", "256", "512", "1024"}},
           {"128..1000", {"128", "256", "512"}},
           {"1..100*10", {"1", "10", "100"}},
           {"64..256+64", {"64", "128", "192", "256"}},
           {"-2..2+2", {"-2", "0", "2"}},
           {"0..1+5", {"0"}},
           {"7..7", {"7"}},
           {"1,8..16,100..101+1", {"1", "8", "16", "100", "101"}},
           {"9223372036854775806..9223372036854775807+1", {"9223372036854775806", "9223372036854775807"}},
           {"4611686018427387904..9223372036854775807", {"4611686018427387904"}},
       })
    EXPECT_EQ(expand_ranges(c.text, ""), c.values) << c.text;
}

struct BadCase {
  const char *text, *what;
};

TEST(Ranges, Refuse) {
  for (const BadCase& c : std::initializer_list<BadCase>{
           {"", "missing"},
           {"1,,2", "missing"},
           {"1,", "missing"},
           {"2..1", "begins above its end"},
           {"1..x", "whole numbers"},
           {"..4", "whole numbers"},
           {"1..4*", "whole numbers"},
           {"1..4*1", "factor of at least 2"},
           {"1..4+0", "step of at least 1"},
           {"0..4", "begin at 1 or more"},
           {"1..99999999999+1", "more than 10000"},
           {"1..6000+1,7000..13000+1", "more than 10000"},
           {"1..99999999999999999999", "whole numbers"},
       }) {
    try {
      expand_ranges(c.text, "--set n=...");
      ADD_FAILURE() << c.text;
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), HasSubstr(c.what)) << c.text;
      EXPECT_EQ(error.where(), "--set n=...");
    }
  }
}

}  // namespace
}  // namespace tilecheck
