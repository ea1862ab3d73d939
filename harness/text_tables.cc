// The tables of a text report: VMEM need, HBM traffic, the step log.
#include <algorithm>

#include "harness/format.h"
#include "harness/writers.h"

namespace tilecheck {
namespace {

// Rows that differ by name alone are shown as one: "k, v ... 2x256 KiB".
struct FitGroup {
  FitRow row;
  int count = 1;
};

std::vector<FitGroup> grouped(const std::vector<FitRow>& rows) {
  std::vector<FitGroup> groups;
  for (const FitRow& r : rows) {
    const auto same = std::ranges::find_if(groups, [&](const FitGroup& g) {
      return g.row.category == r.category && g.row.block == r.block && g.row.dtype == r.dtype &&
             g.row.buffers == r.buffers && g.row.reason == r.reason && g.row.total_bytes == r.total_bytes &&
             g.row.detail == r.detail;
    });
    if (same == groups.end()) {
      groups.push_back({r});
    } else {
      same->row.name += ", " + r.name;
      ++same->count;
    }
  }
  return groups;
}

std::string share_text(int64_t bytes, int64_t of) {
  return of > 0 ? ">" + percent(static_cast<double>(bytes) / static_cast<double>(of)) : "";
}

}  // namespace

std::string fit_text(const FitOutcome& fit, bool verbose) {
  Table table("  ");
  table.row({"VMEM", "block", "tile", ">bytes", "x buffers", ">total", ">share"});
  for (const FitGroup& g : grouped(fit.rows)) {
    const FitRow& r = g.row;
    const std::string total = (g.count > 1 ? std::to_string(g.count) + "x" : "") + human_bytes(r.total_bytes);
    if (r.category == "spills" || r.category == "internal") {
      table.row(
          {printable(r.name), r.detail, "", "", "", ">~" + total, share_text(r.total_bytes * g.count, fit.need_bytes)});
      continue;
    }
    std::string block = (r.block.empty() ? "scalar" : to_string(r.block)) + " " + std::string(name(r.dtype));
    std::string bytes = human_bytes(r.buffer_bytes);
    if (verbose && r.unpadded_bytes != r.buffer_bytes) bytes += " (" + human_bytes(r.unpadded_bytes) + " unpadded)";
    table.row({printable(r.name), block, r.tile, ">" + bytes, "x" + std::to_string(r.buffers) + " " + r.reason,
               ">" + total, share_text(r.total_bytes * g.count, fit.need_bytes)});
  }
  std::string out = fit.rows.empty() ? "" : table.text();
  const bool is_exact = fit.need_min_bytes == fit.need_max_bytes;
  std::string need = "  need " + std::string(is_exact ? "" : "~") + human_bytes(fit.need_bytes);
  if (!is_exact) need += " (" + human_bytes(fit.need_min_bytes) + ".." + human_bytes(fit.need_max_bytes) + ")";
  need += " of " + human_bytes(fit.limit_bytes) + " (" + fit.limit_source + ")   ";
  const double share =
      fit.limit_bytes > 0 ? static_cast<double>(fit.need_bytes) / static_cast<double>(fit.limit_bytes) : 0;
  switch (fit.verdict) {
    case FitVerdict::fits:
      need += "FITS";
      break;
    case FitVerdict::thin:
      need += "THIN";
      break;
    case FitVerdict::cannot_fit:
      need += "CANNOT FIT";
      break;
  }
  out += need + " (" + percent(share) + ")\n";
  if (fit.smem_bytes > 0)
    out += "  SMEM " + human_bytes(fit.smem_bytes) + " of " + human_bytes(fit.smem_limit_bytes) + "\n";
  if (!fit.fits_with.empty()) out += "  fits with " + fit.fits_with + "\n";
  for (const std::string& advice : fit.advice) out += "  = help: " + advice + "\n";
  return out;
}

std::string traffic_text(const Counters& counters) {
  struct Group {
    const WindowCounters* first;
    std::string names;
    int count;
  };
  std::vector<Group> groups;
  for (const WindowCounters& w : counters.windows) {
    if (w.moved_bytes == 0 && w.minimum_bytes == 0) continue;
    const auto same = std::ranges::find_if(groups, [&](const Group& g) {
      return g.first->moved_bytes == w.moved_bytes && g.first->minimum_bytes == w.minimum_bytes &&
             g.first->fetches == w.fetches && g.first->write_backs == w.write_backs;
    });
    if (same == groups.end()) {
      groups.push_back({&w, printable(w.name), 1});
    } else {
      same->names += ", " + printable(w.name);
      ++same->count;
    }
  }
  if (groups.empty() && counters.dma_bytes == 0) return "";
  Table table("  ");
  table.row({"HBM", ">moved", ">minimum", ">ratio", ""});
  for (const Group& g : groups) {
    const WindowCounters& w = *g.first;
    char ratio[32] = "-";
    if (w.minimum_bytes > 0)
      std::snprintf(ratio, sizeof ratio, "%.2fx",
                    static_cast<double>(w.moved_bytes) / static_cast<double>(w.minimum_bytes));
    std::string copies = w.fetches > 0 ? plural(w.fetches, "fetch") : "";
    if (w.fetches > 1) copies = std::to_string(w.fetches) + " fetches";
    if (w.write_backs > 0) copies += (copies.empty() ? "" : ", ") + plural(w.write_backs, "write-back");
    table.row({g.names, ">" + human_bytes(w.moved_bytes), ">" + human_bytes(w.minimum_bytes), ">" + std::string(ratio),
               copies + (g.count > 1 ? " each" : "")});
  }
  if (counters.dma_copies > 0)
    table.row({"copies", ">" + human_bytes(counters.dma_bytes), "", "",
               std::to_string(counters.dma_copies) + " started by the body"});
  return table.text();
}

std::string step_log(const Outcome& outcome) {
  Table table("  ");
  for (const StepRecord& s : outcome.steps) {
    std::vector<std::string> cells{"step " + step_text(s.step)};
    for (const StepRecord::WindowEvent& e : s.events) {
      const auto i = static_cast<size_t>(e.window);
      std::string cell =
          i < outcome.window_names.size() ? printable(outcome.window_names[i]) : "window " + std::to_string(i);
      const std::string size = " " + human_bytes(e.bytes);
      cell += " " + index_text(e.block);
      if (e.fetched) cell += " fetch slot " + std::to_string(e.slot) + size;
      if (e.written_back) cell += " write back slot " + std::to_string(e.slot) + size;
      if (!e.fetched && !e.written_back) cell += " kept";
      cells.push_back(std::move(cell));
    }
    table.row(std::move(cells));
  }
  return table.text();
}

}  // namespace tilecheck
