#include "harness/source.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <source_location>

namespace tilecheck {
namespace {

TEST(Source, FunctionsAreShownByTheirNames) {
  const std::pair<const char*, const char*> kCases[] = {
      {"void tilecheck::{anonymous}::Flawed::work(tilecheck::Core&, const tilecheck::Refs&, int64_t) const",
       "Flawed::work"},
      {"tilecheck::KernelCase tilecheck::{anonymous}::make(const tilecheck::ParamValues&)", "make"},
      {"tilecheck::{anonymous}::body_for(int64_t, int64_t)::<lambda(tilecheck::Core&, std::span<const Ref>)>",
       "body_for"},
      {"void tilecheck::{anonymous}::Flawed::operator()(tilecheck::Core&, std::span<const tilecheck::Ref>) const",
       "Flawed"},
      {"square_plus_1(Core&, std::span<const Ref>)::<lambda()>", "square_plus_1"},
      {"std::vector<std::pair<int, float> > mine::deep::Class::f(T) [with T = int]", "Class::f"},
      {"T* mine::g()", "mine::g"},
      {"int main()", "main"},
      {"body", "body"},  // Python's
      {"outer.<locals>.body", "outer.<locals>.body"},
      {"", ""},
  };
  for (const auto& [given, shown] : kCases) EXPECT_EQ(shown_function(given), shown) << given;
}

struct Here {
  std::string operator()() const {
    return [] { return shown_function(std::source_location::current().function_name()); }();
  }
  std::string name() const { return shown_function(std::source_location::current().function_name()); }
};

TEST(Source, FunctionsAreShownByTheNamesThatThisCompilerGives) {
  EXPECT_EQ(Here().name(), "Here::name");
  EXPECT_EQ(Here()(), "Here");
}

TEST(Source, AFileNamedFromABuildFolderIsFoundFromTheFolderAroundIt) {
  namespace fs = std::filesystem;
  const fs::path before = fs::current_path(), project = fs::path(testing::TempDir()) / "source_test_project";
  fs::create_directories(project / "kernels");
  std::ofstream(project / "kernels/only_here.cc") << "first\nsecond\n";
  fs::current_path(project);
  EXPECT_EQ(source_line("../kernels/only_here.cc", 2), "second");
  EXPECT_EQ(shown_file("../kernels/only_here.cc"), "kernels/only_here.cc");
  EXPECT_FALSE(source_line("../kernels/absent.cc", 1));
  EXPECT_EQ(shown_file("../kernels/absent.cc"), "../kernels/absent.cc");
  fs::current_path(before);
  fs::remove_all(project);
}

}  // namespace
}  // namespace tilecheck
