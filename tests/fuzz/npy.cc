// Fuzzes the .npy reader. The corpus is made by corpus/make_arrays.py.
#include "sim/io/npy.h"

#include "sim/types/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tilecheck;
  try {
    const auto bytes = std::as_bytes(std::span(data, size));
    const NpyHeader header = parse_npy_header(bytes, static_cast<int64_t>(size), "input");
    std::optional<DType> dtype;
    if (!header.stored.dtype) dtype = header.stored.item_bytes == 2 ? DType::bf16 : DType::i4;
    const HostArray array = parse_npy(bytes, "input", dtype);
    for (int64_t i = 0; i < array.size(); ++i) static_cast<void>(array.at(i));
    return 0;
  } catch (const InputError&) {
    return -1;
  }
}
