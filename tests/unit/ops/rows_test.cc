// Tiles whose rows stand apart in memory that is only lent: every operation gives the bits that it gives of a dense
// copy.
#include "sim/ops/chain.h"
#include "sim/ops/tile_parts.h"
#include "tests/unit/ops/tiles.h"

namespace tilecheck {
namespace {

class RowsTest : public OpsTest {
 protected:
  // The first columns of an array that is wider by a third.
  Tile in_rows(DType dtype, const Shape& shape, uint64_t seed) {
    const int64_t columns = shape.back(), stride = columns + columns / 3, rows = element_count(shape) / columns;
    wide_.push_back(random_tile(dtype, {rows, stride}, seed));
    BlockPtr block = pool.lend(wide_.back().data<std::byte>());
    return TileParts::rows(context, dtype, shape, std::move(block), columns, stride);
  }

 private:
  std::vector<Tile> wide_;
};

TEST_F(RowsTest, EveryOperationSeesTheElements) {
  const Tile x = in_rows(DType::f32, {24, 128}, 1), y = in_rows(DType::f32, {24, 128}, 2);
  const Tile square = in_rows(DType::f32, {128, 128}, 3), narrow = in_rows(DType::bf16, {128, 128}, 4);
  const Tile batched = in_rows(DType::f32, {2, 12, 128}, 5), whole = in_rows(DType::i32, {24, 128}, 6);
  const DotDims turned = DotDims::transposed_rhs();
  const struct {
    const char* what;
    std::function<Tile(const Tile&, const Tile&)> run;
    Tile a, b;
  } cases[] = {
      {"add", [](Tile a, Tile b) { return a + b; }, x, y},
      {"add a dense one", [](Tile a, Tile b) { return a + exp(b); }, x, y},
      {"add a column", [](Tile a, Tile b) { return a * reduce_max(b, {1}, true); }, x, y},
      {"select", [](Tile a, Tile b) { return select(gt(a, 0), a, b); }, x, y},
      {"convert", [](Tile a, Tile) { return convert(a, DType::bf16); }, x, y},
      {"widen", [](Tile a, Tile) { return convert(a, DType::f32); }, narrow, narrow},
      {"bitcast", [](Tile a, Tile) { return bitcast(a, DType::f32); }, whole, whole},
      {"pack", [](Tile a, Tile) { return bitcast(a, DType::i32); }, narrow, narrow},
      {"sum of rows", [](Tile a, Tile) { return reduce_sum(a, {1}); }, x, y},
      {"sum of columns", [](Tile a, Tile) { return reduce_sum(a, {0}); }, narrow, y},
      {"argmax", [](Tile a, Tile) { return argmax(a, 1); }, x, y},
      {"transpose", [](Tile a, Tile) { return transpose(a); }, x, y},
      {"reshape",
       [](Tile a, Tile b) {
         return reshape(a, {3, 8, 64, 2}) - reshape(b, {3, 8, 64, 2});
       },
       x, y},
      {"slice",
       [](Tile a, Tile) {
         return slice(a, {1, 2}, {5, 40}, {3, 2});
       },
       x, y},
      {"concatenate",
       [](Tile a, Tile b) {
         return concatenate(std::vector<Tile>{a, b}, 0);
       },
       x, y},
      {"rotate", [](Tile a, Tile) { return rotate(a, 5, 1); }, x, y},
      {"broadcast",
       [](Tile a, Tile) {
         return broadcast_to(a, {2, 24, 128});
       },
       x, y},
      {"matmul", [](Tile a, Tile b) { return matmul(a, b); }, x, square},
      {"matmul onto it", [](Tile a, Tile b) { return matmul(a, b, DotDims::plain(), a); }, x, square},
      {"matmul, rhs turned", [=](Tile a, Tile b) { return matmul(a, b, turned); }, x, square},
      {"matmul, lhs turned",
       [](Tile a, Tile b) {
         return matmul(a, b, {{0}, {0}, {1}, {1}, {}, {}, {}});
       },
       x, y},
      {"matmul of bf16", [=](Tile a, Tile b) { return matmul(a, b, turned); }, narrow, narrow},
      {"matmul in bf16", [](Tile a, Tile b) { return matmul(a, b, DotDims::plain(), {}, Precision::bf16x3); }, x,
       square},
      {"batched matmul",
       [](Tile a, Tile b) {
         return matmul(a, b, {{2}, {2}, {1}, {1}, {0}, {0}, {}});
       },
       batched, batched},
      {"matmul of parts of rows",
       [](Tile a, Tile b) {
         return matmul(reshape(a, {48, 64}), reshape(b, {64, 256}));
       },
       x, square},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.what);
    EXPECT_EQ(bits_of(c.a), bits_of(c.a.materialized()));
    for (VectorIsa isa : {VectorIsa::best, VectorIsa::avx2}) {
      use_vector_isa(isa);
      EXPECT_EQ(bits_of(c.run(c.a, c.b)), bits_of(c.run(c.a.materialized(), c.b.materialized())));
    }
    use_vector_isa(VectorIsa::best);
  }
}

TEST_F(RowsTest, ChainsRunOverThem) {
  const Tile x = in_rows(DType::f32, {40, 160}, 1), y = in_rows(DType::f32, {40, 160}, 2);
  const OpCall sub{.op = OpId::subf, .dtype = DType::f32}, mul{.op = OpId::mulf, .dtype = DType::f32};
  const ChainStep steps[] = {{&sub, DType::f32, 2, {0, 1, 0}}, {&mul, DType::f32, 2, {kPrevious, 0, 0}}};
  Tile tiles[] = {x, y};
  const Tile* seen[] = {&x, &y};
  ASSERT_TRUE(can_run_chain(context, {x.shape(), steps}, seen));
  EXPECT_EQ(bits_of(run_chain(context, {x.shape(), steps}, tiles)), bits_of((x - y) * x));
}

}  // namespace
}  // namespace tilecheck
