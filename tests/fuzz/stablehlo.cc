// Fuzzes the scan for kernels in StableHLO text. The corpus is made by corpus/make_payloads.py.
#include "sim/mosaic/stablehlo_scan.h"
#include "sim/types/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tilecheck;
  try {
    mosaic::tpu_calls(mosaic::scan_stablehlo({reinterpret_cast<const char*>(data), size}, "input"), "input");
    return 0;
  } catch (const InputError&) {
    return -1;
  } catch (const Incomplete&) {
    return -1;
  }
}
