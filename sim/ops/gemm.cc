// Panels of rhs are packed so that a row of a panel is two vectors; a block of lhs rows times a panel stays in
// registers while k runs. Each result element sees k in order whatever the block and vector sizes, so they cannot
// change bits.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sim/ops/gemm.cc"
#include "sim/ops/gemm.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "sim/ops/simd.h"
#include "sim/types/float_formats.h"

HWY_BEFORE_NAMESPACE();
namespace tilecheck {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// k's that a packed panel holds: two vectors each, a panel fits the first-level cache.
constexpr int64_t kDepth = 256;

template <class T>
struct Matrix {
  const T* data;
  int64_t row_stride, column_stride;
};

template <class D, class V>
HWY_INLINE V multiply_add(D, V a, V b, V c) {
  if constexpr (hwy::IsFloat<hn::TFromD<D>>())
    return hn::MulAdd(a, b, c);
  else
    return hn::Add(hn::Mul(a, b), c);
}

// Rows of a register block. AVX-512 has twice the registers; powers of two leave no odd rows in the usual tiles.
template <class T>
constexpr int block_rows() {
  return HWY_TARGET == HWY_AVX3 ? 8 : 6;
}
template <class T>
constexpr int64_t panel_columns() {
  return 2 * static_cast<int64_t>(hn::MaxLanes(hn::ScalableTag<T>()));
}

// out[kRows, two vectors] (+)= a[kRows, k] b[k, two vectors]; then out = addend + out, where there is one, of out's
// strides.
template <int kRows, class T>
HWY_NOINLINE void multiply_block(const Matrix<T> a, const T* HWY_RESTRICT b, int64_t b_stride, T* out,
                                 int64_t out_stride, int64_t k, bool accumulate, const T* addend) {
  const hn::ScalableTag<T> d;
  using V = decltype(hn::Zero(d));
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  V sums[kRows][2];
  const T* rows[kRows];
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
    rows[i] = a.data + i * a.row_stride;
    sums[i][0] = accumulate ? hn::LoadU(d, out + i * out_stride) : hn::Zero(d);
    sums[i][1] = accumulate ? hn::LoadU(d, out + i * out_stride + lanes) : hn::Zero(d);
  }
  int64_t at = 0;
  for (int64_t p = 0; p < k; ++p) {
    const V left = hn::LoadU(d, b), right = hn::LoadU(d, b + lanes);
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
      const V x = hn::Set(d, rows[i][at]);
      sums[i][0] = multiply_add(d, x, left, sums[i][0]);
      sums[i][1] = multiply_add(d, x, right, sums[i][1]);
    }
    at += a.column_stride;
    b += b_stride;
  }
  if (addend)
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
      sums[i][0] = hn::Add(hn::LoadU(d, addend + i * out_stride), sums[i][0]);
      sums[i][1] = hn::Add(hn::LoadU(d, addend + i * out_stride + lanes), sums[i][1]);
    }
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
    hn::StoreU(sums[i][0], d, out + i * out_stride);
    hn::StoreU(sums[i][1], d, out + i * out_stride + lanes);
  }
}

template <int kRows, class T>
void multiply_rows(int64_t rows, const Matrix<T>& a, const T* b, int64_t b_stride, T* out, int64_t out_stride,
                   int64_t k, bool accumulate, const T* addend) {
  if (rows == kRows) return multiply_block<kRows, T>(a, b, b_stride, out, out_stride, k, accumulate, addend);
  if constexpr (kRows > 1) multiply_rows<kRows - 1, T>(rows, a, b, b_stride, out, out_stride, k, accumulate, addend);
}

// All rows of lhs times one panel of `columns` columns.
template <class T>
void multiply_panel(int64_t m, const Matrix<T>& a, const T* b, int64_t b_stride, T* out, int64_t out_stride,
                    int64_t columns, int64_t k, bool accumulate, const T* addend) {
  constexpr int kRows = block_rows<T>();
  constexpr int64_t kColumns = panel_columns<T>();
  T edge[kRows * kColumns];
  for (int64_t i = 0; i < m; i += kRows) {
    const int64_t rows = std::min<int64_t>(kRows, m - i);
    const Matrix<T> block = {a.data + i * a.row_stride, a.row_stride, a.column_stride};
    T* to = out + i * out_stride;
    if (columns == kColumns) {
      multiply_rows<kRows, T>(rows, block, b, b_stride, to, out_stride, k, accumulate,
                              addend ? addend + i * out_stride : nullptr);
      continue;
    }
    const size_t bytes = static_cast<size_t>(columns) * sizeof(T);
    if (accumulate)
      for (int64_t r = 0; r < rows; ++r) std::memcpy(edge + r * kColumns, to + r * out_stride, bytes);
    multiply_rows<kRows, T>(rows, block, b, b_stride, edge, kColumns, k, accumulate, nullptr);
    for (int64_t r = 0; r < rows; ++r) {
      T* row = edge + r * kColumns;
      if (addend)
        for (int64_t c = 0; c < columns; ++c) row[c] = addend[(i + r) * out_stride + c] + row[c];
      std::memcpy(to + r * out_stride, row, bytes);
    }
  }
}

