// Which instruction set runs, and how tests pick one.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sim/ops/isa.cc"
#include "sim/ops/ops.h"
#include "sim/ops/simd.h"

HWY_BEFORE_NAMESPACE();
namespace tilecheck {
namespace HWY_NAMESPACE {

std::string_view name_of_target() { return HWY_TARGET == HWY_AVX3 ? "avx512" : "avx2"; }

}  // namespace HWY_NAMESPACE
}  // namespace tilecheck
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tilecheck {

HWY_EXPORT(name_of_target);

void use_vector_isa(VectorIsa isa) {
  hwy::SetSupportedTargetsForTest(isa == VectorIsa::avx2 ? HWY_AVX2 : 0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

std::string_view vector_isa() { return HWY_DYNAMIC_DISPATCH(name_of_target)(); }

}  // namespace tilecheck
#endif
