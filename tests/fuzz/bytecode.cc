// Fuzzes the bytecode reader, before anything is verified. The corpus is made by corpus/make_payloads.py.
#include "sim/mosaic/inspect.h"
#include "sim/types/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tilecheck;
  try {
    mosaic::KernelCall call;
    call.source = "input";
    call.config.body.assign(data, data + size);
    // Walks every operation, type, attribute and location that was read.
    mosaic::raw_text(call);
    return 0;
  } catch (const InputError&) {
    return -1;
  } catch (const Incomplete&) {
    return -1;
  }
}
