// sweep: the table, and files of all rows.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "harness/command_line.h"
#include "harness/format.h"
#include "harness/progress.h"
#include "harness/sweep.h"
#include "sim/io/file.h"
#include "sim/types/error.h"

namespace tilecheck {
namespace {

using Json = nlohmann::ordered_json;

std::string verdict_of(const SweepRow& r) {
  if (!r.refused.empty()) return "refused";
  if (r.has_errors) return "cannot-compile";
  return std::string(name(r.fit));
}

// Candidates by time (HBM bytes where there is no time), then what does not fit, by need; refused ones last.
std::vector<const SweepRow*> ranked(const Sweep& sweep) {
  std::vector<const SweepRow*> rows;
  for (const SweepRow& r : sweep.rows) rows.push_back(&r);
  const auto rank = [](const SweepRow& r) {
    return !r.refused.empty() ? 3 : r.fit == fit::FitVerdict::cannot_fit ? 2 : r.has_errors ? 1 : 0;
  };
  std::ranges::stable_sort(rows, [&](const SweepRow* a, const SweepRow* b) {
    return std::tuple(rank(*a), a->time_us, a->hbm_bytes < 0, a->hbm_bytes, a->need_bytes) <
           std::tuple(rank(*b), b->time_us, b->hbm_bytes < 0, b->hbm_bytes, b->need_bytes);
  });
  return rows;
}

std::string table_text(const Sweep& sweep, const CommandLine& line, bool has_targets) {
  const std::vector<const SweepRow*> rows = ranked(sweep);
  const SweepRow *fastest = nullptr, *least = nullptr;
  for (const SweepRow* r : rows) {
    if (!r->pareto) continue;
    if (!fastest || r->time_us < fastest->time_us) fastest = r;
    if (!least || r->need_bytes < least->need_bytes) least = r;
  }
  Table table("");
  std::vector<std::string> head{" "};
  for (const std::string& n : sweep.names) head.push_back(">" + n);
  if (has_targets) head.emplace_back("target");
  for (const char* h : {">VMEM need", ">of limit", ">HBM", ">time", "bound", "verdict"}) head.emplace_back(h);
  table.row(head);
  int shown = 0;
  for (const SweepRow* r : rows) {
    // The best few, and the Pareto list.
    if (shown >= line.top && !r->pareto) continue;
    ++shown;
    std::vector<std::string> cells{r->pareto ? "*" : " "};
    for (const std::string& v : r->values) cells.push_back(">" + v);
    if (has_targets) cells.push_back(r->target);
    if (!r->refused.empty()) {
      for (int i = 0; i < 5; ++i) cells.emplace_back();
      cells.push_back("refused: " + printable(r->refused));
      table.row(cells);
      continue;
    }
    cells.push_back((r->is_exact ? ">" : ">~") + human_bytes(r->need_bytes));
    cells.push_back(
        ">" + percent(static_cast<double>(r->need_bytes) / static_cast<double>(std::max<int64_t>(r->limit_bytes, 1))));
    cells.push_back(">" + (r->hbm_bytes < 0 ? "-" : human_bytes(r->hbm_bytes)));
    cells.push_back(r->time_us > 0 ? ">~" + human_time_us(r->time_us) : ">-");
    cells.push_back(r->bound);
    std::string verdict = verdict_of(*r);
    if (r->fit == fit::FitVerdict::cannot_fit) verdict += " (" + human_bytes(r->need_bytes - r->limit_bytes) + " over)";
    if (!r->ran.empty()) verdict += ", ran " + r->ran;
    if (r == fastest && r->time_us > 0) verdict += "   <- fastest";
    if (r == least) verdict += "   <- least VMEM";
    cells.push_back(verdict);
    table.row(cells);
  }
  return table.text();
}

std::vector<std::string> columns(const Sweep& sweep) {
  std::vector<std::string> names = sweep.names;
  for (const char* c :
       {"target", "verdict", "need_bytes", "limit_bytes", "hbm_bytes", "time_us", "bound", "pareto", "ran", "refused"})
    names.emplace_back(c);
  return names;
}

std::vector<std::string> cells(const SweepRow& r) {
  std::vector<std::string> out = r.values;
  const bool is_refused = !r.refused.empty();
  char time[32] = "";
  if (r.time_us > 0) std::snprintf(time, sizeof time, "%.3f", r.time_us);
  const auto figure = [&](int64_t v) { return is_refused ? std::string() : std::to_string(v); };
  for (std::string c : {r.target, verdict_of(r), figure(r.need_bytes), figure(r.limit_bytes),
                        r.hbm_bytes < 0 ? std::string() : figure(r.hbm_bytes), std::string(time), r.bound,
                        std::string(r.pareto ? "1" : "0"), r.ran, r.refused})
    out.push_back(std::move(c));
  return out;
}

std::string csv(const Sweep& sweep) {
  const auto row = [](const std::vector<std::string>& parts) {
    std::string out;
    for (size_t i = 0; i < parts.size(); ++i) {
      if (i) out += ",";
      if (parts[i].find_first_of(",\"\n\r") == std::string::npos) {
        out += parts[i];
        continue;
      }
      out += '"';
      for (const char c : parts[i]) out += c == '"' ? std::string("\"\"") : std::string(1, c);
      out += '"';
    }
    return out + "\n";
  };
  std::string out = row(columns(sweep));
  for (const SweepRow& r : sweep.rows) out += row(cells(r));
  return out;
}

std::string markdown(const Sweep& sweep) {
  const auto row = [](const std::vector<std::string>& parts) {
    std::string out = "|";
    for (const std::string& p : parts) {
      out += " ";
      for (const char c : printable(p)) out += c == '|' ? std::string("\\|") : std::string(1, c);
      out += " |";
    }
    return out + "\n";
  };
  std::string out = row(columns(sweep));
  out += row(std::vector<std::string>(columns(sweep).size(), "---"));
  for (const SweepRow& r : sweep.rows) out += row(cells(r));
  return out;
}

std::string json(const Sweep& sweep, const std::string& kernel) {
  Json rows = Json::array();
  for (const SweepRow& r : sweep.rows) {
    Json set = Json::object();
    for (size_t i = 0; i < sweep.names.size(); ++i) set[sweep.names[i]] = r.values[i];
    Json row = {{"set", set}, {"target", r.target}, {"verdict", verdict_of(r)}};
    if (!r.refused.empty()) {
      row["refused"] = r.refused;
    } else {
      row["need_bytes"] = r.need_bytes;
      row["limit_bytes"] = r.limit_bytes;
      row["hbm_bytes"] = r.hbm_bytes < 0 ? Json(nullptr) : Json(r.hbm_bytes);
      row["time_us"] = r.time_us > 0 ? Json(r.time_us) : Json(nullptr);
      row["bound"] = r.bound;
      row["pareto"] = r.pareto;
      if (!r.ran.empty()) row["ran"] = r.ran;
    }
    rows.push_back(std::move(row));
  }
  return Json({{"schema", 1}, {"kernel", kernel}, {"rows", rows}}).dump(1, ' ', false, Json::error_handler_t::replace) +
         "\n";
}

}  // namespace

int sweep_command(const CommandLine& line) {
  const auto start = std::chrono::steady_clock::now();
  if (line.subjects.size() != 1) throw InputError("sweep", "takes one kernel");
  std::error_code error;
  if (!is_kernel_name(line.subjects[0]) && std::filesystem::exists(line.subjects[0], error))
    throw InputError(line.subjects[0],
                     "sweep takes a registered kernel (`tilecheck list` shows them); the tiles of a payload are made "
                     "already, `tilecheck fit` judges them");
  const KernelChoice choice = kernel_named(line.subjects[0]);
  const std::vector<Target> targets = chosen_targets(line);
  Progress progress("sweep");
  const Sweep sweep =
      sweep_kernel(choice, line, targets, [&](int64_t done, int64_t total) { progress.update(done, total); });
  if (!line.csv_file.empty()) write_file(line.csv_file, csv(sweep));
  if (!line.markdown_file.empty()) write_file(line.markdown_file, markdown(sweep));
  const auto count = [&](auto predicate) { return static_cast<int64_t>(std::ranges::count_if(sweep.rows, predicate)); };
  const int64_t refused = count([](const SweepRow& r) { return !r.refused.empty(); });
  const int64_t wrong = count([](const SweepRow& r) { return !r.ran.empty() && r.ran != name(Verdict::clean); });
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, ", %.2f s\n",
                std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  std::string out = plural(static_cast<int64_t>(sweep.rows.size()), "tile") + ", " + std::to_string(sweep.pruned) +
                    " pruned (cannot fit)";
  if (refused > 0) out += ", " + std::to_string(refused) + " refused";
  out += seconds + table_text(sweep, line, targets.size() > 1);
  out += "* Pareto (VMEM, HBM, time).";
  if (count([](const SweepRow& r) { return r.hbm_bytes < 0; }) > 0)
    out += "  HBM -: not known (too many steps to count, or read at run time), not ranked.";
  if (!line.run_rows) out += "  --run checks results;";
  out += "  --csv FILE, --json FILE, --markdown FILE keep all rows\n";
  print_and_write(line, out, [&] { return json(sweep, choice.name()); });
  if (refused == static_cast<int64_t>(sweep.rows.size()))
    throw InputError("sweep", "no row can be made: " + sweep.rows[0].refused);
  return wrong > 0 ? exit_code(Verdict::findings) : 0;
}

}  // namespace tilecheck
