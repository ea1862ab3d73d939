// Fuzzes the reader of backend_config. The corpus is made by corpus/make_payloads.py.
#include "sim/mosaic/backend_config.h"

#include <cstdlib>

#include "sim/types/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tilecheck;
  try {
    mosaic::BackendConfig config = mosaic::parse_backend_config({reinterpret_cast<const char*>(data), size}, "input");
    // What is written is read back the same.
    config.unknown_keys.clear();
    const std::string json = mosaic::to_json(config);
    if (mosaic::to_json(mosaic::parse_backend_config(json, "again")) != json) std::abort();
    return 0;
  } catch (const InputError&) {
    return -1;
  } catch (const Incomplete&) {
    return -1;
  }
}
