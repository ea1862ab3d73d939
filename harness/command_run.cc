// run, check, fit.
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>

#include "harness/command_line.h"
#include "harness/filter.h"
#include "harness/fit.h"
#include "harness/format.h"
#include "harness/payload_subject.h"
#include "harness/progress.h"
#include "sim/io/file.h"
#include "sim/types/error.h"

namespace tilecheck {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The command that repeats the run of one subject: what was typed, less the other subjects, what concerns output and
// what the replay itself appends.
std::string replay_prefix(const CommandLine& line, const std::string& subject) {
  static constexpr std::string_view kDroppedValues[] = {"--schedule", "--seed",   "--json",     "--output-format",
                                                        "--out",      "--color",  "--baseline", "--write-baseline",
                                                        "--budget",   "--threads"};
  static constexpr std::string_view kDroppedFlags[] = {"-q", "--quiet", "-v", "--verbose"};
  static constexpr std::string_view kFlags[] = {"--force", "--share-hbm", "--integers", "--no-compare"};
  std::string text = "tilecheck run " + shell_quoted(subject);
  for (size_t i = 1; i < line.words.size(); ++i) {
    const std::string_view word = line.words[i];
    const bool is_option = word.starts_with('-') && word.size() > 1;
    if (!is_option || std::ranges::find(kDroppedFlags, word) != std::end(kDroppedFlags)) continue;
    const std::string_view option = word.substr(0, word.find('='));
    const bool has_value_after = option.size() == word.size() && std::ranges::find(kFlags, word) == std::end(kFlags) &&
                                 i + 1 < line.words.size();
    if (has_value_after) ++i;
    if (std::ranges::find(kDroppedValues, option) != std::end(kDroppedValues)) continue;
    text += " " + shell_quoted(word);
    if (has_value_after) text += " " + shell_quoted(line.words[i]);
  }
  return text;
}

RunOptions options_for(const CommandLine& line, const Subject& s, const Target& target) {
  RunOptions options = line.run;
  options.launch.target = &target;
  options.target_is_assumed = line.targets.empty() && s.target.empty();
  options.launch.cores = std::max(options.launch.cores, s.cores);
  return options;
}

void finish_outcomes(const CommandLine& line, std::vector<Outcome>& outcomes) {
  std::optional<Baseline> baseline;
  if (!line.baseline_file.empty()) baseline = Baseline::read(line.baseline_file);
  if (!line.write_baseline_file.empty()) Baseline::write(line.write_baseline_file, outcomes);
  for (Outcome& o : outcomes) filter_findings(o, line.select, line.ignore, baseline ? &*baseline : nullptr);
}

int report(const CommandLine& line, const std::vector<Outcome>& outcomes, const std::string& text) {
  print_and_write(line, text, [&] { return json_report(outcomes, line.writer); });
  return exit_code(worst_verdict(outcomes, line.writer.threshold));
}
int report(const CommandLine& line, const std::vector<Outcome>& outcomes, double seconds) {
  return report(line, outcomes, write_report(line.format, outcomes, line.writer, seconds));
}

// --steps that lie beyond the run.
void warn_of_missing_steps(const RunOptions& options, Outcome& o) {
  if (!options.launch.record_steps || !o.ran || !o.steps.empty()) return;
  const int64_t begin = options.launch.step_begin, end = options.launch.step_end;
  o.warnings.push_back(
      "--steps " + std::to_string(begin) + ":" + (end < 0 ? "" : std::to_string(end)) + " shows nothing: " +
      (begin == end ? "it names no step"
                    : "there are " + plural(o.report.counters.grid_steps, "step") + ", counted from 0"));
}

void refuse_ambiguous_operands(const CommandLine& line, size_t subjects) {
  if (subjects > 1 && (!line.run.in.empty() || !line.run.expect.empty()))
    throw InputError(line.run.in.empty() ? "--expect" : "--in",
                     line.subjects[0] + " has " + std::to_string(subjects) + " calls: choose one with --call");
}

// The files that `check` is to look at: a directory stands for its captures and modules.
std::vector<std::string> expanded(const std::vector<std::string>& given) {
  std::vector<std::string> all;
  for (const std::string& what : given) {
    std::error_code error;
    if (what == "all" && !std::filesystem::exists(what, error)) {
      for (const Kernel& k : registered_kernels()) all.push_back(k.name);
    } else if (!is_kernel_name(what) && std::filesystem::is_directory(what, error) && !is_capture(what)) {
      std::vector<std::string> inside;
      for (const auto& entry : std::filesystem::directory_iterator(what, error)) {
        const std::string path = entry.path().string();
        if (is_capture(path) || path.ends_with(".mlir") || path.ends_with(".mlirbc")) inside.push_back(path);
      }
      if (error) throw InputError(what, "cannot list: " + error.message());
      if (inside.empty()) throw InputError(what, "no captures (call.json) and no modules (.mlir, .mlirbc) in it");
      std::ranges::sort(inside);
      all.insert(all.end(), inside.begin(), inside.end());
    } else {
      all.push_back(what);
    }
  }
  return all;
}

Outcome failed(const std::string& subject, const std::string& message) {
  Outcome o;
  o.subject = subject;
  o.error = message;
  return o;
}

// All runs of one named thing; bad input becomes an outcome, so that the others still run.
std::vector<Outcome> check_one(const std::string& what, const CommandLine& line, const std::vector<Target>& targets) {
  std::vector<Outcome> outcomes;
  try {
    for (const Subject& s : open_subjects(what, line)) {
      check_options(line, s);
      const std::vector<Target> own = targets_of(s, line, targets);
      for (const Target& target : own) {
        RunOptions options = options_for(line, s, target);
        options.replay_command = replay_prefix(line, what);
        Outcome o = (line.explore ? explore_subject(s, options, *line.explore) : run_subject(s, options)).outcome;
        if (own.size() > 1) o.subject += " " + target.name;
        outcomes.push_back(std::move(o));
      }
    }
  } catch (const InputError& e) {
    outcomes.push_back(failed(what, e.what()));
  } catch (const Incomplete& e) {
    Outcome o = failed(what, "");
    o.report.incomplete.emplace_back(e.what());
    outcomes.push_back(std::move(o));
  } catch (const std::bad_alloc&) {
    outcomes.push_back(failed(what, "not enough memory"));
  }
  return outcomes;
}

std::string fits_with(const fit::VmemReport& f) {
  if (f.verdict == fit::FitVerdict::fits) return "";
  return f.sufficient_limit_bytes ? "vmem_limit_bytes >= " + std::to_string(*f.sufficient_limit_bytes)
                                  : "smaller blocks only";
}

std::string fit_summary(const std::vector<Outcome>& outcomes) {
  Table table("  ");
  table.row({"target", ">blocks", ">spills", ">need", ">limit", ">capacity", "verdict", ">time", "fits with"});
  for (const Outcome& o : outcomes) {
    if (!o.fit) {
      table.row({o.report.target, "", "", "", "", "", o.report.incomplete.empty() ? "-" : "incomplete"});
      continue;
    }
    const fit::VmemReport& f = *o.fit;
    const auto estimate = [](int64_t bytes, bool is_exact) { return (is_exact ? ">" : ">~") + human_bytes(bytes); };
    table.row({o.report.target, ">" + human_bytes(f.block_bytes),
               f.spill_max_bytes > 0 ? estimate(f.spill_bytes, false) : ">-",
               estimate(f.need_bytes, f.spill_max_bytes == 0), ">" + human_bytes(f.limit_bytes),
               ">" + human_bytes(f.capacity_bytes),
               f.verdict == fit::FitVerdict::cannot_fit ? "CANNOT-FIT" : std::string(name(f.verdict)),
               o.time && o.time->not_modelled.empty() ? ">~" + human_time_us(o.time->us) : ">-", fits_with(f)});
  }
  return table.text();
}

}  // namespace

