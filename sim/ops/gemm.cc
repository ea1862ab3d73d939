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
// Where lhs has more than this, so many of its rows meet a group of panels before the next do: both stay in the
// second-level cache.
constexpr int64_t kRowsBytes = int64_t{1} << 18;
constexpr int64_t kGroupPanels = 8;
constexpr int64_t kMinRows = 64;

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

// One panel's part of a product: out[rows, columns] (+)= a[rows, k] b[k, columns]. Then, where there are such, out =
// out * factor (one a row) and out = addend + out, of out's strides. b has b_stride elements from row to row.
template <class T>
struct Panel {
  Matrix<T> a;
  const T* b;
  int64_t b_stride;
  T* out;
  int64_t out_stride;
  int64_t k;
  bool accumulate;
  const T* addend;
  const T* factor;
  int64_t factor_step;
};

// Rows first .. first + kRows of a panel of two vectors.
template <int kRows, class T>
HWY_INLINE void multiply_block(const Panel<T>& panel, const T* a, T* HWY_RESTRICT out, const T* HWY_RESTRICT addend,
                               const T* factor) {
  const hn::ScalableTag<T> d;
  using V = decltype(hn::Zero(d));
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t out_stride = panel.out_stride, k = panel.k, b_stride = panel.b_stride;
  const int64_t row_stride = panel.a.row_stride, column_stride = panel.a.column_stride;
  V sums[kRows][2];
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
    sums[i][0] = panel.accumulate ? hn::LoadU(d, out + i * out_stride) : hn::Zero(d);
    sums[i][1] = panel.accumulate ? hn::LoadU(d, out + i * out_stride + lanes) : hn::Zero(d);
  }
  const T* HWY_RESTRICT b = panel.b;
  for (int64_t p = 0; p < k; ++p) {
    const V left = hn::LoadU(d, b), right = hn::LoadU(d, b + lanes);
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      const V x = hn::Set(d, a[i * row_stride]);
      sums[i][0] = multiply_add(d, x, left, sums[i][0]);
      sums[i][1] = multiply_add(d, x, right, sums[i][1]);
    }
    a += column_stride;
    b += b_stride;
  }
  if (factor)
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      const V x = hn::Set(d, factor[i * panel.factor_step]);
      sums[i][0] = hn::Mul(sums[i][0], x);
      sums[i][1] = hn::Mul(sums[i][1], x);
    }
  if (addend)
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      sums[i][0] = hn::Add(hn::LoadU(d, addend + i * out_stride), sums[i][0]);
      sums[i][1] = hn::Add(hn::LoadU(d, addend + i * out_stride + lanes), sums[i][1]);
    }
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
    hn::StoreU(sums[i][0], d, out + i * out_stride);
    hn::StoreU(sums[i][1], d, out + i * out_stride + lanes);
  }
}

template <int kRows, class T>
HWY_NOINLINE void multiply_last_rows(int64_t rows, const Panel<T>& panel, const T* a, T* out, const T* addend,
                                     const T* factor) {
  if (rows == kRows) return multiply_block<kRows, T>(panel, a, out, addend, factor);
  if constexpr (kRows > 1) multiply_last_rows<kRows - 1, T>(rows, panel, a, out, addend, factor);
}

// m rows of a panel of two vectors. What a block needs comes in registers or was written long before: a load that spans
// younger stores would wait until all results before it have left for memory.
template <class T>
HWY_NOINLINE void multiply_whole(int64_t m, const Panel<T>& panel) {
  constexpr int kRows = block_rows<T>();
  const T* a = panel.a.data;
  T* out = panel.out;
  const T* addend = panel.addend;
  const T* factor = panel.factor;
  for (; m >= kRows; m -= kRows) {
    multiply_block<kRows, T>(panel, a, out, addend, factor);
    a += kRows * panel.a.row_stride;
    out += kRows * panel.out_stride;
    if (addend) addend += kRows * panel.out_stride;
    if (factor) factor += kRows * panel.factor_step;
  }
  if (m > 0) multiply_last_rows<kRows - 1, T>(m, panel, a, out, addend, factor);
}

