// The floating-point environment of kernel execution: round to nearest, no flush to zero, whatever the host has set.
#pragma once

#include <immintrin.h>

namespace tilecheck {

// Sets MXCSR for the current thread and restores it. Hosts such as XLA set flush-to-zero on their threads.
class FpControl {
 public:
  FpControl() : saved_(_mm_getcsr()) { _mm_setcsr(kDefault); }
  ~FpControl() { _mm_setcsr(saved_); }
  FpControl(const FpControl&) = delete;
  FpControl& operator=(const FpControl&) = delete;

 private:
  static constexpr unsigned kDefault = 0x1f80;  // all exceptions masked, nearest even, no FTZ, no DAZ
  unsigned saved_;
};

}  // namespace tilecheck
