#include "sim/spec/planned_traffic.h"

#include <gtest/gtest.h>

#include "sim/spec/traffic.h"

namespace tilecheck {
namespace {

using Map = std::function<Indices(std::span<const Index>)>;

Window window(Shape array, BlockShape block, const Map& map, Revisit revisit = Revisit::immediate) {
  Window w;
  w.name = "w";
  w.array = array;
  w.block = std::move(block);
  w.index = IndexMap([map](std::span<const Index> grid, const PrefetchRefs&) { return map(grid); });
  w.revisit = revisit;
  return w;
}

// Three dimensions are enough for outer, middle and inner ones of each kind. Blocks of 8 rows of 20 (the last is cut)
// or of elements, so that bytes differ from block to block.
const Map kMaps[] = {
    [](std::span<const Index>) {
      return Indices{0, 0};
    },
    [](std::span<const Index> g) {
      return Indices{g[0], 0};
    },
    [](std::span<const Index> g) {
      return Indices{g[1], 0};
    },
    [](std::span<const Index> g) {
      return Indices{g[2], 0};
    },
    [](std::span<const Index> g) {
      return Indices{g[0], g[2]};
    },
    [](std::span<const Index> g) {
      return Indices{g[2], g[0]};
    },
    [](std::span<const Index> g) {
      return Indices{g[1] + g[2], g[0]};
    },
    [](std::span<const Index> g) {
      return Indices{min(g[1], g[2]), g[0]};
    },
    [](std::span<const Index> g) {
      return Indices{g[0] / 2, g[1] % 2};
    },
    [](std::span<const Index> g) {
      return Indices{g[0] * g[1] * g[2], 0};
    },
    [](std::span<const Index> g) {
      return Indices{g[1] - 1, g[2] + 7};
    },  // partly outside
};

TEST(PlannedTraffic, CountsWhatAWalkCounts) {
  int compared = 0;
  for (const Dims& grid : {Dims{1, 1, 1}, Dims{3, 2, 4}, Dims{1, 3, 1}, Dims{4, 1, 2}, Dims{2, 3, 0}, Dims{2, 5, 3}})
    for (const Map& in : kMaps)
      for (const Map& out : {kMaps[0], kMaps[2], kMaps[4], kMaps[7]})
        for (const Revisit revisit : {Revisit::immediate, Revisit::any}) {
          KernelSpec spec;
          spec.name = "test";
          spec.grid = grid;
          spec.in = {window({20, 40}, {8, 8}, in), window({20, 40}, {BlockDim::element(5, 2, 3), 8}, in)};
          spec.out = {window({20, 40}, {8, 8}, out, revisit)};
          const std::vector<WindowCounters> walked = count_traffic(spec, GridPart::whole(grid), nullptr);
          const auto planned = planned_traffic(spec, nullptr, 1 << 20);
          ASSERT_TRUE(planned);
          for (size_t i = 0; i < walked.size(); ++i) {
            const WindowCounters &a = walked[i], &b = (*planned)[i];
            EXPECT_EQ(a.fetches, b.fetches) << to_string(grid) << " window " << i;
            EXPECT_EQ(a.write_backs, b.write_backs) << to_string(grid) << " window " << i;
            EXPECT_EQ(a.moved_bytes, b.moved_bytes) << to_string(grid) << " window " << i;
            EXPECT_EQ(a.minimum_bytes, b.minimum_bytes) << to_string(grid) << " window " << i;
            ++compared;
          }
        }
  EXPECT_GT(compared, 1000);
}

TEST(PlannedTraffic, LargeGridsTakeWhatTheirMapsUse) {
  KernelSpec spec;
  spec.name = "test";
  spec.grid = {1000, 1000, 1000};
  spec.in = {window({8000, 8}, {8, 8}, kMaps[1])};
  spec.out = {window({8000, 8}, {8, 8}, kMaps[3])};
  const auto planned = planned_traffic(spec, nullptr, 10000);
  ASSERT_TRUE(planned);
  EXPECT_EQ((*planned)[0].fetches, 1000);
  EXPECT_EQ((*planned)[1].write_backs, 1000000000);
  EXPECT_EQ((*planned)[1].minimum_bytes, int64_t{8000} * 8 * 4);
  EXPECT_FALSE(planned_traffic(spec, nullptr, 1000));
  spec.in = {window({8000, 8}, {8, 8}, kMaps[6])};
  EXPECT_FALSE(planned_traffic(spec, nullptr, 10000));
}

}  // namespace
}  // namespace tilecheck
