#include "sim/io/array_file.h"

#include "sim/io/npy.h"
#include "sim/io/safetensors.h"
#include "sim/types/error.h"

namespace tilecheck {

HostArray read_array(const std::string& text, std::optional<DType> dtype) {
  constexpr std::string_view kExtension = ".safetensors";
  const size_t at = text.rfind(std::string(kExtension) + ":");
  if (at != std::string::npos) {
    const size_t colon = at + kExtension.size();
    return read_safetensors(text.substr(0, colon), text.substr(colon + 1), dtype);
  }
  if (text.ends_with(kExtension)) throw InputError(text, "expected a tensor's name: " + text + ":NAME");
  return read_npy(text, dtype);
}

}  // namespace tilecheck
