// Tile operations against a raw loop and Eigen. Ratios from one run are what counts: docs/performance.md keeps them.
#include "sim/ops/ops.h"

#include <benchmark/benchmark.h>

#include <Eigen/Dense>
#include <cmath>
#include <random>
#include <vector>

namespace tilecheck {
namespace {

using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

struct Bench {
  TilePool pool;
  OpContext context{.pool = &pool};
  Tile random(DType dtype, const Shape& shape, unsigned seed) {
    std::mt19937 engine(seed);
    std::uniform_real_distribution<float> distribution(-1, 1);
    Tile tile = Tile::dense(context, DType::f32, shape);
    float* p = reinterpret_cast<float*>(tile.writable_bytes());
    for (int64_t i = 0; i < tile.size(); ++i) p[i] = distribution(engine);
    return convert(tile, dtype);
  }
};

RowMajor random_matrix(int64_t rows, int64_t columns) { return RowMajor::Random(rows, columns); }

void flops(benchmark::State& state, double per_iteration) {
  state.counters["GFLOPS"] =
      benchmark::Counter(per_iteration * 1e-9 * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

// range(0): extent of m, n and k.
void eigen_matmul(benchmark::State& state) {
  const int64_t n = state.range(0);
  const RowMajor a = random_matrix(n, n), b = random_matrix(n, n);
  RowMajor c(n, n);
  for (auto _ : state) {
    c.noalias() = a * b;
    benchmark::DoNotOptimize(c.data());
  }
  flops(state, 2.0 * static_cast<double>(n * n * n));
}
BENCHMARK(eigen_matmul)->Arg(128)->Arg(256)->Arg(512);

void tile_matmul(benchmark::State& state, VectorIsa isa, DType dtype, const DotDims& dot) {
  use_vector_isa(isa);
  Bench bench;
  const int64_t n = state.range(0);
  const Tile a = bench.random(dtype, {n, n}, 1), b = bench.random(dtype, {n, n}, 2);
  for (auto _ : state) {
    Tile c = matmul(a, b, dot);
    benchmark::DoNotOptimize(c);
  }
  flops(state, 2.0 * static_cast<double>(n * n * n));
  use_vector_isa(VectorIsa::best);
}
BENCHMARK_CAPTURE(tile_matmul, best_f32, VectorIsa::best, DType::f32, DotDims::plain())->Arg(128)->Arg(256)->Arg(512);
BENCHMARK_CAPTURE(tile_matmul, avx2_f32, VectorIsa::avx2, DType::f32, DotDims::plain())->Arg(128)->Arg(256)->Arg(512);
BENCHMARK_CAPTURE(tile_matmul, best_f32_nt, VectorIsa::best, DType::f32, DotDims::transposed_rhs())
    ->Arg(128)
    ->Arg(256)
    ->Arg(512);
BENCHMARK_CAPTURE(tile_matmul, best_bf16, VectorIsa::best, DType::bf16, DotDims::plain())->Arg(128)->Arg(256)->Arg(512);
BENCHMARK_CAPTURE(tile_matmul, best_i8, VectorIsa::best, DType::i8, DotDims::plain())->Arg(128)->Arg(256)->Arg(512);

}  // namespace
}  // namespace tilecheck
