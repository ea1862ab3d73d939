// The tables of a text report: HBM traffic, the step log.
#include <algorithm>

#include "harness/format.h"
#include "harness/writers.h"

namespace tilecheck {
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
