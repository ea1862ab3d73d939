#include <gtest/gtest.h>

#include "sim/memory/ref.h"
#include "sim/types/error.h"

namespace tilecheck {
namespace {

Box box(std::initializer_list<Range> ranges) {
  Box b;
  for (const Range& r : ranges) b.dims[static_cast<size_t>(b.rank++)] = r;
  return b;
}

TEST(Box, OverlapIsExactWithStrides) {
  struct Case {
    Range a, b;
    bool overlaps;
  };
  const Case cases[] = {
      {{0, 4, 1}, {3, 2, 1}, true},  {{0, 4, 1}, {4, 2, 1}, false},   {{0, 8, 2}, {1, 8, 2}, false},
      {{0, 8, 2}, {2, 8, 4}, true},  {{0, 10, 3}, {1, 10, 6}, false}, {{0, 10, 3}, {4, 10, 5}, true},
      {{0, 0, 1}, {0, 4, 1}, false}, {{5, 1, 1}, {0, 3, 5}, true},    {{5, 1, 1}, {1, 3, 5}, false},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(overlaps(box({c.a}), box({c.b})), c.overlaps) << to_string(box({c.a})) << to_string(box({c.b}));
    EXPECT_EQ(overlaps(box({c.b}), box({c.a})), c.overlaps);
  }
}

TEST(Box, OverlapAgreesWithEnumeration) {
  for (int64_t alo = 0; alo < 4; ++alo)
    for (int64_t as = 1; as < 5; ++as)
      for (int64_t an = 1; an < 5; ++an)
        for (int64_t bs = 1; bs < 6; ++bs)
          for (int64_t bn = 1; bn < 5; ++bn) {
            const Range a{alo, an, as}, b{2, bn, bs};
            bool found = false, inside = true;
            for (int64_t i = 0; i < bn; ++i) {
              bool here = false;
              for (int64_t k = 0; k < an; ++k) here = here || a.lo + k * a.step == b.lo + i * b.step;
              found = found || here;
              inside = inside && here;
            }
            EXPECT_EQ(overlaps(box({a}), box({b})), found);
            EXPECT_EQ(contains(box({a}), box({b})), inside) << to_string(box({a})) << to_string(box({b}));
          }
}

TEST(Box, ClipKeepsTheElementsInside) {
  EXPECT_EQ(clip(box({{-3, 5, 2}}), {4}), box({{1, 2, 2}}));
  EXPECT_EQ(clip(box({{6, 2, 1}}), {4})[0].n, 0);
  EXPECT_EQ(to_string(box({{1, 1, 1}, {0, 64, 1}, {0, 64, 2}})), "[1, 0:64, 0:127:2]");
}

class RefTest : public testing::Test {
 protected:
  Buffer f32{"x", Space::vmem, DType::f32, DType::f32, {4, 16, 128}, 0, 0};
  Buffer bf16{"h", Space::vmem, DType::bf16, DType::bf16, {16, 128}, 0, 0};
};

TEST_F(RefTest, SlicesAndSqueezes) {
  const Ref r = Ref::whole(f32)({1, ds(8, 8), ds(0, 64, 2)});
  EXPECT_EQ(r.shape(), Shape({8, 64}));
  EXPECT_EQ(to_string(r), "x[1, 8:16, 0:127:2]");
  const Ref inner = r({ds(2, 2)});
  EXPECT_EQ(to_string(inner), "x[1, 10:12, 0:127:2]");
  EXPECT_EQ(r({all(), ds(1, 4, 3)}).box[2], (Range{2, 4, 6}));
}

TEST_F(RefTest, ReshapesOnlyWhatStaysABox) {
  EXPECT_EQ(Ref::whole(f32).reshaped({64, 128}).shape(), Shape({64, 128}));
  const Ref rows = Ref::whole(f32).reshaped({64, 128})({ds(16, 20)});
  EXPECT_EQ(rows.shape(), Shape({20, 128}));
  EXPECT_EQ(Ref::whole(f32)({2}).reshaped({2, 8, 128}).shape(), Shape({2, 8, 128}));
  EXPECT_EQ(Ref::whole(f32)({ds(1, 2)}).reshaped({32, 128}).box[0], (Range{16, 32, 1}));
  EXPECT_THROW(Ref::whole(f32)({all(), ds(0, 8)}).reshaped({32, 128}), InputError);
  EXPECT_THROW(Ref::whole(f32).reshaped({63, 128}), InputError);
}

TEST_F(RefTest, BitcastsPackRows) {
  const Ref words = Ref::whole(bf16).bitcast(DType::i32);
  EXPECT_EQ(words.shape(), Shape({8, 128}));
  EXPECT_EQ(words({ds(1, 2, 3)}).buffer_box()[0], (Range{1, 2, 3}));  // packed rows stay a box, strided too
  EXPECT_EQ(words({ds(1, 2, 3)}).buffer_box()[1], (Range{0, 2, 1}));
  EXPECT_EQ(words({ds(2, 3)}).bitcast(DType::bf16).box[0], (Range{4, 6, 1}));
  EXPECT_EQ(words.bitcast(DType::bf16).shape(), Shape({16, 128}));
  EXPECT_THROW(Ref::whole(bf16)({ds(1, 4)}).bitcast(DType::i32), InputError);
  // Narrow rows regroup while each group holds whole rows of the buffer.
  Buffer ints("ints", Space::vmem, DType::i32, DType::i32, {32, 256}, 0, 0);
  const Ref halves = Ref::whole(ints)({ds(0, 16)}).bitcast(DType::i16).reshaped({2, 16, 256});
  EXPECT_EQ(halves({ds(1, 1)}).reshaped({16, 256}).bitcast(DType::i32).buffer_box()[0], (Range{8, 8, 1}));
  EXPECT_THROW(Ref::whole(ints).bitcast(DType::i16).reshaped({64, 2, 128}), InputError);
  EXPECT_THROW(Ref::whole(ints).bitcast(DType::i8).reshaped({64, 2, 256}), InputError);
  const Ref bytes = Ref::whole(bf16).bitcast(DType::i8);
  EXPECT_EQ(bytes.shape(), Shape({32, 128}));
  EXPECT_EQ(bytes({ds(3, 2)}).buffer_box()[0], (Range{1, 2, 1}));
}

TEST_F(RefTest, SqueezesUnitDimensionsFromTheRight) {
  Buffer b("u", Space::vmem, DType::f32, DType::f32, {1, 8, 1, 4}, 0, 0);
  EXPECT_EQ(Ref::whole(b).squeezed_to({8, 4}).shape(), Shape({8, 4}));
  EXPECT_EQ(Ref::whole(b).squeezed_to({8, 1, 4}).shape(), Shape({8, 1, 4}));
  EXPECT_THROW(Ref::whole(b).squeezed_to({4}), InputError);
}

}  // namespace
}  // namespace tilecheck
