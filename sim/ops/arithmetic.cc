// The float operations that tiles spend most of their time in, on f32 and f64, by vectors.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sim/ops/arithmetic.cc"
#include <algorithm>

#include "sim/ops/simd.h"
#include "sim/ops/simd_join.h"
#include "sim/ops/strips.h"

HWY_BEFORE_NAMESPACE();
namespace tilecheck {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <OpId kOp, class T>
void binary_strip(const StripArgs& args) {
  const hn::ScalableTag<T> d;
  const T* a = static_cast<const T*>(args.operands[0]);
  const T* b = static_cast<const T*>(args.operands[1]);
  T* out = static_cast<T*>(args.out);
  const int64_t n = args.n, lanes = static_cast<int64_t>(hn::Lanes(d));
  if (n <= 0) return;
  const bool one_a = args.splat_mask & 1, one_b = args.splat_mask & 2;
  const auto x = hn::Set(d, a[0]), y = hn::Set(d, b[0]);
  int64_t i = 0;
  if (one_a && one_b) {
    const auto value = join<kOp>(d, x, y);
    for (; i + lanes <= n; i += lanes) hn::StoreU(value, d, out + i);
  } else if (one_a) {
    for (; i + lanes <= n; i += lanes) hn::StoreU(join<kOp>(d, x, hn::LoadU(d, b + i)), d, out + i);
  } else if (one_b) {
    for (; i + lanes <= n; i += lanes) hn::StoreU(join<kOp>(d, hn::LoadU(d, a + i), y), d, out + i);
  } else {
    for (; i + lanes <= n; i += lanes) hn::StoreU(join<kOp>(d, hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, out + i);
  }
  if (i == n) return;
  T left[16] = {}, right[16] = {};
  std::copy_n(a + (one_a ? 0 : i), one_a ? 1 : n - i, left);
  std::copy_n(b + (one_b ? 0 : i), one_b ? 1 : n - i, right);
  const auto rest = join<kOp>(d, one_a ? x : hn::LoadU(d, left), one_b ? y : hn::LoadU(d, right));
  hn::StoreU(rest, d, left);
  std::copy_n(left, n - i, out + i);
}

template <class T>
StripFn strip_of(OpId op) {
  switch (op) {
    case OpId::addf:
      return &binary_strip<OpId::addf, T>;
    case OpId::subf:
      return &binary_strip<OpId::subf, T>;
    case OpId::mulf:
      return &binary_strip<OpId::mulf, T>;
    case OpId::divf:
      return &binary_strip<OpId::divf, T>;
    case OpId::maximumf:
      return &binary_strip<OpId::maximumf, T>;
    case OpId::minimumf:
      return &binary_strip<OpId::minimumf, T>;
    case OpId::maxnumf:
      return &binary_strip<OpId::maxnumf, T>;
    case OpId::minnumf:
      return &binary_strip<OpId::minnumf, T>;
    default:
      return nullptr;
  }
}

StripFn arithmetic_strip_of(OpId op, DType repr) {
  return repr == DType::f32 ? strip_of<float>(op) : repr == DType::f64 ? strip_of<double>(op) : nullptr;
}

}  // namespace HWY_NAMESPACE
}  // namespace tilecheck
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tilecheck {

HWY_EXPORT(arithmetic_strip_of);

StripFn arithmetic_strip(OpId op, DType repr) { return HWY_DYNAMIC_DISPATCH(arithmetic_strip_of)(op, repr); }

}  // namespace tilecheck
#endif
