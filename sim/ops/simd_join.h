// Two float vectors joined by an operation: what strips and reductions share. Included once per target, after simd.h.
#if defined(TILECHECK_SIM_OPS_SIMD_JOIN_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TILECHECK_SIM_OPS_SIMD_JOIN_H
#undef TILECHECK_SIM_OPS_SIMD_JOIN_H
#else
#define TILECHECK_SIM_OPS_SIMD_JOIN_H
#endif

#include "sim/ops/ops.h"
#include "sim/ops/simd.h"

HWY_BEFORE_NAMESPACE();
namespace tilecheck {
namespace HWY_NAMESPACE {

// Reductions are named by the elementwise operation that they repeat. max and min as IEEE 754-2019 maximum and minimum:
// NaN wins, -0 < +0; the maxnum forms prefer the number.
template <OpId kOp, class D, class V>
HWY_INLINE V join([[maybe_unused]] D d, V a, V b) {
  namespace hn = hwy::HWY_NAMESPACE;
  if constexpr (kOp == OpId::addf) {
    return hn::Add(a, b);
  } else if constexpr (kOp == OpId::subf) {
    return hn::Sub(a, b);
  } else if constexpr (kOp == OpId::mulf) {
    return hn::Mul(a, b);
  } else if constexpr (kOp == OpId::divf) {
    return hn::Div(a, b);
  } else if constexpr (kOp == OpId::maximumf || kOp == OpId::minimumf) {
    // The instructions return the second operand for equal or unordered ones: and (or) of both orders makes zeros
    // right.
    const V both = kOp == OpId::maximumf ? hn::And(hn::Max(a, b), hn::Max(b, a)) : hn::Or(hn::Min(a, b), hn::Min(b, a));
    return hn::IfThenElse(hn::IsNaN(a), a, hn::IfThenElse(hn::IsNaN(b), b, both));
  } else {
    constexpr OpId kOrdered = kOp == OpId::maxnumf ? OpId::maximumf : OpId::minimumf;
    return hn::IfThenElse(hn::IsNaN(a), b, hn::IfThenElse(hn::IsNaN(b), a, join<kOrdered>(d, a, b)));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tilecheck
HWY_AFTER_NAMESPACE();

#endif