// m rows of a panel of which `columns` columns count.
template <class T>
HWY_NOINLINE void multiply_narrow(int64_t m, int64_t columns, const Panel<T>& panel) {
  constexpr int kRows = block_rows<T>();
  constexpr int64_t kColumns = panel_columns<T>();
  T edge[kRows * kColumns];
  Panel<T> part = panel;
  part.out = edge;
  part.out_stride = kColumns;
  part.addend = nullptr;
  const size_t bytes = static_cast<size_t>(columns) * sizeof(T);
  for (int64_t i = 0; i < m; i += kRows) {
    const int64_t rows = std::min<int64_t>(kRows, m - i);
    T* to = panel.out + i * panel.out_stride;
    part.a.data = panel.a.data + i * panel.a.row_stride;
    if (panel.factor) part.factor = panel.factor + i * panel.factor_step;
    if (panel.accumulate)
      for (int64_t r = 0; r < rows; ++r) std::memcpy(edge + r * kColumns, to + r * panel.out_stride, bytes);
    multiply_whole(rows, part);
    for (int64_t r = 0; r < rows; ++r) {
      T* row = edge + r * kColumns;
      if (panel.addend)
        for (int64_t c = 0; c < columns; ++c) row[c] = panel.addend[(i + r) * panel.out_stride + c] + row[c];
      std::memcpy(to + r * panel.out_stride, row, bytes);
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

// Words 0 .. 4 of rows `first`, first + 4, ...: as many rows as a vector has blocks of four.
template <class D>
HWY_INLINE hn::Vec<D> load_blocks(D d, const std::byte* first, int64_t stride_bytes) {
  if constexpr (hn::MaxLanes(D()) == 4) {
    return hn::LoadU(d, reinterpret_cast<const float*>(first));
  } else {
    const hn::Half<D> half;
    constexpr int64_t kRows = static_cast<int64_t>(hn::MaxLanes(D()) / 2);
    return hn::Combine(d, load_blocks(half, first + kRows * stride_bytes, stride_bytes),
                       load_blocks(half, first, stride_bytes));
  }
}

// As many rows as D has lanes, of four consecutive 32-bit words each, turned: word j of each to columns[j].
template <class D>
HWY_INLINE void turn(D d, const std::byte* from, int64_t stride_bytes, hn::Vec<D>* columns) {
  const hn::Repartition<double, D> pairs;
  hn::Vec<D> rows[4];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) rows[i] = load_blocks(d, from + i * stride_bytes, stride_bytes);
#pragma GCC unroll 2
  for (int half = 0; half < 2; ++half) {
    const auto first = half ? hn::InterleaveUpper(d, rows[0], rows[1]) : hn::InterleaveLower(d, rows[0], rows[1]);
    const auto second = half ? hn::InterleaveUpper(d, rows[2], rows[3]) : hn::InterleaveLower(d, rows[2], rows[3]);
    const auto low = hn::BitCast(pairs, first), high = hn::BitCast(pairs, second);
    columns[2 * half] = hn::BitCast(d, hn::InterleaveLower(pairs, low, high));
    columns[2 * half + 1] = hn::BitCast(d, hn::InterleaveUpper(pairs, low, high));
  }
}

// k's that turn_rows() takes at a time.
template <class S>
constexpr int64_t kTurned = 16 / static_cast<int64_t>(sizeof(S));

// Rows of k elements that stand from_stride apart, as many as D has lanes, become columns of a panel: k a multiple of
// kTurned.
template <class D, class S>
HWY_INLINE void turn_rows(D d, const S* from, int64_t from_stride, int64_t k, float* to, int64_t to_stride) {
  for (int64_t p = 0; p < k; p += kTurned<S>, to += kTurned<S> * to_stride) {
    hn::Vec<D> words[4];
    turn(d, reinterpret_cast<const std::byte*>(from + p), from_stride * static_cast<int64_t>(sizeof(S)), words);
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      if constexpr (std::is_same_v<S, float>) {
        hn::StoreU(words[j], d, to + j * to_stride);
      } else {  // two bf16 in a word
        const hn::RebindToUnsigned<D> bits;
        const auto both = hn::BitCast(bits, words[j]);
        hn::StoreU(hn::BitCast(d, hn::ShiftLeft<16>(both)), d, to + 2 * j * to_stride);
        hn::StoreU(hn::BitCast(d, hn::And(both, hn::Set(bits, 0xffff0000u))), d, to + (2 * j + 1) * to_stride);
      }
    }
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
      turned_k = k / kTurned<S> * kTurned<S>;
      const auto turn_next = [&](auto d) HWY_ATTR {
        constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(decltype(d)()));
        for (; turned_columns + kLanes <= columns; turned_columns += kLanes) {
          const S* rows = source + turned_columns * b.column_stride;
          for (int64_t i = 0; i < kLanes; ++i) prefetch(rows + (kLanes + i) * b.column_stride, k);
          turn_rows(d, rows, b.column_stride, turned_k, panel + turned_columns, kColumns);
        }
      };
      turn_next(hn::ScalableTag<float>());
      turn_next(hn::FixedTag<float, 8>());
    }
  for (int64_t p = 0; p < k; ++p) {
    T* row = panel + p * kColumns;
    for (int64_t j = p < turned_k ? turned_columns : 0; j < columns; ++j)
      row[j] = widened<T>(source[p * b.row_stride + j * b.column_stride]);
    std::fill(row + columns, row + kColumns, T{0});
  }
}

