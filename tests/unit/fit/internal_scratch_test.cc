// Internal scratch of reshapes, as libtpu 0.0.42.1 takes it.
#include "sim/fit/internal_scratch.h"

#include <gtest/gtest.h>

#include "body_maker.h"

namespace tilecheck::fit {
namespace {

int64_t scratch_of_reshape(const Shape& from, const Shape& to, DType dtype, const char* target) {
  BodyMaker m;
  const ValueId x = m.load(m.ref(dtype, from));
  m.store(m.ref(dtype, to, Space::vmem, RefRoot::window, 1), m.shaped(OpKind::reshape, x, to));
  return internal_scratch_bytes(m.body, target_named(target));
}

TEST(InternalScratch, MergingSmallGroupsOfRows) {
  for (const DType dtype : {DType::f32, DType::bf16})
    for (const int64_t group : {1, 2, 4, 8}) {
      const Shape from{16, group, 128}, to{16 * group, 128};
      for (const char* target : {"v4", "v5e", "v5p"})
        EXPECT_EQ(scratch_of_reshape(from, to, dtype, target), group < 8 ? kInternalScratchBytes : 0)
            << target << " groups of " << group;
      for (const char* target : {"v6e", "v7x"}) EXPECT_EQ(scratch_of_reshape(from, to, dtype, target), 0) << target;
    }
}

}  // namespace
}  // namespace tilecheck::fit
