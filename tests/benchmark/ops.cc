// Tile operations against a raw loop and Eigen. Ratios from one run are what counts: docs/performance.md keeps them.
#include "sim/ops/ops.h"

#include <benchmark/benchmark.h>

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <vector>

#include "sim/ops/chain.h"
#include "sim/ops/gemm.h"
#include "sim/ops/reduce.h"

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
BENCHMARK_CAPTURE(tile_matmul, best_bf16_nt, VectorIsa::best, DType::bf16, DotDims::transposed_rhs())->Arg(128);
BENCHMARK_CAPTURE(tile_matmul, best_i8, VectorIsa::best, DType::i8, DotDims::plain())->Arg(128)->Arg(256)->Arg(512);

// ---- elementwise, on tiles of range(0) x 128 that stay in the caches

constexpr int64_t kColumns = 128;

void elements(benchmark::State& state, int64_t n) {
  state.counters["ns/1k"] =
      benchmark::Counter(static_cast<double>(n) * static_cast<double>(state.iterations()) / 1e3 * 1e-9,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

// What a raw loop or Eigen does, over flat arrays.
template <class F>
void raw(benchmark::State& state, F f) {
  const int64_t n = state.range(0) * kColumns;
  Eigen::ArrayXf a = Eigen::ArrayXf::Random(n), b = Eigen::ArrayXf::Random(n), c(n);
  for (auto _ : state) {
    f(a.data(), b.data(), c.data(), n);
    benchmark::DoNotOptimize(c.data());
    benchmark::ClobberMemory();
  }
  elements(state, n);
}

template <class F>
void tiles(benchmark::State& state, DType dtype, F f) {
  Bench bench;
  const Tile a = bench.random(dtype, {state.range(0), kColumns}, 1),
             b = bench.random(dtype, {state.range(0), kColumns}, 2);
  for (auto _ : state) {
    Tile c = f(a, b);
    benchmark::DoNotOptimize(c);
  }
  elements(state, a.size());
}

#define PAIR(name, loop, expression)                                     \
  void raw_##name(benchmark::State& state) {                             \
    raw(state, [](const float* a, const float* b, float* c, int64_t n) { \
      (void)b;                                                           \
      loop;                                                              \
    });                                                                  \
  }                                                                      \
  BENCHMARK(raw_##name)->Arg(32)->Arg(128);                              \
  void tile_##name(benchmark::State& state) {                            \
    tiles(state, DType::f32, [](const Tile& a, const Tile& b) {          \
      (void)b;                                                           \
      return expression;                                                 \
    });                                                                  \
  }                                                                      \
  BENCHMARK(tile_##name)->Arg(32)->Arg(128)

PAIR(add, for (int64_t i = 0; i < n; ++i) c[i] = a[i] + b[i], a + b);
PAIR(scale, for (int64_t i = 0; i < n; ++i) c[i] = a[i] * 1.5f, a * 1.5);
PAIR(divide, for (int64_t i = 0; i < n; ++i) c[i] = a[i] / b[i], a / b);
PAIR(maximum, for (int64_t i = 0; i < n; ++i) c[i] = a[i] > b[i] ? a[i] : b[i], maximum(a, b));
PAIR(exp, Eigen::Map<Eigen::ArrayXf>(c, n) = Eigen::Map<const Eigen::ArrayXf>(a, n).exp(), exp(a));
PAIR(tanh, Eigen::Map<Eigen::ArrayXf>(c, n) = Eigen::Map<const Eigen::ArrayXf>(a, n).tanh(), tanh(a));
PAIR(log, Eigen::Map<Eigen::ArrayXf>(c, n) = Eigen::Map<const Eigen::ArrayXf>(a, n).log(), log(a));
PAIR(sin, Eigen::Map<Eigen::ArrayXf>(c, n) = Eigen::Map<const Eigen::ArrayXf>(a, n).sin(), sin(a));
PAIR(erf, for (int64_t i = 0; i < n; ++i) c[i] = std::erf(a[i]), erf(a));
PAIR(
    minus_row_max,
    for (int64_t r = 0; r < n / kColumns; ++r) {
      float largest = a[r * kColumns];
      for (int64_t i = 1; i < kColumns; ++i) largest = std::max(largest, a[r * kColumns + i]);
      for (int64_t i = 0; i < kColumns; ++i) c[r * kColumns + i] = a[r * kColumns + i] - largest;
    },
    a - reduce_max(a, {1}, true));
PAIR(
    minus_row_mean,
    for (int64_t r = 0; r < n / kColumns; ++r) {
      const float mean = Eigen::Map<const Eigen::ArrayXf>(a + r * kColumns, kColumns).sum() / kColumns;
      for (int64_t i = 0; i < kColumns; ++i) c[r * kColumns + i] = a[r * kColumns + i] - mean;
    },
    a - reduce_sum(a, {1}, true) * (1.0 / kColumns));
PAIR(
    column_sum,
    {
      std::fill_n(c, kColumns, 0.0f);
      for (int64_t r = 0; r < n / kColumns; ++r)
        for (int64_t i = 0; i < kColumns; ++i) c[i] += a[r * kColumns + i];
    },
    reduce_sum(a, {0}));
PAIR(causal_mask,
     for (int64_t r = 0; r < n / kColumns; ++r) for (int64_t i = 0; i < kColumns; ++i)
         c[r * kColumns + i] = r >= i ? a[r * kColumns + i] : -1e30f,
     select(ge(iota(a.context(), DType::i32, a.shape(), 0), iota(a.context(), DType::i32, a.shape(), 1)), a,
            Tile::scalar(a.context(), DType::f32, -1e30)));
PAIR(transpose,
     Eigen::Map<RowMajor>(c, kColumns,
                          n / kColumns) = Eigen::Map<const RowMajor>(a, n / kColumns, kColumns).transpose(),
     transpose(a));

void tile_bf16(benchmark::State& state, Tile (*f)(const Tile&, const Tile&)) { tiles(state, DType::bf16, f); }
BENCHMARK_CAPTURE(tile_bf16, add, [](const Tile& a, const Tile& b) { return a + b; })->Arg(128);
BENCHMARK_CAPTURE(tile_bf16, exp, [](const Tile& a, const Tile&) { return exp(a); })->Arg(128);
BENCHMARK_CAPTURE(tile_bf16, to_f32, [](const Tile& a, const Tile&) { return convert(a, DType::f32); })->Arg(128);
BENCHMARK_CAPTURE(tile_bf16, sum, [](const Tile& a, const Tile&) { return reduce_sum(a, {1}); })->Arg(128);
void tile_f32_to_bf16(benchmark::State& state) {
  tiles(state, DType::f32, [](const Tile& a, const Tile&) { return convert(a, DType::bf16); });
}
BENCHMARK(tile_f32_to_bf16)->Arg(128);

// ---- operations that run together, beside the same one after another

// exp(a - row), range(0) x range(0): a tile that a cache holds, or does not.
void exp_of_difference(benchmark::State& state, bool together) {
  Bench bench;
  const Shape shape = {state.range(0), state.range(0)};
  const Tile a = bench.random(DType::f32, shape, 1);
  const Tile row = broadcast_to(bench.random(DType::f32, {state.range(0), 1}, 2), shape);
  const OpCall sub{.op = OpId::subf}, exponential{.op = OpId::exp};
  const ChainStep steps[] = {{&sub, DType::f32, 2, {0, 1}}, {&exponential, DType::f32, 1, {kPrevious}}};
  for (auto _ : state) {
    Tile tiles[] = {a, row};
    Tile c = together ? run_chain(bench.context, {shape, steps}, tiles) : exp(a - row);
    benchmark::DoNotOptimize(c);
  }
  elements(state, a.size());
}
BENCHMARK_CAPTURE(exp_of_difference, apart, false)->Arg(128)->Arg(512);
BENCHMARK_CAPTURE(exp_of_difference, together, true)->Arg(128)->Arg(512);

// c + a b.
void sum_of_product(benchmark::State& state, bool together) {
  Bench bench;
  const int64_t n = state.range(0);
  const Tile a = bench.random(DType::f32, {n, n}, 1), b = bench.random(DType::f32, {n, n}, 2),
             c = bench.random(DType::f32, {n, n}, 3);
  const OpCall product{.op = OpId::matmul, .dtype = DType::f32, .dot = DotDims::plain()}, add{.op = OpId::addf};
  for (auto _ : state) {
    Tile operands[] = {a, b};
    Tile d = together ? apply_ended(bench.context, product, operands, {.add = &add, .addend = c}) : c + matmul(a, b);
    benchmark::DoNotOptimize(d);
  }
  flops(state, 2.0 * static_cast<double>(n * n * n));
}
BENCHMARK_CAPTURE(sum_of_product, apart, false)->Arg(128)->Arg(256)->Arg(512);
BENCHMARK_CAPTURE(sum_of_product, together, true)->Arg(128)->Arg(256)->Arg(512);

// ---- one key block of flash attention, 128 x 128 x 128, as tile operations and as a hand-written loop over the same
// matrix product, reduction and strips

constexpr int64_t kBlock = 128;

void flash_block_tiles(benchmark::State& state) {
  Bench bench;
  const Shape shape = {kBlock, kBlock};
  const Tile q = bench.random(DType::f32, shape, 1), k = bench.random(DType::f32, shape, 2),
             v = bench.random(DType::f32, shape, 3);
  Tile m = Tile::splat(bench.context, DType::f32, {kBlock, 1}, -1e30),
       l = Tile::splat(bench.context, DType::f32, {kBlock, 1}, 0);
  Tile acc = Tile::splat(bench.context, DType::f32, shape, 0);
  for (auto _ : state) {
    const Tile s = matmul(q, k, DotDims::transposed_rhs()) * 0.088;
    const Tile new_m = maximum(m, reduce_max(s, {1}, true));
    const Tile p = exp(s - new_m), alpha = exp(m - new_m);
    l = l * alpha + reduce_sum(p, {1}, true);
    acc = matmul(p, v, DotDims::plain(), std::move(acc) * alpha);
    m = new_m;
  }
  benchmark::DoNotOptimize(acc);
  flops(state, 4.0 * kBlock * kBlock * kBlock);
}
BENCHMARK(flash_block_tiles);

void flash_block_by_hand(benchmark::State& state) {
  Bench bench;
  const Shape shape = {kBlock, kBlock};
  const Tile q = bench.random(DType::f32, shape, 1), k = bench.random(DType::f32, shape, 2),
             v = bench.random(DType::f32, shape, 3);
  std::vector<float> s(kBlock * kBlock), acc(kBlock * kBlock), m(kBlock, -1e30f), l(kBlock);
  const auto bytes = [](auto& data) { return reinterpret_cast<std::byte*>(data); };
  const auto product = [&](const Tile& right, const float* left, float* out, int64_t row, int64_t column,
                           bool accumulate) {
    gemm({.dtype = DType::f32,
          .m = kBlock,
          .n = kBlock,
          .k = kBlock,
          .lhs = {reinterpret_cast<const std::byte*>(left), kBlock, 1},
          .rhs = {right.data<std::byte>(), row, column},
          .out = bytes(out),
          .accumulate = accumulate,
          .pool = &bench.pool});
  };
  const ReduceFn row_max = float_reduce(OpId::reduce_max, DType::f32),
                 row_sum = float_reduce(OpId::reduce_add, DType::f32);
  const StripFn mul = strip_fn(OpId::mulf, DType::f32, DType::f32), sub = strip_fn(OpId::subf, DType::f32, DType::f32),
                exponential = strip_fn(OpId::exp, DType::f32, DType::f32);
  const OpCall call{.op = OpId::mulf};
  const float scale = 0.088f;
  for (auto _ : state) {
    product(k, q.data<float>(), s.data(), 1, kBlock, false);
    for (int64_t r = 0; r < kBlock; ++r) {
      float* row = s.data() + r * kBlock;
      float* sums = acc.data() + r * kBlock;
      const void* by_scale[] = {row, &scale};
      mul({by_scale, 2, row, kBlock, &call});
      float largest;
      row_max(row, &largest, {1, kBlock, 1});
      largest = std::max(largest, m[static_cast<size_t>(r)]);
      const void* less_max[] = {row, &largest};
      sub({less_max, 2, row, kBlock, &call});
      const void* itself[] = {row};
      exponential({itself, 0, row, kBlock, &call});
      float total, alpha = m[static_cast<size_t>(r)] - largest;
      row_sum(row, &total, {1, kBlock, 1});
      const void* of_alpha[] = {&alpha};
      exponential({of_alpha, 0, &alpha, 1, &call});
      l[static_cast<size_t>(r)] = l[static_cast<size_t>(r)] * alpha + total;
      m[static_cast<size_t>(r)] = largest;
      const void* by_alpha[] = {sums, &alpha};
      mul({by_alpha, 2, sums, kBlock, &call});
    }
    product(v, s.data(), acc.data(), kBlock, 1, true);
  }
  benchmark::DoNotOptimize(acc.data());
  flops(state, 4.0 * kBlock * kBlock * kBlock);
}
BENCHMARK(flash_block_by_hand);

// One operation on scalars: the price of everything around the arithmetic.
void scalar_tile_add(benchmark::State& state) {
  Bench bench;
  const Tile a = Tile::scalar_int(bench.context, DType::i32, 3);
  for (auto _ : state) {
    Tile b = a + a;
    benchmark::DoNotOptimize(b);
  }
}
BENCHMARK(scalar_tile_add);
void scalar_add(benchmark::State& state) {
  const OpCall call{.op = OpId::addi};
  std::array<uint64_t, 2> operands = {3, 4};
  for (auto _ : state) {
    benchmark::DoNotOptimize(operands);
    benchmark::DoNotOptimize(apply_scalar(call, DType::i32, operands));
  }
}
BENCHMARK(scalar_add);

}  // namespace
}  // namespace tilecheck
