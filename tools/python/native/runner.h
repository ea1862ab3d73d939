// Runs a kernel call on the arrays it came with: all that the FFI handler and the plain C interface share.
#pragma once

#include <string>
#include <vector>

#include "tools/python/native/call.h"
#include "tools/python/native/kernel_cache.h"
#include "tools/python/native/report_log.h"
#include "tools/python/native/suppressions.h"

namespace tilecheck::python {

KernelCache& kernel_cache();
ReportLog& report_log();
Suppressions& suppressions();

// Runs the kernel on all devices and fills the result arrays. The outcome goes to the log, and to `outcome` if given.
// Never throws: bad input, findings and what is not modelled are the status, as the options want it.
CallStatus run_call(const CallSignature& signature, const std::vector<DeviceArrays>& devices,
                    Outcome* outcome = nullptr);

// How many runs there are at this moment, on all threads.
int runs_in_progress();

// What the findings that need no run (fit and compile-time rules) come to. Logs them if they stop the program.
// InputError and Incomplete as the payload reader throws them.
CallStatus judge_compiled(const CallSignature& signature);

}  // namespace tilecheck::python
