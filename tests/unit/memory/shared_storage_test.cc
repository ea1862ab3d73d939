// Memory of one core shares its storage with tiles: loads and stores of a whole buffer move no bytes, and no write is
// seen through a tile that was there before it.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "sim/memory/transfer.h"

namespace tilecheck {
namespace {

constexpr int64_t kRows = 4, kColumns = 128;
const Shape kShape{kRows, kColumns};

struct Memory {
  TilePool pool;
  OpContext context{.pool = &pool};
  Buffer a{"a", Space::vmem, DType::f32, DType::f32, kShape, 0, 0, &pool};
  Buffer b{"b", Space::vmem, DType::f32, DType::f32, kShape, 0, 0, &pool};
  Buffer hbm{"hbm", Space::hbm, DType::f32, DType::f32, kShape, 0, -1};

  // [kRows, 1], counting.
  Tile column(double first) {
    Tile tile = Tile::dense(context, DType::f32, {kRows, 1});
    for (int64_t i = 0; i < kRows; ++i)
      reinterpret_cast<float*>(tile.writable_bytes())[i] = static_cast<float>(first + static_cast<double>(i));
    return tile;
  }

  Tile counting(double first) {
    Tile tile = Tile::dense(context, DType::f32, kShape);
    for (int64_t i = 0; i < tile.size(); ++i)
      reinterpret_cast<float*>(tile.writable_bytes())[i] = static_cast<float>(first + static_cast<double>(i));
    return tile;
  }
  Tile full(double value) { return Tile::splat(context, DType::f32, kShape, value); }
};

const void* storage(const Buffer& buffer) { return buffer.array.data(); }
const void* storage(const Tile& tile) { return tile.data<float>(); }

void expect_counting(const Tile& tile, double first) {
  for (int64_t i = 0; i < tile.size(); ++i) ASSERT_EQ(tile.at(i), first + static_cast<double>(i)) << "element " << i;
}

TEST(SharedStorage, WholeLoadsAndStoresMoveNothing) {
  Memory m;
  const Tile stored = m.counting(0);
  store_tile(Ref::whole(m.a), stored);
  EXPECT_EQ(storage(m.a), storage(stored));
  const Tile loaded = load_tile(m.context, Ref::whole(m.a));
  EXPECT_EQ(storage(loaded), storage(stored));
  EXPECT_TRUE(loaded.all_defined());
  store_tile(Ref::whole(m.b), loaded);
  EXPECT_EQ(storage(m.b), storage(m.a));
  // A squeezed or reshaped view of everything is the whole too.
  EXPECT_EQ(storage(load_tile(m.context, Ref::whole(m.a).reshaped({kRows * kColumns}))), storage(m.a));
}

TEST(SharedStorage, PartsAndOtherMemoriesAreCopied) {
  Memory m;
  store_tile(Ref::whole(m.a), m.counting(0));
  const Tile part = load_tile(m.context, Ref::whole(m.a)({ds(0, 2), all()}));
  EXPECT_NE(storage(part), storage(m.a));
  copy_elements(Ref::whole(m.a), Ref::whole(m.hbm));
  EXPECT_NE(storage(load_tile(m.context, Ref::whole(m.hbm))), storage(m.hbm));
  const Tile strided = load_tile(m.context, Ref::whole(m.a)({ds(0, 2, 2), all()}));
  EXPECT_EQ(strided.at(kColumns), 2 * kColumns);
}

// Every way to write a buffer, beside what it leaves at element 9 (row 1, column 1) of a buffer that counts from 0.
struct Write {
  const char* name;
  std::function<void(Memory&)> run;
  double expected;
  bool part = false;  // of the buffer: row 2 stays
};

const std::vector<Write>& writes() {
  static const std::vector<Write> all_writes = {
      {"whole store", [](Memory& m) { store_tile(Ref::whole(m.a), m.full(-1)); }, -1},
      {"part store",
       [](Memory& m) {
         store_tile(Ref::whole(m.a)({ds(1, 1), all()}), Tile::splat(m.context, DType::f32, {1, kColumns}, -2));
       },
       -2, true},
      {"masked store",
       [](Memory& m) { store_tile_masked(Ref::whole(m.a), m.full(-3), Tile::splat(m.context, DType::b1, kShape, 1)); },
       -3},
      {"scalar store",
       [](Memory& m) {
         store_scalar(Ref::whole(m.a)({1, 1}), 0xc0800000, 0);
       },
       -4, true},
      {"store of packed words",
       [](Memory& m) {
         const Ref halves = Ref::whole(m.a).bitcast(DType::bf16);
         store_tile(halves, Tile::splat(m.context, DType::bf16, halves.shape(), 0));
       },
       0},
      {"whole copy",
       [](Memory& m) {
         store_tile(Ref::whole(m.hbm), m.full(-5));
         copy_elements(Ref::whole(m.hbm), Ref::whole(m.a));
       },
       -5},
      {"part copy",
       [](Memory& m) {
         store_tile(Ref::whole(m.hbm), m.full(-6));
         copy_elements(Ref::whole(m.hbm)({ds(0, 1), all()}), Ref::whole(m.a)({ds(1, 1), all()}));
       },
       -6, true},
      {"copy within",
       [](Memory& m) {
         copy_elements(Ref::whole(m.a)({ds(0, 1), all()}), Ref::whole(m.a)({ds(1, 1), all()}));
       },
       1, true},
      {"copy onto itself", [](Memory& m) { copy_elements(Ref::whole(m.a), Ref::whole(m.a)); }, kColumns + 1},
      {"copy that was on its way",
       [](Memory& m) {
         store_tile(Ref::whole(m.b), m.full(-7));
         const CopyImage image = read_image(Ref::whole(m.b));
         write_image(image, Ref::whole(m.a));
       },
       -7},
      {"fresh garbage",
       [](Memory& m) {
         m.a.garbage = 1;
         m.a.fill_fresh();
       },
       1.5},
  };
  return all_writes;
}

TEST(SharedStorage, NoWriteReachesATile) {
  for (const Write& write : writes()) {
    SCOPED_TRACE(write.name);
    Memory m;
    store_tile(Ref::whole(m.a), m.counting(0));
    const Tile loaded = load_tile(m.context, Ref::whole(m.a));
    store_tile(Ref::whole(m.b), loaded);
    write.run(m);
    expect_counting(loaded, 0);
    EXPECT_EQ(load_tile(m.context, Ref::whole(m.a)).at(kColumns + 1), write.expected);
    // `copy that was on its way` writes b first.
    if (storage(m.b) == storage(loaded)) expect_counting(load_tile(m.context, Ref::whole(m.b)), 0);
  }
}

// The same of a buffer that holds a value which is not laid out.
TEST(SharedStorage, EveryWriteFindsAHeldValueLaidOut) {
  for (const Write& write : writes()) {
    SCOPED_TRACE(write.name);
    Memory m;
    const Tile rows = broadcast_to(m.column(1), kShape);  // row r holds r + 1
    store_tile(Ref::whole(m.a), rows);
    write.run(m);
    const Tile now = load_tile(m.context, Ref::whole(m.a));
    EXPECT_EQ(now.at(kColumns + 1), write.expected == kColumns + 1 ? 2 : write.expected);
    if (write.part) {
      EXPECT_EQ(now.at(2 * kColumns), 3);
    }
    EXPECT_EQ(rows.at(kColumns + 1), 2);
  }
}

TEST(SharedStorage, ValuesThatRepeatAreHeldAsTheyAre) {
  Memory m;
  store_tile(Ref::whole(m.a), m.full(7));
  EXPECT_EQ(load_tile(m.context, Ref::whole(m.a)).layout(), Layout::splat);
  store_tile(Ref::whole(m.b), broadcast_to(m.column(1), kShape));
  const Tile rows = load_tile(m.context, Ref::whole(m.b).reshaped({1, kRows, kColumns}));
  EXPECT_EQ(rows.layout(), Layout::repeated);
  EXPECT_EQ(rows.shape(), (Shape{1, kRows, kColumns}));
  EXPECT_EQ(rows.at(kColumns), 2);
  EXPECT_EQ(load_tile(m.context, Ref::whole(m.b)({ds(1, 2), ds(0, 1)})).at(1), 3);
  // Other readers see bytes.
  uint8_t undefined = 1;
  EXPECT_EQ(load_scalar(Ref::whole(m.a)({0, 0}), &undefined), 0x40e00000u);
  EXPECT_EQ(undefined, 0);
  const Tile bits = load_tile(m.context, Ref::whole(m.a).bitcast(DType::i32));
  EXPECT_EQ(bits.int_at(5), 0x40e00000);
  copy_elements(Ref::whole(m.b), Ref::whole(m.hbm));
  EXPECT_EQ(m.hbm.array.at(kColumns), 2);
  // A scope that is entered again knows nothing of it.
  store_tile(Ref::whole(m.a), m.full(7));
  m.a.forget();
  m.a.shadow.set_all(false);
  EXPECT_TRUE(std::isnan(load_tile(m.context, Ref::whole(m.a)).at(0)));
}

TEST(SharedStorage, DefinednessOfHeldValues) {
  Memory m;
  Tile rows = broadcast_to(m.column(1), kShape);
  std::memset(rows.make_shadow(), 0, static_cast<size_t>(rows.size()));
  const_cast<uint8_t*>(rows.undefined())[3] = undefined_mask(DType::f32);
  store_tile(Ref::whole(m.a), rows);
  EXPECT_NE(load_tile(m.context, Ref::whole(m.a)).undefined()[3], 0);
  EXPECT_EQ(load_tile(m.context, Ref::whole(m.a)).undefined()[4], 0);
  store_tile(Ref::whole(m.a), m.full(1));
  EXPECT_TRUE(load_tile(m.context, Ref::whole(m.a)).all_defined());
}

TEST(SharedStorage, NoOperationReachesTheBuffer) {
  Memory m;
  store_tile(Ref::whole(m.a), m.counting(0));
  Tile sum = load_tile(m.context, Ref::whole(m.a)) + 1.0;
  sum = std::move(sum) * 2.0;
  expect_counting(load_tile(m.context, Ref::whole(m.a)), 0);
  EXPECT_EQ(sum.at(1), 4);
  const Tile ones = Tile::splat(m.context, DType::f32, {kColumns, kColumns}, 1);
  const Tile accumulated = matmul(m.counting(0), ones, DotDims::plain(), load_tile(m.context, Ref::whole(m.a)));
  EXPECT_EQ(accumulated.at(1), kColumns * (kColumns - 1) / 2 + 1);
  expect_counting(load_tile(m.context, Ref::whole(m.a)), 0);
}

TEST(SharedStorage, DefinednessGoesWithTheValue) {
  Memory m;
  const Tile fresh = load_tile(m.context, Ref::whole(m.a));
  EXPECT_EQ(fresh.undefined()[0], undefined_mask(DType::f32));
  store_tile(Ref::whole(m.a)({ds(1, kRows - 1), all()}), Tile::splat(m.context, DType::f32, {kRows - 1, kColumns}, 1));
  const Tile partly = load_tile(m.context, Ref::whole(m.a));
  EXPECT_NE(partly.undefined()[0], 0);
  EXPECT_EQ(partly.undefined()[kColumns], 0);
  EXPECT_NE(fresh.undefined()[kColumns], 0);
  store_tile(Ref::whole(m.b), partly);
  store_tile(Ref::whole(m.a)({ds(0, 1), all()}), Tile::splat(m.context, DType::f32, {1, kColumns}, 1));
  EXPECT_TRUE(load_tile(m.context, Ref::whole(m.a)).all_defined());
  EXPECT_NE(load_tile(m.context, Ref::whole(m.b)).undefined()[0], 0);
  EXPECT_NE(partly.undefined()[0], 0);
  store_tile(Ref::whole(m.b), m.full(1));
  EXPECT_TRUE(load_tile(m.context, Ref::whole(m.b)).all_defined());
}

// A block of an array that nobody writes is shown, not copied; where that cannot be, it is copied all the same.
TEST(SharedStorage, BlocksOfAReadOnlyArrayAreBorrowed) {
  Memory m;
  HostArray array(DType::f32, {3, kRows, kColumns});
  for (int64_t i = 0; i < array.size(); ++i) array.set(i, static_cast<double>(i));
  Buffer source("source", Space::hbm, array, 0, -1);
  source.read_only = true;
  const auto block = [&](int64_t i) { return Ref::whole(source)({i, all(), all()}); };
  for (const Write& write : writes()) {
    SCOPED_TRACE(write.name);
    borrow_elements(m.context, block(0), Ref::whole(m.a));
    EXPECT_EQ(storage(m.a), array.data());
    EXPECT_TRUE(m.a.shadow.all_defined());
    const Tile loaded = load_tile(m.context, Ref::whole(m.a));
    EXPECT_EQ(storage(loaded), array.data());
    write.run(m);
    EXPECT_EQ(load_tile(m.context, Ref::whole(m.a)).at(kColumns + 1), write.expected);
    if (write.part) {
      EXPECT_EQ(load_tile(m.context, Ref::whole(m.a)).at(2 * kColumns), 2 * kColumns);
    }
    expect_counting(loaded, 0);
    // Operations leave it alone, too.
    borrow_elements(m.context, block(1), Ref::whole(m.a));
    EXPECT_EQ((load_tile(m.context, Ref::whole(m.a)) + 1.0).at(0), kRows * kColumns + 1);
    for (int64_t i = 0; i < array.size(); ++i) ASSERT_EQ(array.at(i), static_cast<double>(i));
  }
}

// Columns of an array that nobody writes, so that the rows stand apart: shown too, until bytes are needed in one piece.
TEST(SharedStorage, BlocksInRowsAreBorrowed) {
  Memory m;
  HostArray array(DType::f32, {kRows, 3 * kColumns});
  for (int64_t r = 0; r < kRows; ++r)
    for (int64_t c = 0; c < 3 * kColumns; ++c)
      array.set(r * 3 * kColumns + c,
                static_cast<double>(c / kColumns * kRows * kColumns + r * kColumns + c % kColumns));
  Buffer source("source", Space::hbm, array, 0, -1);
  source.read_only = true;
  const auto block = [&](int64_t i) { return Ref::whole(source)({all(), ds(i * kColumns, kColumns)}); };
  for (const Write& write : writes()) {
    SCOPED_TRACE(write.name);
    borrow_elements(m.context, block(0), Ref::whole(m.a));
    EXPECT_TRUE(m.a.shadow.all_defined());
    const Tile loaded = load_tile(m.context, Ref::whole(m.a));
    EXPECT_EQ(loaded.layout(), Layout::rows);
    expect_counting(loaded, 0);
    expect_counting(loaded.materialized(), 0);
    EXPECT_EQ(load_tile(m.context, Ref::whole(m.a)({ds(1, 2), ds(3, 9)})).at(10), 2 * kColumns + 4);
    expect_counting(load_tile(m.context, Ref::whole(m.a)), 0);
    write.run(m);
    EXPECT_EQ(load_tile(m.context, Ref::whole(m.a)).at(kColumns + 1), write.expected);
    expect_counting(loaded, 0);
    // The next block takes its place, and a store elsewhere shows it as well.
    borrow_elements(m.context, block(1), Ref::whole(m.a));
    store_tile(Ref::whole(m.b), load_tile(m.context, Ref::whole(m.a)));
    borrow_elements(m.context, block(2), Ref::whole(m.a));
    expect_counting(load_tile(m.context, Ref::whole(m.b)), kRows * kColumns);
    copy_elements(Ref::whole(m.b), Ref::whole(m.hbm));
    expect_counting(load_tile(m.context, Ref::whole(m.hbm)), kRows * kColumns);
    EXPECT_EQ((load_tile(m.context, Ref::whole(m.a)) + 1.0).at(0), 2 * kRows * kColumns + 1);
    EXPECT_EQ(array.at(0), 0);
  }
}

TEST(SharedStorage, OtherBlocksAreCopied) {
  Memory m;
  HostArray array(DType::f32, {2 * kRows, 2 * kColumns});
  for (int64_t i = 0; i < array.size(); ++i) array.set(i, static_cast<double>(i));
  Buffer wide("wide", Space::hbm, array, 0, -1), whole("whole", Space::hbm, HostArray(DType::f32, kShape), 0, -1);
  wide.read_only = true;
  // Its columns stand apart.
  borrow_elements(m.context, Ref::whole(wide)({ds(0, kRows), ds(0, kColumns, 2)}), Ref::whole(m.a));
  EXPECT_EQ(load_tile(m.context, Ref::whole(m.a)).layout(), Layout::dense);
  EXPECT_EQ(load_tile(m.context, Ref::whole(m.a)).at(kColumns + 1), 2 * kColumns + 2);
  // Somebody may write the array.
  borrow_elements(m.context, Ref::whole(whole), Ref::whole(m.a));
  whole.array.set(0, 9);
  EXPECT_EQ(load_tile(m.context, Ref::whole(m.a)).at(0), 0);
  // Part of a slot.
  borrow_elements(m.context, Ref::whole(wide)({ds(0, 1), ds(0, kColumns)}), Ref::whole(m.a)({ds(1, 1), all()}));
  EXPECT_EQ(load_tile(m.context, Ref::whole(m.a)).at(kColumns + 5), 5);
  EXPECT_EQ(load_tile(m.context, Ref::whole(m.a)).at(0), 0);
}

}  // namespace
}  // namespace tilecheck
