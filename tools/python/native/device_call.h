// A kernel call as one device makes it: what the FFI handler does, without XLA's types.
#pragma once

#include <chrono>
#include <cstdint>

#include "tools/python/native/call.h"

namespace tilecheck::python {

// Who calls: devices of one execution of one program meet where they make the same call.
struct Caller {
  int64_t run = 0;   // the execution
  int64_t site = 0;  // the call in the program
  int device = 0;    // row-major in the mesh
};

// Devices of one program come within a fraction of a second of each other unless one has failed.
inline constexpr std::chrono::milliseconds kPatience{60'000};

// Runs the kernel and fills the results. Where several devices meet in it, blocks until all have called, for `patience`
// at most; one thread then runs the kernel for all. Any number of threads may call at once. Never throws.
CallStatus call_on_device(const CallSignature& signature, DeviceArrays arrays, const Caller& caller,
                          std::chrono::milliseconds patience = kPatience);

}  // namespace tilecheck::python
