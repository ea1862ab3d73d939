// Text reports, after mockups that follow rustc's and clang's manner.
#include <algorithm>
#include <cstdio>

#include "harness/diagnostic.h"
#include "harness/format.h"
#include "harness/writers.h"

namespace tilecheck {
namespace {

std::string headline(const Outcome& o, const Paint& paint) {
  std::string line = paint.bold(printable(o.subject));
  if (!o.headline.empty()) line += "   " + printable(o.headline);
  line += "   target " + printable(o.report.target);
  if (o.ran) {
    line += "   numerics " + o.report.numerics + "   schedule " + printable(o.report.schedule) + "   seed " +
            std::to_string(o.report.seed);
  }
  return line + "\n";
}

std::string grid_line(const Outcome& o) {
  if (o.report.grid.empty()) return o.ran ? "no grid: one step\n" : "";
  std::string line = "grid (";
  for (int i = 0; i < o.report.grid.rank(); ++i)
    line += (i ? "," : "") + (o.report.grid[i] < 0 ? "dynamic" : std::to_string(o.report.grid[i]));
  line += ")";
  if (o.ran) line += " = " + plural(o.report.counters.grid_steps, "step");
  return line + "\n";
}

std::string time_line(const fit::TimeEstimate& t, bool verbose) {
  std::string line = "  time     ~" + human_time_us(t.us) + " = " + human_count(t.cycles) + " cycles (" + label(t) +
                     ")   bound: " + std::string(name(t.bound));
  if (t.cycles > 0) line += "; exposed copies " + percent(t.exposed_dma_cycles / t.cycles);
  line += "\n";
  for (const std::string& note : t.notes) line += "           " + note + "\n";
  if (verbose) {
    line += "           body " + human_count(t.body_cycles) + " cycles a step";
    if (t.body_cycles_max > t.body_cycles_min)
      line += " (" + human_count(t.body_cycles_min) + ".." + human_count(t.body_cycles_max) + ")";
    line += ", HBM " + human_count(t.hbm_cycles) + " cycles at full rate\n";
    for (const fit::WindowTime& w : t.windows)
      line += "           " + printable(w.name) + (w.is_input ? " in " : " out ") + human_count(w.cycles_per_copy) +
              " cycles a copy, " + human_count(static_cast<double>(w.copies)) + " copies\n";
  }
  for (const std::string& advice : t.advice) line += "  = help: " + printable(advice) + "\n";
  return line;
}

std::string result_line(const ResultOutcome& r, const Paint& paint) {
  const std::string name = printable(r.name) + (r.device > 0 ? " (device " + std::to_string(r.device) + ")" : "");
  std::string line = "  result   ";
  if (!r.comparison) {
    line += name + "  " + array_text(r.dtype, r.shape) + "  not compared";
  } else {
    std::string text = to_text(*r.comparison, printable(r.name));
    if (text.starts_with("pass"))
      text = paint.green("pass") + text.substr(4);
    else if (text.starts_with("FAIL"))
      text = paint.red("FAIL") + text.substr(4);
    line += name + "  " + text;
    if (!r.worst_step.empty()) line += ", step " + step_text(r.worst_step);
  }
  if (r.undefined > 0) line += "; " + plural(r.undefined, "element") + " undefined";
  return line + "\n";
}

std::string counters_text(const Counters& c) {
  std::string out = "  counters " + std::to_string(c.operations) + " operations, " + std::to_string(c.flops) +
                    " matmul flops, " + std::to_string(c.transcendentals) + " transcendentals\n";
  out += "           " + std::to_string(c.loads) + " loads (" + human_bytes(c.load_bytes) + "), " +
         std::to_string(c.stores) + " stores (" + human_bytes(c.store_bytes) + ")\n";
  if (c.dma_copies > 0)
    out += "           " + std::to_string(c.dma_copies) + " copies (" + human_bytes(c.dma_bytes) + "), " +
           std::to_string(c.semaphore_waits) + " waits, " + std::to_string(c.semaphore_signals) + " signals\n";
  if (c.unused_loads_removed > 0)
    out += "           " + plural(c.unused_loads_removed, "unused load") + " removed (" +
           human_bytes(c.unused_load_bytes) + ")\n";
  return out;
}

std::string diagnostics(const Outcome& o, const WriterOptions& options, bool compact_form) {
  const Paint paint(options.color);
  std::string out;
  for (const Finding& f : o.report.findings) {
    if (options.quiet && f.severity < options.threshold) continue;
    out += diagnostic_text(f, f.severity == Severity::note ? "" : o.replay, o.source_folder, paint);
    if (!compact_form) out += "\n";
  }
  for (const std::string& what : o.report.incomplete)
    out += paint.yellow("incomplete") + paint.bold(": not modelled: " + printable(what)) + "\n";
  return out;
}

std::string counted(const Report& r) {
  std::string text = plural(r.count(Severity::error), "error") + ", " + plural(r.count(Severity::warning), "warning");
  if (const int notes = r.count(Severity::note); notes > 0) text += ", " + plural(notes, "note");
  return text;
}

std::string painted_verdict(Verdict v, const Paint& paint) {
  const std::string text(name(v));
  switch (v) {
    case Verdict::clean:
      return paint.green(text);
    case Verdict::findings:
      return paint.red(text);
    case Verdict::incomplete:
      return paint.yellow(text);
    case Verdict::error:
      return paint.red(text);
  }
  return text;
}

}  // namespace

std::string exploration_line(const ExplorationOutcome& e) {
  std::string line = "  explored " + plural(e.runs, "run") + ": ";
  if (!e.failing.empty())
    line += "one fails, shrunk to --schedule " + e.failing;
  else if (e.schedule_independent)
    line += "no unordered event can change values or branches, one run stands for all";
  else if (e.complete)
    line += "every order of conflicting events, none fails";
  else
    line += "none fails";
  return line + "\n";
}

std::string verdict_text(const Outcome& o, const WriterOptions& options) {
  const Paint paint(options.color);
  std::string line = painted_verdict(o.verdict(options.threshold), paint) + "  " + counted(o.report);
  if (o.suppressed > 0) line += " (" + std::to_string(o.suppressed) + " suppressed)";
  if (o.report.schedule_independent && options.verbose) line += "   independent of the schedule";
  return line;
}

std::string text_report(const Outcome& o, const WriterOptions& options) {
  const Paint paint(options.color);
  if (!o.error.empty()) return paint.red("error") + paint.bold(": " + printable(o.error)) + "\n";
  std::string out;
  if (!options.quiet) {
    out += headline(o, paint) + grid_line(o);
    if (o.fit) out += fit::vmem_text(*o.fit);
    if (o.fit && (options.verbose || o.fit->verdict != fit::FitVerdict::fits))
      for (const std::string& advice : o.fit->advice) out += "  = help: " + advice + "\n";
    out += traffic_text(o.report.counters);
    if (!o.traffic_unknown.empty()) out += "  HBM      not known: " + o.traffic_unknown + "\n";
    if (o.time) out += time_line(*o.time, options.verbose);
    for (const ResultOutcome& r : o.results) {
      out += result_line(r, paint);
      if (!options.verbose || !r.comparison) continue;
      const std::string ulp = ulp_text(*r.comparison);
      if (!ulp.empty()) out += "           ulp " + ulp + "\n";
      out += "           exact zeros " + percent(r.comparison->zero_share) + ", not finite " +
             std::to_string(r.comparison->non_finite) + "\n";
    }
    if (options.verbose && o.ran) out += counters_text(o.report.counters);
    if (o.exploration) out += exploration_line(*o.exploration);
    if (!o.steps.empty()) out += step_log(o);
    for (const std::string& w : o.warnings) out += paint.yellow("warning") + ": " + printable(w) + "\n";
  }
  const std::string found = diagnostics(o, options, false);
  if (!found.empty()) out += (out.empty() ? "" : "\n") + found;
  out += verdict_text(o, options);
  if (o.ran) {
    char end[64];
    std::snprintf(end, sizeof end, "   %.2f s, %d thread%s", o.report.seconds, o.report.threads,
                  o.report.threads == 1 ? "" : "s");
    out += end;
  }
  return out + "\n";
}

std::string text_summary(std::span<const Outcome> outcomes, const WriterOptions& options, double seconds) {
  const Paint paint(options.color);
  std::string out;
  Table table("");
  int64_t counts[4] = {};
  for (const Outcome& o : outcomes) {
    const Verdict v = o.verdict(options.threshold);
    ++counts[static_cast<size_t>(v)];
    std::string what;
    if (!o.error.empty()) {
      what = o.error;
    } else {
      what = counted(o.report);
      if (!o.report.incomplete.empty()) what = "not modelled: " + o.report.incomplete.front();
      const auto is_compared = [](const ResultOutcome& r) { return r.comparison && !r.comparison->nothing_compared; };
      const auto failed =
          std::ranges::count_if(o.results, [&](const ResultOutcome& r) { return is_compared(r) && r.failed(); });
      const auto compared = std::ranges::count_if(o.results, is_compared);
      if (failed > 0)
        what += "; " + std::to_string(failed) + " of " + plural(compared, "result") + " wrong";
      else if (o.ran)
        what += "; " + plural(compared, "result") + " right";
      if (o.suppressed > 0) what += "; " + std::to_string(o.suppressed) + " suppressed";
    }
    if (!options.quiet || v != Verdict::clean) {
      const std::string found = diagnostics(o, options, false);
      if (!found.empty() && v != Verdict::error) out += paint.bold(printable(o.subject)) + "\n" + found;
      table.row({std::string(name(v)), printable(o.subject), printable(what)});
    }
  }
  out += table.text();
  std::string line =
      plural(static_cast<int64_t>(outcomes.size()), "subject") + ": " + std::to_string(counts[0]) + " clean";
  for (const Verdict v : {Verdict::findings, Verdict::incomplete, Verdict::error})
    if (const int64_t n = counts[static_cast<size_t>(v)]; n > 0)
      line += ", " + std::to_string(n) +
              (v == Verdict::findings ? " with findings"
               : v == Verdict::error  ? " unusable"
                                      : " incomplete");
  char end[32];
  std::snprintf(end, sizeof end, "   %.2f s", seconds);
  return out + painted_verdict(worst_verdict(outcomes, options.threshold), paint) + "  " + line + end + "\n";
}

std::string short_report(std::span<const Outcome> outcomes, const WriterOptions& options) {
  std::string out;
  for (const Outcome& o : outcomes) {
    const std::string prefix = outcomes.size() > 1 ? printable(o.subject) + ": " : "";
    if (!o.error.empty()) out += prefix + "error: " + printable(o.error) + "\n";
    for (const Finding& f : o.report.findings)
      if (!options.quiet || f.severity >= options.threshold) out += prefix + diagnostic_line(f) + "\n";
    for (const std::string& what : o.report.incomplete)
      out += prefix + "incomplete: not modelled: " + printable(what) + "\n";
  }
  if (!options.quiet) out += std::string(name(worst_verdict(outcomes, options.threshold))) + "\n";
  return out;
}

std::optional<OutputFormat> parse_output_format(std::string_view text) {
  static constexpr std::pair<std::string_view, OutputFormat> kFormats[] = {
      {"text", OutputFormat::text},   {"short", OutputFormat::short_}, {"json", OutputFormat::json},
      {"junit", OutputFormat::junit}, {"sarif", OutputFormat::sarif},  {"github", OutputFormat::github}};
  for (const auto& [format_name, format] : kFormats)
    if (format_name == text) return format;
  return std::nullopt;
}

std::string write_report(OutputFormat format, std::span<const Outcome> outcomes, const WriterOptions& options,
                         double seconds) {
  switch (format) {
    case OutputFormat::text:
      return outcomes.size() == 1 ? text_report(outcomes[0], options) : text_summary(outcomes, options, seconds);
    case OutputFormat::short_:
      return short_report(outcomes, options);
    case OutputFormat::json:
      return json_report(outcomes, options);
    case OutputFormat::junit:
      return junit_report(outcomes, options);
    case OutputFormat::sarif:
      return sarif_report(outcomes, options);
    case OutputFormat::github:
      return github_report(outcomes, options);
  }
  return "";
}

}  // namespace tilecheck
