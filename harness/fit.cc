#include "harness/fit.h"

#include <algorithm>

#include "harness/format.h"
#include "sim/fit/vmem_blocks.h"
#include "sim/types/error.h"

namespace tilecheck {
namespace {

void add_row(FitOutcome& f, FitRow row) {
  if (row.total_bytes > INT64_MAX - f.block_bytes)
    throw InputError(row.name, "the kernel's VMEM need does not fit 63 bits");
  f.block_bytes += row.total_bytes;
  f.rows.push_back(std::move(row));
}

void add_windows(FitOutcome& f, const KernelSpec& spec, std::span<const Window> windows, bool is_input,
                 const Target& target) {
  for (const Window& w : windows) {
    if (w.space != Space::vmem || fit::is_pinned(w)) continue;
    const SlotCount slots = slot_count(spec, w);
    const Shape block = w.shown_shape();
    const int64_t bytes = fit::padded_bytes(w.dtype, block, target);
    add_row(f, {.name = w.name,
                .category = "block",
                .block = block,
                .dtype = w.dtype,
                .tile = to_string(fit::tiling(w.dtype, block, target)),
                .unpadded_bytes = fit::unpadded_bytes(w.dtype, block),
                .buffer_bytes = bytes,
                .buffers = slots.slots,
                .reason = slots.reason,
                .total_bytes = fit::window_bytes(slots.slots, bytes, is_input, target)});
  }
}

void add_scratch(FitOutcome& f, const KernelSpec& spec, const Target& target) {
  for (const Scratch& s : spec.scratch) {
    if (s.space != Space::vmem) continue;
    const int64_t bytes = fit::padded_bytes(s.dtype, s.shape, target);
    add_row(f, {.name = s.name,
                .category = "scratch",
                .block = s.shape,
                .dtype = s.dtype,
                .tile = to_string(fit::tiling(s.dtype, s.shape, target)),
                .unpadded_bytes = fit::unpadded_bytes(s.dtype, s.shape),
                .buffer_bytes = bytes,
                .buffers = 1,
                .reason = "scratch",
                .total_bytes = bytes});
  }
}

}  // namespace

void analyse_fit(const KernelSpec& spec, const fit::Body*, const FitRequest& request, Outcome& outcome) {
  const Target& target = *request.target;
  FitOutcome f;
  f.capacity_bytes = target[FigureId::vmem_usable_bytes];
  if (request.vmem_limit_bytes) {
    f.limit_bytes = *request.vmem_limit_bytes;
    f.limit_source = "--vmem-limit";
  } else if (spec.vmem_limit_bytes) {
    f.limit_bytes = *spec.vmem_limit_bytes;
    f.limit_source = "the kernel's vmem_limit_bytes";
  } else {
    f.limit_bytes = target[FigureId::vmem_default_limit_bytes];
    f.limit_source = "default of " + target.name;
  }
  f.limit_bytes = std::min(f.limit_bytes, f.capacity_bytes);
  add_windows(f, spec, spec.in, true, target);
  add_windows(f, spec, spec.out, false, target);
  add_scratch(f, spec, target);
  f.need_bytes = f.need_min_bytes = f.need_max_bytes = f.block_bytes;
  if (f.need_min_bytes > f.limit_bytes) {
    f.verdict = FitVerdict::cannot_fit;
    f.fits_with = f.need_max_bytes <= f.capacity_bytes ? "vmem_limit_bytes >= " + std::to_string(f.need_max_bytes)
                                                       : "smaller blocks only";
  }
  if (f.verdict == FitVerdict::cannot_fit) {
    Finding finding =
        Finding::make(Kind::vmem_overflow,
                      "kernel needs " + human_bytes(f.need_bytes) + " of VMEM; " + target.name + "'s limit is " +
                          human_bytes(f.limit_bytes) + " (" + human_bytes(f.need_bytes - f.limit_bytes) + " over)",
                      spec.at);
    finding.helps.push_back("fits with " + f.fits_with);
    outcome.report.findings.push_back(std::move(finding));
  }
  outcome.fit = std::move(f);
}

Outcome fit_subject(const Subject& subject, const FitRequest& request) {
  Outcome o;
  o.subject = subject.name;
  o.headline = subject.headline;
  o.report.kernel = subject.spec.name;
  o.report.target = request.target->name;
  o.report.grid = subject.spec.grid;
  try {
    analyse_fit(subject.spec, subject.facts ? subject.facts() : nullptr, request, o);
  } catch (const Incomplete& e) {
    o.report.incomplete.emplace_back(e.what());
  }
  return o;
}

}  // namespace tilecheck
