// Fuzzes base64: what decodes encodes to what it was, but for the bits that padding leaves unused.
#include <cstdlib>

#include "sim/mosaic/backend_config.h"
#include "sim/types/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tilecheck;
  try {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const std::vector<uint8_t> bytes = mosaic::decode_base64(text, "input");
    const std::string again = mosaic::encode_base64(bytes);
    if (again.size() != text.size() || mosaic::decode_base64(again, "again") != bytes) std::abort();
    return 0;
  } catch (const InputError&) {
    return -1;
  }
}
