#include "sim/fit/vmem_report.h"

#include <algorithm>

#include "sim/fit/internal_scratch.h"
#include "sim/fit/vmem_advice.h"
#include "sim/fit/vmem_blocks.h"
#include "sim/fit/vmem_live.h"
#include "sim/fit/vmem_spills.h"
#include "sim/types/error.h"

namespace tilecheck::fit {
namespace {

int64_t add(int64_t a, int64_t b) {
  if (a > INT64_MAX - b) throw InputError("VMEM need", "the sum of all blocks does not fit 63 bits");
  return a + b;
}

class Reporter {
 public:
  Reporter(const KernelSpec& spec, const Body* body, const Target& target, const VmemOptions& options)
      : spec_(spec), body_(body), target_(target), options_(options) {
    if (body_ != nullptr) survival_ = buffer_survival(*body_);
  }

  VmemReport run() {
    report_.target = target_.name;
    for (const Window& w : spec_.in) window(w, true);
    for (const Window& w : spec_.out) window(w, false);
    for (size_t i = 0; i < spec_.scratch.size(); ++i) scratch(spec_.scratch[i], scratch_survival(i));
    for (const Prefetch& p : spec_.prefetch)
      report_.smem.used_bytes = add(report_.smem.used_bytes, padded_bytes(p.dtype, p.shape, target_));
    if (body_ != nullptr) body_rows();
    totals();
    judge();
    add_findings(spec_, target_, report_);
    return std::move(report_);
  }

 private:
  void window(const Window& w, bool is_input) {
    if (w.space != Space::vmem && w.space != Space::smem) return;
    const SlotCount slots = slot_count(spec_, w);
    VmemRow row =
        buffer_row(is_input ? VmemRowKind::window_in : VmemRowKind::window_out, w.name, w.dtype, w.block_sizes());
    row.buffers = slots.slots;
    row.reason = slots.reason;
    row.total_bytes = window_bytes(slots.slots, row.padded_bytes, is_input, target_);
    // The pipeline waits for each slot on a semaphore of its own. A kernel that needs no other has room for them.
    if (slots.slots > 1) pipeline_semaphores_ += slots.slots;
    if (w.space == Space::smem) {
      report_.smem.used_bytes = add(report_.smem.used_bytes, w.resident ? row.padded_bytes : row.total_bytes);
      return;
    }
    // XLA's own allocation, beside the kernel's (vmem rules, section 5).
    if (w.resident && row.padded_bytes > target_[FigureId::vmem_bytes]) row.total_bytes = row.padded_bytes;
    if (is_pinned(w)) {
      row.total_bytes = 0;
      row.reason = "array of one element: pinned";
    }
    report_.window_bytes = add(report_.window_bytes, row.total_bytes);
    report_.rows.push_back(std::move(row));
  }

  void scratch(const Scratch& s, Survival survival) {
    if (is_semaphore(s.dtype)) {
      report_.semaphores.used_bytes =
          add(report_.semaphores.used_bytes,
              std::max<int64_t>(0, checked_element_count(s.shape, 4)) * target_[FigureId::semaphore_bytes]);
      return;
    }
    if (s.space == Space::smem) {
      report_.smem.used_bytes = add(report_.smem.used_bytes, padded_bytes(s.dtype, s.shape, target_));
      return;
    }
    if (s.space != Space::vmem) return;
    VmemRow row = buffer_row(VmemRowKind::scratch, s.name, s.dtype, s.shape);
    row.reason = "scratch";
    row.total_bytes = row.padded_bytes;
    // libtpu 0.0.42.1 refuses an allocation larger than the memory before it looks whether registers could hold what is
    // used.
    if (row.padded_bytes > target_[FigureId::vmem_bytes] && survival == Survival::promoted) survival = Survival::lives;
    if (survival == Survival::unused) row.reason = "scratch nothing reads: dropped";
    if (survival == Survival::promoted) row.reason = "written before each read: in registers";
    if (survival != Survival::lives) row.total_bytes = 0;
    report_.scratch_bytes = add(report_.scratch_bytes, row.total_bytes);
    report_.rows.push_back(std::move(row));
  }
  Survival scratch_survival(size_t index) const {
    if (body_ == nullptr) return Survival::lives;
    for (size_t i = 0; i < body_->refs.size(); ++i)
      if (body_->refs[i].root == RefRoot::scratch && body_->refs[i].root_index == static_cast<int32_t>(index))
        return survival_[i];
    return Survival::lives;
  }

  VmemRow buffer_row(VmemRowKind kind, const std::string& name, DType dtype, const Shape& block) const {
    VmemRow row;
    row.kind = kind;
    row.name = name;
    row.dtype = dtype;
    row.block = block;
    row.tile = to_string(tiling(dtype, block, target_));
    row.unpadded_bytes = unpadded_bytes(dtype, block);
    row.padded_bytes = padded_bytes(dtype, block, target_);
    return row;
  }

