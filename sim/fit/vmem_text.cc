// The VMEM report as a terminal shows it.
#include <algorithm>
#include <cstdio>

#include "sim/fit/vmem_advice.h"
#include "sim/fit/vmem_report.h"

namespace tilecheck::fit {
namespace {

using Cells = std::vector<std::string>;

// Columns as wide as their widest cell; `right` columns are aligned right.
std::string table(const std::vector<Cells>& rows, const std::vector<bool>& right) {
  std::vector<size_t> widths(right.size(), 0);
  for (const Cells& row : rows)
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  std::string text;
  for (const Cells& row : rows) {
    std::string line = " ";
    for (size_t c = 0; c < row.size(); ++c) {
      const std::string pad(widths[c] - row[c].size(), ' ');
      line += " " + (right[c] ? pad + row[c] : row[c] + pad) + " ";
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string percent(double share) {
  char text[16];
  std::snprintf(text, sizeof text, "%.0f%%", share * 100);
  return text;
}

// Rows alike but for the name are shown as one: "k, v".
bool is_alike(const VmemRow& a, const VmemRow& b) {
  return a.kind == b.kind && a.dtype == b.dtype && a.block == b.block && a.buffers == b.buffers &&
         a.reason == b.reason && a.total_bytes == b.total_bytes && a.kind != VmemRowKind::spills;
}

std::string upper(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return std::toupper(c); });
  return out;
}

}  // namespace

std::string vmem_text(const VmemReport& report) {
  std::vector<Cells> cells = {{"VMEM", "block", "tile", "bytes", "x buffers", "total", "share"}};
  for (size_t i = 0; i < report.rows.size();) {
    const VmemRow& row = report.rows[i];
    std::string names = row.name;
    size_t end = i + 1;
    while (end < report.rows.size() && is_alike(row, report.rows[end])) names += ", " + report.rows[end++].name;
    const size_t count = end - i;
    i = end;
    if (row.kind == VmemRowKind::spills) {
      const int64_t vreg = row.padded_bytes;
      cells.push_back({names,
                       std::to_string(row.buffers) +
                           " vregs (9 in 10: " + std::to_string(report.spill_low_bytes / vreg) + ".." +
                           std::to_string(report.spill_high_bytes / vreg) + ")",
                       "", bytes_text(vreg), row.reason, "~" + bytes_text(row.total_bytes), percent(row.share)});
      continue;
    }
    const std::string times = count > 1 ? std::to_string(count) + "x" : "";
    cells.push_back({names, to_string(row.block) + " " + std::string(tilecheck::name(row.dtype)), row.tile,
                     bytes_text(row.padded_bytes), "x" + std::to_string(row.buffers) + " " + row.reason,
                     times + bytes_text(row.total_bytes), percent(row.share * static_cast<double>(count))});
  }
  std::string text = table(cells, {false, false, false, true, false, true, true});
  const int64_t in_force = std::min(report.limit_bytes, report.capacity_bytes);
  text += "  need " + std::string(report.spill_max_bytes > 0 ? "~" : "") + bytes_text(report.need_bytes);
  if (report.need_min_bytes != report.need_max_bytes)
    text += " (" + bytes_text(report.need_min_bytes) + ".." + bytes_text(report.need_max_bytes) + ")";
  text += " of " + bytes_text(in_force) + " (" +
          (report.limit_bytes > report.capacity_bytes ? "all that " + report.target + " has" : report.limit_source) +
          ")   " + upper(name(report.verdict));
  if (in_force > 0)
    text += " (" + percent(static_cast<double>(report.need_bytes) / static_cast<double>(in_force)) + ")";
  text += "\n";
  if (report.smem.used_bytes > 0)
    text += "  SMEM " + bytes_text(report.smem.used_bytes) + " of " + bytes_text(report.smem.capacity_bytes) + "\n";
  if (report.semaphores.used_bytes > 0)
    text += "  semaphores " + bytes_text(report.semaphores.used_bytes) + " of " +
            bytes_text(report.semaphores.capacity_bytes) + "\n";
  return text;
}

std::string vmem_targets_text(const std::vector<VmemReport>& reports) {
  std::vector<Cells> cells = {{"target", "blocks", "spills", "need", "limit", "capacity", "verdict", "fits with"}};
  for (const VmemReport& r : reports) {
    const std::string about = r.spill_max_bytes > 0 ? "~" : "";
    std::string with;
    if (r.verdict != FitVerdict::fits)
      with = r.sufficient_limit_bytes ? "vmem_limit_bytes >= " + std::to_string(*r.sufficient_limit_bytes)
                                      : "smaller blocks only";
    cells.push_back({r.target, bytes_text(r.block_bytes),
                     r.spill_max_bytes > 0 ? about + bytes_text(r.spill_bytes) : "-", about + bytes_text(r.need_bytes),
                     bytes_text(r.limit_bytes), bytes_text(r.capacity_bytes),
                     r.verdict == FitVerdict::fits ? "fits" : upper(name(r.verdict)), with});
  }
  return table(cells, std::vector<bool>(8, false));
}

}  // namespace tilecheck::fit