// Elements of storage S as T: themselves, or f32 from bf16's bits.
template <class T, class S>
HWY_INLINE T widened(S element) {
  if constexpr (std::is_same_v<T, S>)
    return element;
  else
    return bf16_to_f32(element);
}
template <class D, class S>
HWY_INLINE hn::Vec<D> load_widened(D d, const S* from) {
  if constexpr (std::is_same_v<hn::TFromD<D>, S>)
    return hn::LoadU(d, from);
  else
    return hn::BitCast(
        d, hn::ShiftLeft<16>(hn::PromoteTo(hn::RebindToUnsigned<D>(), hn::LoadU(hn::Rebind<uint16_t, D>(), from))));
}

// Asks for the cache lines of n elements. What lies behind a matrix does no harm.
template <class S>
HWY_INLINE void prefetch(const S* from, int64_t n) {
  for (int64_t i = 0; i < n; i += 64 / static_cast<int64_t>(sizeof(S))) __builtin_prefetch(from + i);
}

// Eight rows of eight consecutive floats, turned: to[j * to_stride + i] = from[i * from_stride + j].
template <class S>
HWY_INLINE void transpose_8x8(const S* from, int64_t from_stride, float* to, int64_t to_stride) {
  const hn::FixedTag<float, 8> d;
  const hn::Repartition<double, decltype(d)> pairs;
  using V = decltype(hn::Zero(d));
  V rows[8], turned[8];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) rows[i] = load_widened(d, from + i * from_stride);
#pragma GCC unroll 4
  for (int i = 0; i < 8; i += 2) {
    turned[i] = hn::InterleaveLower(d, rows[i], rows[i + 1]);
    turned[i + 1] = hn::InterleaveUpper(d, rows[i], rows[i + 1]);
  }
#pragma GCC unroll 2
  for (int i = 0; i < 8; i += 4)
#pragma GCC unroll 2
    for (int h = 0; h < 2; ++h) {
      const auto low = hn::BitCast(pairs, turned[i + h]), high = hn::BitCast(pairs, turned[i + h + 2]);
      rows[i + 2 * h] = hn::BitCast(d, hn::InterleaveLower(pairs, low, high));
      rows[i + 2 * h + 1] = hn::BitCast(d, hn::InterleaveUpper(pairs, low, high));
    }
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    hn::StoreU(hn::ConcatLowerLower(d, rows[j + 4], rows[j]), d, to + j * to_stride);
    hn::StoreU(hn::ConcatUpperUpper(d, rows[j + 4], rows[j]), d, to + (j + 4) * to_stride);
  }
}

// How many rows of rhs ahead of the one that is packed the next are asked for: about a page.
constexpr int64_t kRowsAhead = 8;

// Rows first .. first + k of columns from .. from + columns, as k rows of panel_columns() with zeros behind.
template <class T, class S>
void pack_panel(const Matrix<S>& b, int64_t first, int64_t k, int64_t from, int64_t columns, T* panel) {
  constexpr int64_t kColumns = panel_columns<T>();
  const S* source = b.data + first * b.row_stride + from * b.column_stride;
  if (b.column_stride == 1) {
    const hn::ScalableTag<T> d;
    const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
    for (int64_t p = 0; p < k; ++p, source += b.row_stride, panel += kColumns) {
      prefetch(source + kRowsAhead * b.row_stride, columns);
      if (columns == kColumns) {
        hn::StoreU(load_widened(d, source), d, panel);
        hn::StoreU(load_widened(d, source + lanes), d, panel + lanes);
      } else {
        for (int64_t j = 0; j < columns; ++j) panel[j] = widened<T>(source[j]);
        std::fill(panel + columns, panel + kColumns, T{0});
      }
    }
    return;
  }
  int64_t turned_k = 0, turned_columns = 0;
  if constexpr (std::is_same_v<T, float>)
    if (b.row_stride == 1) {
      turned_k = k / 8 * 8;
      turned_columns = columns / 8 * 8;
      for (int64_t j = 0; j < turned_columns; j += 8) {
        const S* rows = source + j * b.column_stride;
        for (int64_t i = 0; i < 8; ++i) prefetch(rows + (kRowsAhead + i) * b.column_stride, k);
        for (int64_t p = 0; p < turned_k; p += 8)
          transpose_8x8(rows + p, b.column_stride, panel + p * kColumns + j, kColumns);
      }
    }
  for (int64_t p = 0; p < k; ++p) {
    T* row = panel + p * kColumns;
    for (int64_t j = p < turned_k ? turned_columns : 0; j < columns; ++j)
      row[j] = widened<T>(source[p * b.row_stride + j * b.column_stride]);
    std::fill(row + columns, row + kColumns, T{0});
  }
}

