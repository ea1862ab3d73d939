// The closed table of finding kinds.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace tilecheck {

enum class Severity : uint8_t { note, warning, error };
std::string_view name(Severity severity);

enum class Kind : uint8_t {
  // capacity and compile-time rules
  vmem_overflow,
  smem_overflow,
  block_shape,
  unaligned_slice,
  memory_space,
  dtype_unsupported,
  operation_unsupported,
  unsupported_buffering,
  unsupported_window,
  dimension_semantics,
  internal_scratch,
  semaphore_misuse,
  alias_mismatch,
  type_mismatch,
  // memory
  out_of_bounds_read,
  out_of_bounds_write,
  out_of_bounds_block,
  undefined_use,
  undefined_output,
  output_revisited,
  parallel_order_dependent,
  index_map_reads_written_smem,
  use_after_scope,
  // ordering
  race,
  deadlock,
  dma_not_awaited,
  semaphore_not_drained,
  semaphore_overflow,
  wait_without_start,
  relies_on_message_order,
  collective_mismatch,
  dma_serialized,
  // results
  result_mismatch,
  non_finite,
  nothing_compared,
};
inline constexpr int kKindCount = static_cast<int>(Kind::nothing_compared) + 1;

struct KindInfo {
  Kind kind;
  std::string_view name;     // "vmem-overflow": as users see and type it
  Severity severity;         // unless the finding says otherwise
  bool stops_run;            // no invented value may continue after it
  std::string_view summary;  // one line: what it means
  std::string_view why;      // why the chip cares
  std::string_view fix;      // what to change
};
const KindInfo& info(Kind kind);
inline std::string_view name(Kind kind) { return info(kind).name; }
std::span<const KindInfo> all_kinds();
std::optional<Kind> parse_kind(std::string_view text);

}  // namespace tilecheck
