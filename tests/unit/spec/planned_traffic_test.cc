#include "sim/spec/planned_traffic.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

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

void expect_equal(const WindowCounters& planned, const WindowCounters& walked) {
  EXPECT_EQ(planned.fetches, walked.fetches);
  EXPECT_EQ(planned.write_backs, walked.write_backs);
  EXPECT_EQ(planned.moved_bytes, walked.moved_bytes);
  EXPECT_EQ(planned.minimum_bytes, walked.minimum_bytes);
}

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
          const std::vector<WindowCounters> walked = *count_traffic(spec, GridPart::whole(grid), nullptr);
          const auto planned = planned_traffic(spec, nullptr, 1 << 20);
          ASSERT_TRUE(planned.complete());
          for (size_t i = 0; i < walked.size(); ++i) {
            SCOPED_TRACE(to_string(grid) + " window " + std::to_string(i));
            expect_equal(planned.windows[i], walked[i]);
            ++compared;
          }
        }
  EXPECT_GT(compared, 1000);
}

// Elements of a prefetch operand: any small numbers.
class Numbers : public PrefetchReader {
 public:
  int64_t read(int operand, const Dims& index) const override {
    int64_t n = operand + 1;
    for (int64_t i : index) n = n * 7 + i;
    return n % 4;
  }
};

// A random expression over grid coordinates, of every form that a map may have: arithmetic that folds and that does
// not, choices by `select` and by a branch of the map's own, and prefetch reads.
using Expression = std::function<Index(std::span<const Index>, const PrefetchRefs&)>;
Expression random_expression(std::mt19937_64& random, int axes, int depth) {
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<uint64_t>(n)); };
  if (depth == 0 || pick(4) == 0) {
    const int axis = pick(axes), constant = pick(3);
    if (pick(4) == 0) return [=](std::span<const Index>, const PrefetchRefs&) { return Index(constant); };
    return [=](std::span<const Index> g, const PrefetchRefs&) { return g[static_cast<size_t>(axis)]; };
  }
  const Expression a = random_expression(random, axes, depth - 1), b = random_expression(random, axes, depth - 1);
  const Expression c = random_expression(random, axes, depth - 1);
  const int constant = 1 + pick(3), kind = pick(11);
  return [=](std::span<const Index> g, const PrefetchRefs& p) -> Index {
    switch (kind) {
      case 0:
        return a(g, p) + b(g, p);
      case 1:
        return a(g, p) - b(g, p);
      case 2:
        return a(g, p) * constant;
      case 3:
        return a(g, p) / constant;
      case 4:
        return a(g, p) % constant;
      case 5:
        return min(a(g, p), b(g, p));
      case 6: {
        const Index condition = a(g, p);
        return select(condition.value() > constant, condition, b(g, p), c(g, p));
      }
      case 7:  // a way of the map's own, which arithmetic does not see
        return int64_t{a(g, p)} >= constant ? b(g, p) : c(g, p);
      case 8:
        return p(0, a(g, p));
      case 9:
        return select(less(a(g, p), b(g, p)), b(g, p), c(g, p));
      default:  // what is read at a plain address shows nowhere
        return Index(p.at(1, {a(g, p).value()}));
    }
  };
}

// What is moved, counted step by step from the map alone.
WindowCounters counted(const Window& w, const Dims& grid, bool is_output, const PrefetchReader* prefetch) {
  WindowCounters c;
  std::set<std::vector<int64_t>> seen;
  std::vector<int64_t> previous;
  for (int64_t k = 0; k < element_count(grid); ++k) {
    const Dims step = GridPart::whole(grid).at(k, grid);
    std::array<Index, kMaxRank> at;
    for (int i = 0; i < grid.rank(); ++i) at[static_cast<size_t>(i)] = Index::grid(i, step[i]);
    const Indices indices = w.index({at.data(), static_cast<size_t>(grid.rank())}, PrefetchRefs(prefetch));
    std::vector<int64_t> block;
    bool is_inside = true;
    int64_t elements = 1;
    for (int d = 0; d < w.array.rank(); ++d) {
      const BlockDim& b = w.block[static_cast<size_t>(d)];
      const bool counts_elements = b.kind == BlockDim::Kind::element;
      block.push_back(indices.values[static_cast<size_t>(d)].value());
      const int64_t origin = counts_elements ? block.back() - b.pad_lo : block.back() * b.size;
      const int64_t blocks =
          counts_elements ? w.array[d] + b.pad_lo + b.pad_hi + 1 : (w.array[d] + b.size - 1) / b.size;
      is_inside = is_inside && block.back() >= 0 && block.back() < blocks;
      elements *= std::max<int64_t>(0, std::min(origin + b.size, w.array[d]) - std::max<int64_t>(origin, 0));
    }
    if (k > 0 && block == previous) continue;
    previous = block;
    const int64_t bytes = (elements * bits(w.dtype) + 7) / 8;
    const bool loads = !is_output || w.revisit == Revisit::any;
    c.fetches += loads;
    c.write_backs += is_output;
    c.moved_bytes += bytes * (int{loads} + int{is_output});
    if (!is_inside || seen.insert(block).second) c.minimum_bytes += bytes;
  }
  return c;
}

