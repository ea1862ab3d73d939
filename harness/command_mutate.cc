// mutate: what single mistakes in a kernel's ordering are caught by.
#include <tbb/global_control.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "harness/command_line.h"
#include "harness/format.h"
#include "harness/mutation.h"
#include "harness/progress.h"
#include "harness/source.h"
#include "sim/types/error.h"

namespace tilecheck {
namespace {

using Json = nlohmann::ordered_json;

constexpr Caught kAll[] = {Caught::by_ordering, Caught::otherwise, Caught::equivalent, Caught::missed};

std::string place(const Loc& at) {
  return at.known() ? shown_file(at.file) + ":" + std::to_string(at.line) : std::string("-");
}

std::string sum_text(const MutationReport& r) {
  std::string text = plural(static_cast<int64_t>(r.mutants.size()), "mutant") + ": ";
  text += std::to_string(r.count(Caught::by_ordering)) + " caught by an ordering finding, " +
          std::to_string(r.count(Caught::otherwise)) + " only by a deadlock or mismatch, " +
          std::to_string(r.count(Caught::equivalent)) + " equivalent, " + std::to_string(r.count(Caught::missed)) +
          " missed";
  return text;
}

std::string kinds_table(const MutationReport& r) {
  if (r.mutants.empty()) return "";
  std::vector<std::string> kinds;
  for (const MutantOutcome& m : r.mutants)
    if (std::ranges::find(kinds, m.kind) == kinds.end()) kinds.push_back(m.kind);
  Table table("  ");
  table.row({"edit", ">mutants", ">ordering", ">otherwise", ">equivalent", ">missed"});
  for (const std::string& kind : kinds) {
    std::vector<std::string> row{kind, ""};
    int64_t all = 0;
    for (const Caught c : kAll) {
      const int64_t n =
          std::ranges::count_if(r.mutants, [&](const MutantOutcome& m) { return m.kind == kind && m.caught == c; });
      all += n;
      row.push_back(n ? ">" + std::to_string(n) : ">-");
    }
    row[1] = ">" + std::to_string(all);
    table.row(std::move(row));
  }
  return table.text();
}

std::string mutants_table(const MutationReport& r, bool survivors_only) {
  Table table("  ");
  for (const Caught c : {Caught::missed, Caught::equivalent, Caught::otherwise, Caught::by_ordering}) {
    if (survivors_only && c != Caught::missed && c != Caught::equivalent) continue;
    for (const MutantOutcome& m : r.mutants)
      if (m.caught == c) table.row({std::string(name(c)), place(m.at), printable(m.what), printable(m.by)});
  }
  return table.text();
}

Json to_json(const MutationReport& r) {
  Json mutants = Json::array(), counts = Json::object();
  for (const MutantOutcome& m : r.mutants)
    mutants.push_back({{"edit", m.kind},
                       {"what", m.what},
                       {"location", m.at.known() ? Json{{"file", shown_file(m.at.file)}, {"line", m.at.line}} : Json()},
                       {"caught", name(m.caught)},
                       {"by", m.by}});
  for (const Caught c : kAll) counts[std::string(name(c))] = r.count(c);
  return {{"subject", r.subject}, {"counts", counts}, {"mutants", mutants}};
}

}  // namespace

int mutate_command(const CommandLine& line) {
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism,
                                  static_cast<size_t>(line.run.launch.threads));
  if (line.explore) throw InputError("--schedule", "explore and exhaustive are many runs; a mutant gets one schedule");
  const std::vector<Target> chosen = chosen_targets(line);
  if (chosen.size() > 1) throw InputError("--target", "mutants run on one target");
  std::vector<MutationReport> reports;
  Progress progress("mutate");
  for (const std::string& path : line.subjects) {
    for (const Subject& s : open_subjects(path, line)) {
      check_options(line, s);
      const std::vector<Target> targets = targets_of(s, line, chosen);
      RunOptions options = line.run;
      options.launch.target = &targets.front();
      reports.push_back(run_mutations(s, options, mutations_of(s, path, line)));
    }
    progress.update(static_cast<int64_t>(reports.size()), static_cast<int64_t>(line.subjects.size()));
  }
  MutationReport all;
  std::string out;
  Json runs = Json::array();
  for (MutationReport& r : reports) {
    if (reports.size() == 1 || line.writer.verbose || r.count(Caught::missed) > 0) {
      out += printable(r.subject) + "\n";
      if (!line.writer.quiet) out += kinds_table(r);
      out += mutants_table(r, !line.writer.verbose);
    }
    out += (reports.size() == 1 ? std::string() : printable(r.subject) + "   ") + sum_text(r) + "\n";
    runs.push_back(to_json(r));
    std::ranges::move(r.mutants, std::back_inserter(all.mutants));
  }
  if (reports.size() > 1) {
    if (!line.writer.quiet) out += "all " + std::to_string(reports.size()) + "\n" + kinds_table(all);
    out += sum_text(all) + "\n";
  }
  print_and_write(line, out, [&] {
    return Json({{"schema", 1}, {"missed", all.count(Caught::missed)}, {"runs", runs}}).dump(1) + "\n";
  });
  return exit_code(all.count(Caught::missed) > 0 ? Verdict::findings : Verdict::clean);
}

}  // namespace tilecheck
