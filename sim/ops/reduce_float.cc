// Reductions of floats: sixteen logical lanes and a fixed tree, whatever the vector width.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sim/ops/reduce_float.cc"
#include <algorithm>
#include <cmath>

#include "sim/ops/reduce.h"
#include "sim/ops/simd.h"
#include "sim/ops/simd_join.h"

HWY_BEFORE_NAMESPACE();
namespace tilecheck {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <OpId kOp, class T>
constexpr T identity() {
  if constexpr (kOp == OpId::mulf) return T{1};
  if constexpr (kOp == OpId::maximumf) return static_cast<T>(-HUGE_VAL);
  if constexpr (kOp == OpId::minimumf) return static_cast<T>(HUGE_VAL);
  return T{0};
}

// The joining of lanes in rows: exact by join(), quick by one instruction and a look at the result afterwards.
template <OpId kOp, bool kQuick, class D, class V>
HWY_INLINE V row_join(D d, V sum, V x) {
  if constexpr (kQuick && kOp == OpId::maximumf)
    return hn::Max(sum, x);
  else if constexpr (kQuick && kOp == OpId::minimumf)
    return hn::Min(sum, x);
  else
    return join<kOp>(d, sum, x);
}

// kLanes lanes in kParts vectors.
template <class T>
struct Lanes {
  using D = hn::CappedTag<T, kLanes>;
  static constexpr int kParts = kLanes / static_cast<int>(hn::MaxLanes(D()));
  hn::Vec<D> parts[kParts];
};

template <OpId kOp, bool kQuick, class T>
HWY_INLINE T joined(const Lanes<T>& lanes) {
  using D = typename Lanes<T>::D;
  constexpr D d;
  constexpr int kParts = Lanes<T>::kParts;
  hn::Vec<D> parts[kParts];
  for (int p = 0; p < kParts; ++p) parts[p] = lanes.parts[p];
  for (int half = kParts / 2; half > 0; half /= 2)
    for (int p = 0; p < half; ++p) parts[p] = row_join<kOp, kQuick>(d, parts[p], parts[p + half]);
  const auto fold = [](auto self, auto tag, auto v) HWY_ATTR -> T {
    constexpr size_t kSize = hn::MaxLanes(decltype(tag)());
    if constexpr (kSize == 1) {
      return hn::GetLane(v);
    } else {
      const hn::Half<decltype(tag)> half;
      return self(self, half, row_join<kOp, kQuick>(half, hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
    }
  };
  return fold(fold, d, parts[0]);
}

// kRows rows of n elements at once; results in to[0 .. kRows). `odd` is set when a quick result has to be done again:
// for NaN, and for zero, whose sign the instruction does not order.
template <OpId kOp, bool kQuick, int kRows, class T>
HWY_INLINE void reduce_rows(const T* from, int64_t n, T* to, bool& odd) {
  using D = typename Lanes<T>::D;
  constexpr D d;
  constexpr int kParts = Lanes<T>::kParts;
  constexpr int64_t kVector = kLanes / kParts;
  Lanes<T> lanes[kRows];
  const auto start = hn::Set(d, identity<kOp, T>());
  auto ordered = hn::FirstN(d, static_cast<size_t>(kVector));
  for (auto& row : lanes)
    for (auto& part : row.parts) part = start;
  const auto add = [&](int r, int p, auto x) HWY_ATTR {
    if constexpr (kQuick) ordered = hn::And(ordered, hn::Eq(x, x));
    lanes[r].parts[p] = row_join<kOp, kQuick>(d, lanes[r].parts[p], x);
  };
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
      for (int p = 0; p < kParts; ++p) add(r, p, hn::LoadU(d, from + r * n + i + p * kVector));
  if (i < n)
    for (int r = 0; r < kRows; ++r) {
      // Lanes without an element join the identity, which changes none of them (x + 0 could: -0; sums start at +0).
      T rest[kLanes];
      std::fill_n(rest, kLanes, identity<kOp, T>());
      std::copy_n(from + r * n + i, n - i, rest);
      for (int p = 0; p < kParts; ++p) add(r, p, hn::LoadU(d, rest + p * kVector));
    }
  for (int r = 0; r < kRows; ++r) {
    to[r] = joined<kOp, kQuick>(lanes[r]);
    odd = odd || (kQuick && to[r] == 0);
  }
  if constexpr (kQuick) odd = odd || !hn::AllTrue(d, ordered);
}

template <OpId kOp, int kRows, class T>
HWY_INLINE void reduce_rows_exactly(const T* from, int64_t n, T* to) {
  constexpr bool kQuick = kOp == OpId::maximumf || kOp == OpId::minimumf;
  bool odd = false;
  reduce_rows<kOp, kQuick, kRows>(from, n, to, odd);
  if (kQuick && odd) reduce_rows<kOp, false, kRows>(from, n, to, odd);
}

// Chains down the columns, kVectors vectors of them at once.
template <OpId kOp, int kVectors, class T>
HWY_INLINE void reduce_columns(const T* from, int64_t rows, int64_t stride, T* to) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<decltype(d)> sums[kVectors];
  for (auto& sum : sums) sum = hn::Set(d, identity<kOp, T>());
  for (int64_t r = 0; r < rows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sums[v] = join<kOp>(d, sums[v], hn::LoadU(d, from + r * stride + v * lanes));
  for (int v = 0; v < kVectors; ++v) hn::StoreU(sums[v], d, to + v * lanes);
}

template <OpId kOp, class T>
void reduce(const void* from_bytes, void* to_bytes, const Extents& e) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const T* from = static_cast<const T*>(from_bytes);
  T* to = static_cast<T*>(to_bytes);
  if (e.inner == 1) {
    int64_t a = 0;
    for (; a + 4 <= e.outer; a += 4) reduce_rows_exactly<kOp, 4>(from + a * e.reduced, e.reduced, to + a);
    for (; a < e.outer; ++a) reduce_rows_exactly<kOp, 1>(from + a * e.reduced, e.reduced, to + a);
    return;
  }
  for (int64_t a = 0; a < e.outer; ++a, from += e.reduced * e.inner, to += e.inner) {
    int64_t b = 0;
    for (; b + 4 * lanes <= e.inner; b += 4 * lanes) reduce_columns<kOp, 4>(from + b, e.reduced, e.inner, to + b);
    for (; b + lanes <= e.inner; b += lanes) reduce_columns<kOp, 1>(from + b, e.reduced, e.inner, to + b);
    if (b == e.inner) continue;
    const int64_t rest = e.inner - b;
    T sums[16], row[16] = {};
    std::fill_n(sums, 16, identity<kOp, T>());
    for (int64_t r = 0; r < e.reduced; ++r) {
      std::copy_n(from + r * e.inner + b, rest, row);
      hn::StoreU(join<kOp>(d, hn::LoadU(d, sums), hn::LoadU(d, row)), d, sums);
    }
    std::copy_n(sums, rest, to + b);
  }
}

template <class T>
ReduceFn reduce_of(OpId op) {
  switch (op) {
    case OpId::reduce_add:
      return &reduce<OpId::addf, T>;
    case OpId::reduce_mul:
      return &reduce<OpId::mulf, T>;
    case OpId::reduce_max:
      return &reduce<OpId::maximumf, T>;
    default:
      return &reduce<OpId::minimumf, T>;
  }
}

ReduceFn float_reduce_of(OpId op, DType repr) {
  return repr == DType::f32 ? reduce_of<float>(op) : reduce_of<double>(op);
}

}  // namespace HWY_NAMESPACE
}  // namespace tilecheck
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tilecheck {

HWY_EXPORT(float_reduce_of);

ReduceFn float_reduce(OpId op, DType repr) { return HWY_DYNAMIC_DISPATCH(float_reduce_of)(op, repr); }

}  // namespace tilecheck
#endif