int run_command(CommandLine line) {
  const auto start = std::chrono::steady_clock::now();
  if (line.subjects.size() != 1)
    throw InputError("run", "takes one kernel, module or capture; `tilecheck check` takes many");
  const std::vector<Target> targets = chosen_targets(line);
  std::vector<Subject> subjects = open_subjects(line.subjects[0], line);
  refuse_ambiguous_operands(line, subjects.size());
  for (const Subject& s : subjects) check_options(line, s);
  if (!line.out_directory.empty() && subjects.size() * targets.size() > 1)
    throw InputError("--out", "holds the results of one run; choose one call and one target");
  std::vector<Outcome> outcomes;
  const std::string prefix = replay_prefix(line, line.subjects[0]);
  for (const Subject& s : subjects) {
    for (const Target& target : targets_of(s, line, targets)) {
      RunOptions options = options_for(line, s, target);
      options.replay_command = prefix;
      Progress progress(s.name);
      options.launch.progress = [&progress](int64_t done, int64_t total) { progress.update(done, total); };
      RunResult result = line.explore ? explore_subject(s, options, *line.explore) : run_subject(s, options);
      if (!line.out_directory.empty() && result.outcome.report.incomplete.empty())
        write_results(line.out_directory, result.devices);
      warn_of_missing_steps(options, result.outcome);
      outcomes.push_back(std::move(result.outcome));
    }
  }
  finish_outcomes(line, outcomes);
  return report(line, outcomes, seconds_since(start));
}