  void body_rows() {
    const ScopedPeak peak = scoped_peak(*body_, survival_, target_);
    for (RefId ref : peak.refs) {
      const RefInfo& info = body_->refs[static_cast<size_t>(ref)];
      VmemRow row = buffer_row(VmemRowKind::allocation, "scoped", info.dtype, info.shape);
      row.reason = "run_scoped, alive at the peak";
      row.total_bytes = row.padded_bytes;
      report_.rows.push_back(std::move(row));
    }
    report_.allocation_bytes = peak.bytes;
    for (const RefInfo& info : body_->refs) {
      if (info.root != RefRoot::alloc || !is_semaphore(info.dtype)) continue;
      report_.semaphores.used_bytes =
          add(report_.semaphores.used_bytes, element_count(info.shape) * target_[FigureId::semaphore_bytes]);
    }
    report_.internal_scratch_bytes = internal_scratch_bytes(*body_, target_);
    if (report_.internal_scratch_bytes > 0) {
      VmemRow row;
      row.kind = VmemRowKind::internal_scratch;
      row.name = "internal scratch";
      row.dtype = DType::u32;
      row.block = {72, 128};
      row.unpadded_bytes = row.padded_bytes = row.total_bytes = report_.internal_scratch_bytes;
      row.reason = "the compiler's, to change small tiles to (8,128)";
      report_.rows.push_back(std::move(row));
    }
    const SpillEstimate spills = spill_estimate(*body_, survival_, target_);
    report_.spill_bytes = spills.bytes;
    report_.spill_min_bytes = spills.min_bytes;
    report_.spill_max_bytes = spills.max_bytes;
    report_.spill_low_bytes = spills.low_bytes;
    report_.spill_high_bytes = spills.high_bytes;
    if (spills.max_bytes > 0) {
      VmemRow row;
      row.kind = VmemRowKind::spills;
      row.name = "spills";
      row.dtype = DType::u32;
      row.block = {target_.sublanes(), target_.lanes()};
      row.unpadded_bytes = row.padded_bytes = target_.vector_register_bytes();
      row.buffers = static_cast<int>(std::min<int64_t>(INT32_MAX, spills.bytes / target_.vector_register_bytes()));
      row.reason = "values alive beyond " + std::to_string(target_[FigureId::vector_registers]) + " vector registers";
      row.total_bytes = spills.bytes;
      report_.rows.push_back(std::move(row));
    }
  }

  void totals() {
    VmemReport& r = report_;
    r.block_bytes = add(add(r.window_bytes, r.scratch_bytes), add(r.allocation_bytes, r.internal_scratch_bytes));
    r.need_bytes = add(r.block_bytes, r.spill_bytes);
    r.need_min_bytes = add(r.block_bytes, r.spill_min_bytes);
    r.need_max_bytes = add(r.block_bytes, r.spill_max_bytes);
    for (VmemRow& row : r.rows) {
      if (r.need_bytes > 0) row.share = static_cast<double>(row.total_bytes) / static_cast<double>(r.need_bytes);
      if (row.kind != VmemRowKind::spills)
        r.largest_allocation_bytes = std::max(r.largest_allocation_bytes, row.total_bytes);
    }
    r.smem.capacity_bytes = target_[FigureId::smem_bytes] - target_[FigureId::smem_reserved_bytes];
    if (r.semaphores.used_bytes > 0)
      r.semaphores.used_bytes = add(r.semaphores.used_bytes, pipeline_semaphores_ * target_[FigureId::semaphore_bytes]);
    r.semaphores.capacity_bytes =
        target_[FigureId::semaphore_memory_bytes] - target_[FigureId::semaphore_reserved_bytes];
  }

  void judge() {
    VmemReport& r = report_;
    r.capacity_bytes = target_[FigureId::vmem_usable_bytes];
    r.allocation_cap_bytes = target_[FigureId::vmem_bytes];
    r.limit_bytes = target_[FigureId::vmem_default_limit_bytes];
    r.limit_source = "default of " + target_.name;
    if (spec_.vmem_limit_bytes) {
      r.limit_bytes = *spec_.vmem_limit_bytes;
      r.limit_source = "the kernel's vmem_limit_bytes";
    }
    if (options_.limit_bytes) {
      r.limit_bytes = *options_.limit_bytes;
      r.limit_source = "--vmem-limit";
    }
    const int64_t in_force = std::min(r.limit_bytes, r.capacity_bytes);
    if (r.largest_allocation_bytes > r.allocation_cap_bytes || r.need_min_bytes > in_force)
      r.verdict = FitVerdict::cannot_fit;
    else
      r.verdict = r.need_max_bytes > in_force ? FitVerdict::thin : FitVerdict::fits;
    if (r.need_max_bytes <= r.capacity_bytes && r.largest_allocation_bytes <= r.allocation_cap_bytes)
      r.sufficient_limit_bytes =
          std::max(r.need_max_bytes, std::min(add(r.block_bytes, r.spill_high_bytes), r.capacity_bytes));
  }

  const KernelSpec& spec_;
  const Body* body_;
  const Target& target_;
  const VmemOptions& options_;
  std::vector<Survival> survival_;
  VmemReport report_;
  int64_t pipeline_semaphores_ = 0;
};

}  // namespace

std::string_view name(VmemRowKind kind) {
  constexpr std::string_view kNames[] = {"window in",  "window out",       "scratch",
                                         "allocation", "internal scratch", "spills"};
  return kNames[static_cast<size_t>(kind)];
}
std::string_view name(FitVerdict verdict) {
  constexpr std::string_view kNames[] = {"fits", "thin", "cannot-fit"};
  return kNames[static_cast<size_t>(verdict)];
}

VmemReport vmem_report(const KernelSpec& spec, const Body* body, const Target& target, const VmemOptions& options) {
  return Reporter(spec, body, target, options).run();
}

}  // namespace tilecheck::fit