// One product, rhs of storage S.
template <class T, class S>
class Product {
 public:
  explicit Product(const GemmCall& call)
      : m_(call.m),
        n_(call.n),
        k_(call.k),
        a_{reinterpret_cast<const T*>(call.lhs.data), call.lhs.row_stride, call.lhs.column_stride},
        b_{reinterpret_cast<const S*>(call.rhs.data), call.rhs.row_stride, call.rhs.column_stride},
        out_(reinterpret_cast<T*>(call.out)),
        addend_(reinterpret_cast<const T*>(call.addend)),
        factor_(reinterpret_cast<const T*>(call.factor)),
        factor_step_(call.factor_step),
        accumulate_(call.accumulate),
        packs_(kWidens || b_.column_stride != 1 || call.m > 2 * block_rows<T>()),
        rows_(std::max(kMinRows, kRowsBytes / static_cast<int64_t>(sizeof(T)) / std::clamp<int64_t>(k_, 1, kDepth))),
        panels_(m_ > rows_ ? kGroupPanels : 1),
        room_(call.pool->allocate(panels_ * kPanelSize * static_cast<int64_t>(sizeof(T)))) {}

  void run() const {
    if (k_ == 0 && !accumulate_) std::memset(out_, 0, static_cast<size_t>(m_ * n_) * sizeof(T));
    for (int64_t first = 0; first < k_; first += kDepth)
      for (int64_t from = 0; from < n_; from += panels_ * kColumns)
        for (int64_t row = 0; row < m_; row += rows_)
          for (int64_t panel = 0; panel < panels_ && from + panel * kColumns < n_; ++panel)
            multiply_panel(first, from + panel * kColumns, row, panel);
  }

 private:
  static constexpr bool kWidens = !std::is_same_v<T, S>;
  static constexpr int64_t kColumns = panel_columns<T>();
  static constexpr int64_t kPanelSize = kDepth * kColumns;

  // Rows of lhs from `row` on times the panel of k's from `first` and columns from `from` on, which the first rows
  // pack.
  void multiply_panel(int64_t first, int64_t from, int64_t row, int64_t panel) const {
    const int64_t k = std::min(kDepth, k_ - first), columns = std::min(kColumns, n_ - from);
    T* const packed = reinterpret_cast<T*>(room_.data()) + panel * kPanelSize;
    const int64_t at = row * n_ + from;
    const bool ends = first + k == k_;
    Panel<T> part = {.a = {a_.data + row * a_.row_stride + first * a_.column_stride, a_.row_stride, a_.column_stride},
                     .b = packed,
                     .b_stride = kColumns,
                     .out = out_ + at,
                     .out_stride = n_,
                     .k = k,
                     .accumulate = accumulate_ || first > 0,
                     .addend = addend_ && ends ? addend_ + at : nullptr,
                     .factor = factor_ && ends ? factor_ + row * factor_step_ : nullptr,
                     .factor_step = factor_step_};
    if (packs_ || columns < kColumns) {
      if (row == 0) pack_panel(b_, first, k, from, columns, packed);
    } else if constexpr (!kWidens) {
      part.b = b_.data + first * b_.row_stride + from;
      part.b_stride = b_.row_stride;
    }
    const int64_t rows = std::min(rows_, m_ - row);
    if (columns == kColumns)
      multiply_whole(rows, part);
    else
      multiply_narrow(rows, columns, part);
  }

  int64_t m_, n_, k_;
  Matrix<T> a_;
  Matrix<S> b_;
  T* out_;
  const T* addend_;
  const T* factor_;
  int64_t factor_step_;
  bool accumulate_;
  bool packs_;             // which pays when several row blocks use a panel
  int64_t rows_, panels_;  // how many of them meet at a time
  BlockPtr room_;          // of packed panels
};

void run_gemm(const GemmCall& call) {
  if (call.dtype == DType::f32 && call.rhs_is_bf16) return Product<float, uint16_t>(call).run();
  if (call.dtype == DType::f32) return Product<float, float>(call).run();
  if (call.dtype == DType::f64) return Product<double, double>(call).run();
  Product<int32_t, int32_t>(call).run();
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
