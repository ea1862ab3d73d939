#include "tools/python/native/device_call.h"

#include "tools/python/native/rendezvous.h"
#include "tools/python/native/runner.h"

namespace tilecheck::python {

CallStatus call_on_device(const CallSignature& signature, DeviceArrays arrays, const Caller& caller,
                          std::chrono::milliseconds patience) {
  if (signature.devices <= 1) return run_call(signature, {std::move(arrays)});
  static Rendezvous rendezvous;
  return rendezvous.meet({caller.run, caller.site}, caller.device, signature.devices, std::move(arrays), patience,
                         [&](std::vector<DeviceArrays> all) { return run_call(signature, all); });
}

}  // namespace tilecheck::python
