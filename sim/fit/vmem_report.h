// What a kernel needs of VMEM, SMEM and semaphore memory on a target: plain data, as the TPU compiler's own report has
// it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/fit/body.h"
#include "sim/report/report.h"
#include "sim/spec/kernel_spec.h"
#include "sim/target/target.h"

namespace tilecheck::fit {

enum class VmemRowKind : uint8_t {
  window_in,
  window_out,
  scratch,
  allocation,        // run_scoped and the like
  internal_scratch,  // the compiler's own, for relayouts
  spills,            // an estimate
};
std::string_view name(VmemRowKind kind);  // "window in", ...

struct VmemRow {
  VmemRowKind kind = VmemRowKind::window_in;
  std::string name;
  DType dtype = DType::f32;
  Shape block;
  std::string tile;            // "(8,128)"
  int64_t unpadded_bytes = 0;  // of one buffer
  int64_t padded_bytes = 0;    // of one buffer
  int buffers = 1;
  std::string reason;       // why that many buffers; why a row costs nothing
  int64_t total_bytes = 0;  // in VMEM: 0 for what is pinned, dead or promoted to registers
  double share = 0;         // of need_bytes
};

enum class FitVerdict : uint8_t { fits, thin, cannot_fit };
std::string_view name(FitVerdict verdict);  // "fits", "thin", "cannot-fit"

struct MemoryUse {
  int64_t used_bytes = 0;
  int64_t capacity_bytes = 0;  // after what the compiler reserves
};

struct VmemReport {
  std::string target;
  std::vector<VmemRow> rows;
  int64_t window_bytes = 0, scratch_bytes = 0, allocation_bytes = 0, internal_scratch_bytes = 0;
  int64_t block_bytes = 0;  // their sum: exact
  int64_t spill_bytes = 0, spill_min_bytes = 0, spill_max_bytes = 0;
  int64_t spill_low_bytes = 0, spill_high_bytes = 0;  // nine in ten measured kernels lie within; wider than min to max
  int64_t need_bytes = 0, need_min_bytes = 0, need_max_bytes = 0;  // min and max decide the verdict
  int64_t limit_bytes = 0;
  std::string limit_source;    // "default of v5e", "the kernel's vmem_limit_bytes", "--vmem-limit"
  int64_t capacity_bytes = 0;  // the most that any limit allows
  int64_t largest_allocation_bytes = 0, allocation_cap_bytes = 0;
  FitVerdict verdict = FitVerdict::fits;
  // A vmem_limit_bytes that suffices, with spill_high_bytes where the memory has room for them; none if nothing does.
  std::optional<int64_t> sufficient_limit_bytes;
  MemoryUse smem, semaphores;
  std::vector<Finding> findings;    // vmem-overflow, smem-overflow, semaphore-overflow
  std::vector<std::string> advice;  // which block to shrink, what padding costs, what single buffering saves
};

struct VmemOptions {
  std::optional<int64_t> limit_bytes;  // overrides the kernel's
};

// `body` must be simplified (simplify.h); null when nothing is known of it: then scratch counts in full and there is no
// spill estimate. InputError when sizes overflow 63 bits.
VmemReport vmem_report(const KernelSpec& spec, const Body* body, const Target& target, const VmemOptions& options = {});

// The table of mockups: one line per row, need and verdict last.
std::string vmem_text(const VmemReport& report);
// One line per target: blocks, spills, need, limit, capacity, verdict, what it would fit with.
std::string vmem_targets_text(const std::vector<VmemReport>& reports);

}  // namespace tilecheck::fit
