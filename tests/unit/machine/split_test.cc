// How the grid is shared by the cores of one device.
#include "sim/machine/split.h"

#include <gtest/gtest.h>

#include <string>

namespace tilecheck {
namespace {

KernelSpec grid_of(const Dims& grid, const std::string& semantics) {
  KernelSpec spec;
  spec.grid = grid;
  for (const char c : semantics) spec.semantics.push_back(c == 'p' ? Semantics::parallel : Semantics::arbitrary);
  return spec;
}

// "00 01 | 10 11": the steps of each core.
std::string steps(const Dims& grid, const std::string& semantics, int cores, CoreSplit split) {
  std::string text;
  const std::vector<GridPart> parts = split_over_cores(grid_of(grid, semantics), cores, split);
  for (const GridPart& part : parts) {
    if (&part != &parts.front()) text += " |";
    for (int64_t k = 0; k < part.step_count(); ++k) {
      text += text.empty() ? "" : " ";
      for (const int64_t i : part.at(k, grid)) text += std::to_string(i);
    }
  }
  return text;
}

TEST(Split, Megacore) {
  const auto megacore = [](const Dims& grid, const std::string& s, int cores = 2) {
    return steps(grid, s, cores, CoreSplit::megacore);
  };
  EXPECT_EQ(megacore({4}, "p"), "0 1 | 2 3");
  EXPECT_EQ(megacore({3}, "p"), "0 1 | 2 0");  // the surplus begins again
  EXPECT_EQ(megacore({3, 2}, "pp"), "00 10 20 | 01 11 21");
  // What is arbitrary is never divided: both its steps belong to one core.
  EXPECT_EQ(megacore({1, 1, 2}, "ppa"), "000 001 | 000 001");
  EXPECT_EQ(megacore({3, 2}, "pa"), "00 01 10 11 | 20 21 00 01");
  EXPECT_EQ(megacore({2, 3}, "ap"), "00 01 02 10 11 12 |");
  EXPECT_EQ(megacore({4}, "a"), "0 1 2 3 |");
  EXPECT_EQ(megacore({4, 2}, "pa", 3), "00 01 10 11 | 20 21 30 31 | 00 01 10 11");
}

TEST(Split, Jax) {
  const auto jax = [](const Dims& grid, const std::string& s, int cores = 2) {
    return steps(grid, s, cores, CoreSplit::jax);
  };
  EXPECT_EQ(jax({3}, "p"), "0 1 | 2");
  EXPECT_EQ(jax({3, 2}, "pp"), "00 01 10 | 11 20 21");
  EXPECT_EQ(jax({3, 2}, "pa"), "00 01 10 11 | 20 21");
  EXPECT_EQ(jax({2, 3}, "ap"), "00 01 02 10 11 12 |");
}

}  // namespace
}  // namespace tilecheck
