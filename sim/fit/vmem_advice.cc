#include "sim/fit/vmem_advice.h"

#include <algorithm>
#include <cstdio>

#include "sim/fit/vmem_blocks.h"

namespace tilecheck::fit {
namespace {

// XLA's way of writing sizes in its own messages: "18.17M".
std::string xla_bytes(int64_t bytes) {
  char text[32];
  const double b = static_cast<double>(bytes);
  if (bytes < 1024)
    std::snprintf(text, sizeof text, "%dB", static_cast<int>(bytes));
  else if (b < 1024.0 * 1024)
    std::snprintf(text, sizeof text, "%.2fK", b / 1024);
  else if (b < 1024.0 * 1024 * 1024)
    std::snprintf(text, sizeof text, "%.2fM", b / (1024.0 * 1024));
  else
    std::snprintf(text, sizeof text, "%.2fG", b / (1024.0 * 1024 * 1024));
  return text;
}

bool is_window(const VmemRow& row) { return row.kind == VmemRowKind::window_in || row.kind == VmemRowKind::window_out; }

std::string row_text(const VmemRow& row) {
  std::string text = row.name + "  " + to_string(row.block) + " " + std::string(tilecheck::name(row.dtype)) + "  " +
                     bytes_text(row.padded_bytes);
  if (row.buffers != 1) text += " x" + std::to_string(row.buffers) + " = " + bytes_text(row.total_bytes);
  return text + "  " + row.reason;
}

// What single-buffering the double-buffered inputs would save.
void advise_single_buffers(const VmemReport& report, std::vector<std::string>& advice) {
  std::string names;
  int64_t saved = 0;
  for (const VmemRow& row : report.rows) {
    if (row.kind != VmemRowKind::window_in || row.buffers < 2 || row.total_bytes * 20 < report.need_bytes) continue;
    names += (names.empty() ? "" : ", ") + row.name;
    saved += row.total_bytes - row.total_bytes / row.buffers;
  }
  if (saved > 0)
    advice.push_back("pl.Buffered(1) on " + names + " frees " + bytes_text(saved) +
                     " (its copies no longer overlap compute)");
}

void advise_padding(const VmemReport& report, std::vector<std::string>& advice) {
  for (const VmemRow& row : report.rows) {
    if (row.kind == VmemRowKind::spills || row.kind == VmemRowKind::internal_scratch || row.unpadded_bytes == 0)
      continue;
    const int64_t wasted = row.total_bytes - row.unpadded_bytes * row.buffers;
    if (wasted * 20 < report.need_bytes || wasted < row.total_bytes / 4) continue;
    advice.push_back(row.name + " " + to_string(row.block) + " is padded to tiles of " + row.tile + ": " +
                     bytes_text(wasted) + " of its " + bytes_text(row.total_bytes) + " hold nothing");
  }
}

void advise_largest(const VmemReport& report, std::vector<std::string>& advice) {
  const VmemRow* largest = nullptr;
  for (const VmemRow& row : report.rows)
    if ((is_window(row) || row.kind == VmemRowKind::scratch || row.kind == VmemRowKind::allocation) &&
        (largest == nullptr || row.total_bytes > largest->total_bytes))
      largest = &row;
  if (largest != nullptr && largest->total_bytes > 0)
    advice.push_back("the largest block is " + largest->name + " (" + to_string(largest->block) + " " +
                     std::string(tilecheck::name(largest->dtype)) + ", " + bytes_text(largest->total_bytes) +
                     "): shrink it first");
}

void vmem_finding(const KernelSpec& spec, const Target& target, VmemReport& report) {
  const int64_t in_force = std::min(report.limit_bytes, report.capacity_bytes);
  const bool is_estimate = report.spill_max_bytes > 0;
  const std::string need = (is_estimate ? "~" : "") + bytes_text(report.need_bytes);
  const bool single = report.largest_allocation_bytes > report.allocation_cap_bytes;
  Finding f = Finding::make(Kind::vmem_overflow, "", spec.at);
  if (single)
    f.message = "one allocation of " + bytes_text(report.largest_allocation_bytes) + " is larger than the " +
                bytes_text(report.allocation_cap_bytes) + " of VMEM that " + target.name + " has";
  else if (report.verdict == FitVerdict::thin)
    f.message = "kernel needs " + need + " of VMEM (" + bytes_text(report.need_min_bytes) + " to " +
                bytes_text(report.need_max_bytes) + "); " + target.name + "'s limit is " + bytes_text(in_force) +
                ": it may not fit";
  else
    f.message = "kernel needs " + need + " of VMEM; " + target.name + "'s limit is " + bytes_text(in_force) + " (" +
                bytes_text(report.need_bytes - in_force) + " over)";
  if (report.verdict == FitVerdict::thin) f.severity = Severity::warning;
  std::vector<const VmemRow*> rows;
  for (const VmemRow& row : report.rows)
    if (row.total_bytes > 0) rows.push_back(&row);
  std::stable_sort(rows.begin(), rows.end(),
                   [](const VmemRow* a, const VmemRow* b) { return a->total_bytes > b->total_bytes; });
  for (size_t i = 0; i < rows.size() && i < 5; ++i) f.labels.push_back({{}, row_text(*rows[i])});
  advise_single_buffers(report, f.helps);
  if (report.sufficient_limit_bytes && *report.sufficient_limit_bytes > report.limit_bytes)
    f.helps.push_back("vmem_limit_bytes=" + std::to_string(*report.sufficient_limit_bytes) + " (" + target.name +
                      " has " + std::to_string(report.capacity_bytes) + ")");
  else if (!report.sufficient_limit_bytes)
    f.helps.push_back("smaller blocks only: no limit makes " + bytes_text(report.need_bytes) + " fit " + target.name +
                      "'s " + bytes_text(report.capacity_bytes));
  // The compiler adds up in stages and stops at the first that is too large.
  const int64_t held = report.scratch_bytes + report.allocation_bytes + report.internal_scratch_bytes;
  const int64_t stage = held > in_force ? held : report.block_bytes > in_force ? report.block_bytes : report.need_bytes;
  if (!single && report.verdict == FitVerdict::cannot_fit && stage != report.need_bytes &&
      report.limit_bytes <= report.capacity_bytes)
    f.notes.push_back("libtpu stops earlier and says \"Scoped allocation with size " + xla_bytes(stage) +
                      " and limit " + xla_bytes(report.limit_bytes) + " exceeded scoped vmem limit by " +
                      xla_bytes(stage - report.limit_bytes) + "\" (E1001)");
  f.notes.push_back(
      "of the kernel alone; inside a larger program XLA may keep an operand in VMEM, whose window then costs nothing");
  report.findings.push_back(std::move(f));
}

void memory_finding(Kind kind, const char* what, const MemoryUse& use, const KernelSpec& spec, const Target& target,
                    VmemReport& report) {
  if (use.used_bytes <= use.capacity_bytes) return;
  Finding f = Finding::make(kind,
                            "kernel needs " + bytes_text(use.used_bytes) + " of " + what + "; " + target.name +
                                " has " + bytes_text(use.capacity_bytes),
                            spec.at);
  report.findings.push_back(std::move(f));
}

}  // namespace

std::string bytes_text(int64_t bytes) {
  char text[48];
  const double b = static_cast<double>(bytes);
  if (bytes < 1024)
    std::snprintf(text, sizeof text, "%d B", static_cast<int>(bytes));
  else if (b < 1024.0 * 1024)
    std::snprintf(text, sizeof text, bytes % 1024 == 0 ? "%.0f KiB" : "%.2f KiB", b / 1024);
  else if (b < 1024.0 * 1024 * 1024)
    std::snprintf(text, sizeof text, "%.2f MiB", b / (1024.0 * 1024));
  else
    std::snprintf(text, sizeof text, "%.2f GiB", b / (1024.0 * 1024 * 1024));
  return text;
}

void add_findings(const KernelSpec& spec, const Target& target, VmemReport& report) {
  if (report.verdict != FitVerdict::fits) vmem_finding(spec, target, report);
  memory_finding(Kind::smem_overflow, "SMEM", report.smem, spec, target, report);
  memory_finding(Kind::semaphore_overflow, "semaphore memory", report.semaphores, spec, target, report);
  if (report.verdict != FitVerdict::fits) advise_largest(report, report.advice);
  advise_single_buffers(report, report.advice);
  advise_padding(report, report.advice);
}

}  // namespace tilecheck::fit