TEST(PlannedTraffic, RandomMapsAndGridsAreCountedAsStepByStep) {
  const Numbers numbers;
  constexpr DType kTypes[] = {DType::f32, DType::bf16, DType::i8, DType::i4};
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto pick = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
    KernelSpec spec;
    spec.name = "test";
    const auto axes = static_cast<int>(1 + pick(4));
    for (int i = 0; i < axes; ++i) spec.grid.push_back(1 + pick(axes < 3 ? 12 : 5));
    for (int i = 0; i < 2; ++i) {
      Window w;
      w.name = "w";
      w.dtype = kTypes[pick(4)];
      std::vector<Expression> indices;
      for (int64_t d = 0, rank = 1 + pick(4); d < rank; ++d) {
        w.array.push_back(1 + pick(19));
        const int64_t kind = pick(4), size = 1 + pick(7);
        w.block.push_back(kind == 0   ? BlockDim::squeezed()
                          : kind == 1 ? BlockDim::element(size, 2, 3)
                                      : BlockDim(size));
        indices.push_back(random_expression(random, axes, static_cast<int>(pick(4))));
      }
      w.index = IndexMap([indices](std::span<const Index> g, const PrefetchRefs& p) {
        Indices all;
        for (const Expression& e : indices) all.values[static_cast<size_t>(all.rank++)] = e(g, p);
        return all;
      });
      if (i == 1 && pick(4) == 0) w.revisit = Revisit::any;
      (i == 0 ? spec.in : spec.out).push_back(std::move(w));
    }
    const auto planned = planned_traffic(spec, &numbers, 1 << 20);
    ASSERT_TRUE(planned.complete());
    const std::vector<WindowCounters> walked = *count_traffic(spec, GridPart::whole(spec.grid), &numbers);
    for (size_t i = 0; i < 2; ++i) {
      const Window& w = i == 0 ? spec.in[0] : spec.out[0];
      const WindowCounters expected = counted(w, spec.grid, i == 1, &numbers);
      SCOPED_TRACE("grid " + to_string(spec.grid) + " window " + std::to_string(i));
      {
        SCOPED_TRACE("planned");
        expect_equal(planned.windows[i], expected);
      }
      SCOPED_TRACE("walked");
      expect_equal(walked[i], expected);
    }
  }
}

TEST(PlannedTraffic, AWayThatOnlyOneStepTakesIsSeen) {
  KernelSpec spec;
  spec.name = "test";
  spec.grid = {2, 3, 4};
  spec.in = {window({20, 40}, {8, 8}, [](std::span<const Index> g) {
    return Indices{g[1].value() == 2 && g[0].value() == 1 ? g[2] : Index(0), 0};
  })};
  const auto planned = planned_traffic(spec, nullptr, 1000);
  ASSERT_TRUE(planned.complete());
  const std::vector<WindowCounters> walked = *count_traffic(spec, GridPart::whole(spec.grid), nullptr);
  EXPECT_EQ(planned.windows[0].fetches, 4);
  expect_equal(planned.windows[0], walked[0]);
}

// At the origin, before anything is known of prefetch, such a map shows another way.
TEST(PlannedTraffic, AWayThatPrefetchChoosesIsSeen) {
  const Numbers numbers;  // element 0 of operand 1 is 2
  KernelSpec spec;
  spec.name = "test";
  spec.grid = {4, 2};
  Window w = window({64, 64}, {8, 8}, kMaps[0]);
  for (const IndexMap& map : {IndexMap([](Index i, Index j, const PrefetchRefs&p) {
                                return Indices{int64_t{p(1, 0)} == 2 ? i : j, 0};
                              }),
                              IndexMap([](Index i, Index j, const PrefetchRefs&p) {
                                return Indices{p.at(1, {0}) == 2 ? i : j, 0};
                              })}) {
    w.index = map;
    spec.in = {w};
    const auto planned = planned_traffic(spec, &numbers, 1000);
    ASSERT_TRUE(planned.complete());
    EXPECT_EQ(planned.windows[0].fetches, 4);
    expect_equal(planned.windows[0], (*count_traffic(spec, GridPart::whole(spec.grid), &numbers))[0]);
  }
}

