// Memory spaces: where a Ref lives.
#pragma once

#include <cstdint>
#include <string_view>

namespace tilecheck {

enum class Space : uint8_t {
  any,  // the compiler chooses; HBM unless it is proven small
  vmem,
  smem,
  hbm,
  semaphore,
  cmem,
  vmem_shared,
  host,
};

constexpr std::string_view name(Space space) {
  switch (space) {
    case Space::any:
      return "any";
    case Space::vmem:
      return "vmem";
    case Space::smem:
      return "smem";
    case Space::hbm:
      return "hbm";
    case Space::semaphore:
      return "semaphore";
    case Space::cmem:
      return "cmem";
    case Space::vmem_shared:
      return "vmem_shared";
    case Space::host:
      return "host";
  }
  return "?";
}

}  // namespace tilecheck
