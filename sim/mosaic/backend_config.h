// The JSON that a tpu_custom_call carries: the kernel's bytecode and its options.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/spec/kernel_spec.h"

namespace tilecheck::mosaic {

inline constexpr size_t kMaxConfigBytes = size_t{64} << 20;

// An operand or result that XLA must place in a memory space (HBM 0, VMEM 1, SMEM 4, HOST 5, ...).
struct SpaceColor {
  int index = 0;
  int64_t color = 0;
};

// Keys as JAX's CustomCallBackendConfig writes them; what is absent has JAX's default.
struct BackendConfig {
  std::vector<uint8_t> body;  // MLIR bytecode
  bool has_communication = false;
  std::optional<int32_t> collective_id;
  std::optional<CostEstimate> cost_estimate;
  bool needs_hlo_passes = false;
  bool needs_layout_passes = false;
  bool shape_invariant_numerics = true;
  std::vector<bool> allow_input_fusion;  // per operand; empty: none
  std::optional<int64_t> internal_scratch_bytes;
  std::vector<SpaceColor> input_spaces, output_spaces;
  bool disable_bounds_checks = false;
  bool disable_semaphore_checks = false;
  bool skip_device_barrier = false;
  std::optional<int64_t> vmem_limit_bytes;                 // scoped_memory_configs of VMEM
  std::vector<std::pair<std::string, std::string>> flags;  // flag_configs: name and value as JSON
  std::vector<std::string> unknown_keys;                   // dotted; kept so that nothing is ignored in silence
};

// Throws InputError (`where`) for what is no such JSON, for base64 that does not decode, and for another
// serialization_format; Incomplete for a SparseCore kernel.
BackendConfig parse_backend_config(std::string_view json, std::string_view where);

// Standard base64 with padding. InputError with the offset of what is none.
std::vector<uint8_t> decode_base64(std::string_view text, std::string_view where);
std::string encode_base64(const std::vector<uint8_t>& bytes);

// The JSON of a config, in JAX's order; parse_backend_config reads it back.
std::string to_json(const BackendConfig& config);

}  // namespace tilecheck::mosaic