TEST(PlannedTraffic, IndicesOfDifferentAxesAreCountedApart) {
  KernelSpec spec;
  spec.name = "test";
  spec.grid = {300, 300, 300};
  spec.in = {window({2400, 2400}, {8, 8},
                    [](std::span<const Index> g) {
                      return Indices{g[0], g[2]};
                    }),
             window({2400, 2400}, {8, 8}, [](std::span<const Index> g) {
               return Indices{g[2], select(g[0].value() < 9, g[0], g[1], 0)};
             })};
  const auto planned = planned_traffic(spec, nullptr, 2 * (300 + 90000));
  ASSERT_TRUE(planned.complete());
  EXPECT_EQ(planned.windows[0].fetches, 300 * 300 * 300);
  EXPECT_EQ(planned.windows[0].minimum_bytes, 2400 * 2400 * 4);
  EXPECT_EQ(planned.windows[1].fetches, 300 * 300 * 300);
  EXPECT_FALSE(planned_traffic(spec, nullptr, 600).complete());
}

TEST(PlannedTraffic, LargeGridsAreCountedFromCoefficients) {
  KernelSpec spec;
  spec.name = "test";
  spec.grid = {1000, 1000, 1000};
  spec.in = {window({8000, 8}, {8, 8}, kMaps[1]),
             window({int64_t{8000000000}, 8}, {8, 8}, [](std::span<const Index> g) {
               return Indices{g[0] * 1000000 + g[1] * 1000 + g[2], 0};
             })};
  spec.out = {window({8000, 8}, {8, 8}, kMaps[3])};
  const auto planned = planned_traffic(spec, nullptr, 100);
  ASSERT_TRUE(planned.complete());
  EXPECT_EQ(planned.windows[0].fetches, 1000);
  EXPECT_EQ(planned.windows[1].fetches, 1000000000);
  EXPECT_EQ(planned.windows[1].moved_bytes, int64_t{1000000000} * 64 * 4);
  EXPECT_EQ(planned.windows[2].write_backs, 1000000000);
  EXPECT_EQ(planned.windows[2].minimum_bytes, int64_t{8000} * 8 * 4);
}

TEST(PlannedTraffic, WhatTakesTooLongIsNamed) {
  KernelSpec spec;
  spec.name = "test";
  spec.grid = {1000, 1000, 1000};
  spec.in = {window({8000, 8}, {8, 8}, kMaps[1]), window({8000, 8}, {8, 8}, [](std::span<const Index> g) {
               return Indices{(g[0] * 7 + g[1] * 5 + g[2]) % 11, 0};
             })};
  spec.in[1].name = "hashed";
  const auto planned = planned_traffic(spec, nullptr, 100000);
  EXPECT_EQ(planned.uncounted, std::vector<std::string>{"hashed"});
  EXPECT_EQ(planned.windows[0].fetches, 1000);
  EXPECT_EQ(planned.windows[1].fetches, 0);
}

// Linear indices of every kind: shared axes, strides that meet, fill or pass each other, backwards, cut and padded
// blocks, and what lies outside.
TEST(PlannedTraffic, RandomLinearMapsAreCountedAsStepByStep) {
  constexpr DType kTypes[] = {DType::f32, DType::i4};
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto pick = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
    KernelSpec spec;
    spec.name = "test";
    const auto axes = static_cast<int>(1 + pick(4));
    for (int i = 0; i < axes; ++i) spec.grid.push_back(1 + pick(6));
    Window w;
    w.name = "w";
    w.dtype = kTypes[pick(2)];
    std::vector<std::vector<int64_t>> coefficients;
    for (int64_t d = 0, rank = 1 + pick(2); d < rank; ++d) {
      w.array.push_back(1 + pick(60));
      const int64_t kind = pick(4), size = 1 + pick(5);
      w.block.push_back(kind == 0   ? BlockDim::squeezed()
                        : kind == 1 ? BlockDim::element(size, pick(3), pick(3))
                                    : BlockDim(size));
      std::vector<int64_t>& of_axes = coefficients.emplace_back();
      for (int i = 0; i <= axes; ++i) of_axes.push_back(pick(3) == 0 ? 0 : pick(9) - 2);
    }
    w.index = IndexMap([coefficients, axes](std::span<const Index> g, const PrefetchRefs&) {
      Indices all;
      for (const std::vector<int64_t>& c : coefficients) {
        Index sum = c[static_cast<size_t>(axes)];
        for (size_t i = 0; i < g.size(); ++i) sum = sum + g[i] * c[i];
        all.values[static_cast<size_t>(all.rank++)] = sum;
      }
      return all;
    });
    spec.in = {w};
    const auto planned = planned_traffic(spec, nullptr, 1 << 20);
    ASSERT_TRUE(planned.complete());
    SCOPED_TRACE("grid " + to_string(spec.grid));
    expect_equal(planned.windows[0], counted(w, spec.grid, false, nullptr));
  }
}

}  // namespace
}  // namespace tilecheck
