#include "sim/fit/vmem_blocks.h"

#include <gtest/gtest.h>

#include "sim/types/error.h"
#include "truth.h"

namespace tilecheck::fit {
namespace {

TEST(VmemBlocksTest, TilesAndPaddedBytes) {
  const struct {
    const char* target;
    DType dtype;
    Shape shape;
    const char* tile;
    int64_t bytes;
  } kCases[] = {
      // One row to the full tile; cols round up to 128.
      {"v5e", DType::f32, {1, 128}, "(1,128)", 512},
      {"v5e", DType::f32, {2, 128}, "(2,128)", 1024},
      {"v5e", DType::f32, {3, 130}, "(4,128)", 4096},
      {"v5e", DType::f32, {5, 5}, "(8,128)", 4096},
      {"v5e", DType::f32, {17, 128}, "(8,128)", 24 * 512},
      {"v5e", DType::bf16, {1, 128}, "(2,128)", 512},
      {"v5e", DType::bf16, {3, 128}, "(4,128)", 1024},
      {"v5e", DType::bf16, {16, 128}, "(8,128)", 4096},
      {"v7x", DType::bf16, {24, 128}, "(8,128)", 24 * 256},
      {"v6e", DType::i8, {1, 128}, "(4,128)", 512},
      {"v6e", DType::i8, {33, 128}, "(8,128)", 40 * 128},
      {"v6e", DType::i4, {1, 128}, "(8,128)", 512},
      {"v6e", DType::i4, {9, 128}, "(8,128)", 1024},
      {"v5e", DType::b1, {3, 128}, "(4,128)", 2048},
      // v2 and v3 start one power of two higher.
      {"v3", DType::f32, {1, 128}, "(2,128)", 1024},
      {"v3", DType::bf16, {1, 128}, "(4,128)", 1024},
      {"v3", DType::f8e4m3fn, {8, 5}, "(8,128)", 1024},
      {"v3", DType::i4, {1, 128}, "(16,128)", 1024},
      // Leading dimensions multiply.
      {"v5e", DType::f32, {3, 2, 3, 128}, "(4,128)", 3 * 2 * 4 * 512},
      // Rank 1 and scalars.
      {"v5e", DType::f32, {1}, "(128)", 512},
      {"v5e", DType::f32, {129}, "(128)", 1024},
      {"v5e", DType::bf16, {129}, "(256)", 512},
      {"v5e", DType::i8, {2544}, "(512)", 2560},
      {"v3", DType::f32, {129}, "(256)", 1024},
      {"v5e", DType::f32, {}, "(128)", 512},
  };
  for (const auto& c : kCases) {
    const Target& target = target_named(c.target);
    EXPECT_EQ(to_string(tiling(c.dtype, c.shape, target)), c.tile)
        << c.target << ' ' << name(c.dtype) << to_tuple(c.shape);
    EXPECT_EQ(padded_bytes(c.dtype, c.shape, target), c.bytes) << c.target << ' ' << name(c.dtype) << to_tuple(c.shape);
  }
}

TEST(VmemBlocksTest, WindowsRoundUpToTheirGranule) {
  const struct {
    const char* target;
    int slots;
    int64_t buffer_bytes;
    bool is_input;
    int64_t bytes;
  } kCases[] = {
      {"v5e", 1, 512, true, 1024},  {"v5e", 2, 512, true, 1024},   {"v5e", 2, 1536, false, 3072},
      {"v5e", 1, 1536, true, 2048}, {"v3", 1, 1024, true, 4096},   {"v3", 1, 1024, false, 1024},
      {"v3", 2, 4096, true, 8192},  {"v7x", 2, 4096, false, 8192},
  };
  for (const auto& c : kCases)
    EXPECT_EQ(window_bytes(c.slots, c.buffer_bytes, c.is_input, target_named(c.target)), c.bytes) << c.target;
}

TEST(VmemBlocksTest, SlotsAndTheirReason) {
  const auto axes = [](uint32_t used) { return IndexMap(IndexMap::Function{}, std::vector{Dependence{used, false}}); };
  const struct {
    Dims grid;
    uint32_t used;
    int asked;
    bool trivial;
    int slots;
    const char* reason;
  } kCases[] = {
      {{}, 0, 0, false, 1, "no grid"},
      {{4, 2}, 1, 0, false, 2, "index map uses i0"},
      {{4, 2}, 3, 2, false, 2, "index map uses i0,i1"},
      {{4, 1}, 2, 0, false, 1, "index map uses only i1, of size 1"},
      {{4, 2}, 0, 2, false, 1, "index map is constant"},
      {{4, 2}, 1, 1, false, 1, "asked for by Buffered(1)"},
      {{4, 2}, 0, 0, true, 1, "block is the whole array"},
  };
  for (const auto& c : kCases) {
    KernelSpec spec;
    spec.grid = c.grid;
    Window w;
    w.array = {64, 128};
    w.block = {8, 128};
    w.index = axes(c.used);
    w.buffers = c.asked;
    w.trivial = c.trivial;
    const SlotCount got = slot_count(spec, w);
    EXPECT_EQ(got.slots, c.slots) << c.reason;
    EXPECT_EQ(got.reason, c.reason);
  }
}

TEST(VmemBlocksTest, SizesThatOverflowAreOneClearError) {
  const Target& target = target_named("v5e");
  EXPECT_THROW(padded_bytes(DType::f32, {int64_t{1} << 40, int64_t{1} << 40}, target), InputError);
  EXPECT_THROW(padded_bytes(DType::f32, {INT64_MAX}, target), InputError);
  EXPECT_THROW(padded_bytes(DType::f32, {-1, 8}, target), InputError);
  EXPECT_THROW(unpadded_bytes(DType::f32, {int64_t{1} << 61}), InputError);
  EXPECT_THROW(window_bytes(2, INT64_MAX / 2, true, target), InputError);
}

// The windows of every kernel measured: window_bytes where the compiler's sizes were split, need_bytes for probes.
TEST(VmemBlocksTest, WindowsOfMeasuredKernelsAreExact) {
  const auto rows = read_csv(shared_folder() + "/vmem/vmem_truth.csv");
  if (!rows) GTEST_SKIP() << "no measured kernels: " << shared_folder() << "/vmem is absent (set TILECHECK_SHARED)";
  int checked = 0, wrong = 0;
  for (const CsvRow& row : *rows) {
    if (row.at("need_status") != "exact") continue;
    const bool is_probe = row.at("family").rfind("tile", 0) == 0;
    const std::string& truth = is_probe ? row.at("need_bytes") : row.at("window_bytes");
    const auto spec = spec_of(row);
    if (!spec || truth.empty()) continue;
    const Target& target = target_named(row.at("gen"));
    int64_t total = 0;
    const auto add = [&](const Window& w, bool is_input) {
      if (w.space != Space::vmem || is_pinned(w)) return;
      Shape block;
      for (const BlockDim& dim : w.block) block.push_back(dim.size);
      total += window_bytes(slot_count(*spec, w).slots, padded_bytes(w.dtype, block, target), is_input, target);
    };
    for (const Window& w : spec->in) add(w, true);
    for (const Window& w : spec->out) add(w, false);
    ++checked;
    if (total != std::stoll(truth) && ++wrong <= 10)
      ADD_FAILURE() << row.at("id") << ": " << total << ", the compiler says " << truth << " for " << row.at("windows");
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(checked, 1000);
  std::printf("%d kernels' windows compared, %d differ\n", checked, wrong);
}

}  // namespace
}  // namespace tilecheck::fit
