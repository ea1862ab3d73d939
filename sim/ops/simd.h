// Highway, set up for exactly two targets: AVX2, which the build requires, and AVX-512, chosen at run time. A file that
// uses it defines HWY_TARGET_INCLUDE as itself and includes this instead of hwy/foreach_target.h and hwy/highway.h.
// Both targets give the same bits: fused multiply-adds only where written, no approximate instructions, and no result
// that depends on the number of lanes. (No include guard: the targets include the file once each.)

#ifndef HWY_DISABLE_PCLMUL_AES
#define HWY_DISABLE_PCLMUL_AES  // x86-64-v3 does not have them
#endif
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#include <hwy/foreach_target.h>  // must come before highway.h
//
#include <hwy/highway.h>
#pragma GCC diagnostic pop