template <class T, class S = T>
void multiply(const GemmCall& call) {
  constexpr int64_t kColumns = panel_columns<T>();
  const Matrix<T> a = {reinterpret_cast<const T*>(call.lhs.data), call.lhs.row_stride, call.lhs.column_stride};
  const Matrix<S> b = {reinterpret_cast<const S*>(call.rhs.data), call.rhs.row_stride, call.rhs.column_stride};
  T* out = reinterpret_cast<T*>(call.out);
  const T* addend = reinterpret_cast<const T*>(call.addend);
  if (call.k == 0 && !call.accumulate) std::memset(call.out, 0, static_cast<size_t>(call.m * call.n) * sizeof(T));
  // Packing pays when several row blocks use the panel.
  constexpr bool kWidens = !std::is_same_v<T, S>;
  const bool packs = kWidens || b.column_stride != 1 || call.m > 2 * block_rows<T>();
  const BlockPtr block = call.pool->allocate(kDepth * kColumns * static_cast<int64_t>(sizeof(T)));
  T* panel = reinterpret_cast<T*>(block.data());
  for (int64_t first = 0; first < call.k; first += kDepth) {
    const int64_t k = std::min(kDepth, call.k - first);
    const bool adds = addend && first + k == call.k;
    const Matrix<T> left = {a.data + first * a.column_stride, a.row_stride, a.column_stride};
    for (int64_t j = 0; j < call.n; j += kColumns) {
      const int64_t columns = std::min(kColumns, call.n - j);
      const bool packed = packs || columns < kColumns;
      if (packed) pack_panel(b, first, k, j, columns, panel);
      const T* from = panel;
      if constexpr (!kWidens)
        if (!packed) from = b.data + first * b.row_stride + j;
      multiply_panel(call.m, left, from, packed ? kColumns : b.row_stride, out + j, call.n, columns, k,
                     call.accumulate || first > 0, adds ? addend + j : nullptr);
    }
  }
}

void run_gemm(const GemmCall& call) {
  if (call.dtype == DType::f32 && call.rhs_is_bf16) return multiply<float, uint16_t>(call);
  if (call.dtype == DType::f32) return multiply<float>(call);
  if (call.dtype == DType::f64) return multiply<double>(call);
  multiply<int32_t>(call);
}

}  // namespace HWY_NAMESPACE
}  // namespace tilecheck
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tilecheck {
namespace {

void multiply_i64(const GemmCall& call) {
  const uint64_t* a = reinterpret_cast<const uint64_t*>(call.lhs.data);
  const uint64_t* b = reinterpret_cast<const uint64_t*>(call.rhs.data);
  uint64_t* out = reinterpret_cast<uint64_t*>(call.out);
  for (int64_t i = 0; i < call.m; ++i)
    for (int64_t j = 0; j < call.n; ++j) {
      uint64_t sum = call.accumulate ? out[i * call.n + j] : 0;
      for (int64_t p = 0; p < call.k; ++p)
        sum += a[i * call.lhs.row_stride + p * call.lhs.column_stride] *
               b[p * call.rhs.row_stride + j * call.rhs.column_stride];
      out[i * call.n + j] = sum;
    }
}

HWY_EXPORT(run_gemm);

}  // namespace

void gemm(const GemmCall& call) {
  if (call.m == 0 || call.n == 0) return;
  if (call.dtype == DType::i64) return multiply_i64(call);
  HWY_DYNAMIC_DISPATCH(run_gemm)(call);
}

}  // namespace tilecheck
#endif
