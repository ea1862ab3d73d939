// Fuzzes the safetensors reader. The corpus is made by corpus/make_arrays.py; each file has a tensor "a".
#include "sim/io/safetensors.h"

#include "sim/types/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tilecheck;
  try {
    const HostArray array = parse_safetensors(std::as_bytes(std::span(data, size)), "input", "a");
    for (int64_t i = 0; i < array.size(); ++i) static_cast<void>(array.at(i));
    return 0;
  } catch (const InputError&) {
    return -1;
  }
}