int check_command(CommandLine line) {
  const auto start = std::chrono::steady_clock::now();
  if (!line.run.in.empty() || !line.run.expect.empty())
    throw InputError(line.run.in.empty() ? "--expect" : "--in",
                     "belongs to one run: use `tilecheck run`, or a capture directory");
  const std::vector<Target> targets = chosen_targets(line);
  const std::vector<std::string> names = expanded(line.subjects);
  const int threads = line.run.launch.threads;
  // Several subjects side by side rather than several threads in one.
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, static_cast<size_t>(threads));
  if (names.size() > 1) line.run.launch.threads = 1;
  std::vector<std::vector<Outcome>> parts(names.size());
  Progress progress("check");
  std::atomic<int64_t> done{0};
  tbb::parallel_for(size_t{0}, names.size(), [&](size_t i) {
    parts[i] = check_one(names[i], line, targets);
    progress.update(++done, static_cast<int64_t>(names.size()));
  });
  std::vector<Outcome> outcomes;
  for (auto& part : parts) std::ranges::move(part, std::back_inserter(outcomes));
  finish_outcomes(line, outcomes);
  const double seconds = seconds_since(start);
  if (line.format != OutputFormat::text) return report(line, outcomes, seconds);
  return report(line, outcomes, text_summary(outcomes, line.writer, seconds));
}

int fit_command(const CommandLine& line) {
  const auto start = std::chrono::steady_clock::now();
  if (line.subjects.size() != 1) throw InputError("fit", "takes one kernel, module or capture");
  const std::vector<Target> targets = chosen_targets(line);
  const std::vector<Subject> subjects = open_subjects(line.subjects[0], line);
  std::vector<Outcome> outcomes;
  std::vector<size_t> ends;  // of each subject's outcomes
  for (const Subject& s : subjects) {
    std::optional<SubjectTraffic> traffic;  // the same on every target
    for (const Target& target : targets_of(s, line, targets)) {
      const FitRequest request{
          .target = &target, .vmem_limit_bytes = line.vmem_limit_bytes, .share_hbm = line.run.share_hbm};
      const Outcome& o = outcomes.emplace_back(fit_subject(s, request, traffic ? &*traffic : nullptr));
      if (!o.report.counters.windows.empty() || !o.traffic_unknown.empty())
        traffic = {o.report.counters.windows, o.traffic_unknown};
    }
    ends.push_back(outcomes.size());
  }
  finish_outcomes(line, outcomes);
  if (line.format != OutputFormat::text || outcomes.size() == 1) return report(line, outcomes, seconds_since(start));
  std::string out;
  int cannot = 0;
  for (size_t i = 0; i < subjects.size(); ++i) {
    const std::vector<Outcome> rows(outcomes.begin() + static_cast<int64_t>(i > 0 ? ends[i - 1] : 0),
                                    outcomes.begin() + static_cast<int64_t>(ends[i]));
    out += printable(subjects[i].name) + "   " + printable(subjects[i].headline) + "\n" + fit_summary(rows);
    for (const Outcome& o : rows) cannot += o.fit && o.fit->verdict == fit::FitVerdict::cannot_fit;
  }
  WriterOptions findings_only = line.writer;
  findings_only.quiet = true;
  for (const Outcome& o : outcomes)
    if (o.verdict(line.writer.threshold) != Verdict::clean)
      out += "\n" + o.report.target + ": " + text_report(o, findings_only);
  if (cannot > 0)
    out += "error: does not fit on " + std::to_string(cannot) + " of " +
           plural(static_cast<int64_t>(outcomes.size()), "target") + "\n";
  return report(line, outcomes, out);
}

}  // namespace tilecheck
