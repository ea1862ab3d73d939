#include "harness/sweep.h"

#include <algorithm>

#include "harness/fit.h"
#include "harness/ranges.h"
#include "sim/io/file.h"
#include "sim/types/error.h"

namespace tilecheck {
namespace {

bool is_candidate(const SweepRow& r) {
  return r.refused.empty() && r.fit != fit::FitVerdict::cannot_fit && !r.has_errors && r.hbm_bytes >= 0;
}

bool dominates(const SweepRow& a, const SweepRow& b) {
  if (a.need_bytes > b.need_bytes || a.hbm_bytes > b.hbm_bytes || a.time_us > b.time_us) return false;
  return a.need_bytes < b.need_bytes || a.hbm_bytes < b.hbm_bytes || a.time_us < b.time_us;
}

// The product of the sets' values, the last one fastest.
std::vector<std::vector<std::string>> all_rows(const std::vector<std::vector<std::string>>& choices) {
  std::vector<std::vector<std::string>> rows{{}};
  for (const auto& values : choices) {
    std::vector<std::vector<std::string>> longer;
    for (const auto& row : rows)
      for (const std::string& v : values) {
        longer.push_back(row);
        longer.back().push_back(v);
      }
    rows = std::move(longer);
  }
  return rows;
}

void fill_row(SweepRow& row, const Subject& subject, const SubjectTraffic& traffic, const CommandLine& line,
              const Target& target) {
  const Outcome o = fit_subject(subject,
                                {.target = &target,
                                 .vmem_limit_bytes = line.vmem_limit_bytes,
                                 .share_hbm = line.run.share_hbm,
                                 .is_payload = subject.is_payload,
                                 .timeline_steps = 0,
                                 .advise = false},
                                &traffic);
  if (!o.report.incomplete.empty()) throw Incomplete(o.report.incomplete[0]);
  row.fit = o.fit ? o.fit->verdict : fit::FitVerdict::thin;
  if (o.fit) {
    row.need_bytes = o.fit->need_bytes;
    row.limit_bytes = std::min(o.fit->limit_bytes, o.fit->capacity_bytes);
    row.is_exact = o.fit->spill_max_bytes == 0;
  }
  if (o.time && o.time->not_modelled.empty()) {
    row.time_us = o.time->us;
    row.bound = name(o.time->bound);
  }
  for (const WindowCounters& w : o.report.counters.windows) row.hbm_bytes += w.moved_bytes;
  if (!o.traffic_unknown.empty()) row.hbm_bytes = -1;
  row.has_errors = row.fit != fit::FitVerdict::cannot_fit && o.report.count(Severity::error) > 0;
  if (!line.run_rows || row.fit == fit::FitVerdict::cannot_fit || row.has_errors) return;
  check_options(line, subject);
  RunOptions options = line.run;
  options.launch.target = &target;
  options.analyse_fit = false;
  row.ran = name(run_subject(subject, options).outcome.verdict());
}

}  // namespace

void mark_pareto(std::vector<SweepRow>& rows) {
  // By time, then by need: a row is dominated only by one before it, or by an equal.
  std::vector<SweepRow*> order;
  for (SweepRow& r : rows)
    if (is_candidate(r)) order.push_back(&r);
  std::ranges::stable_sort(order, [](const SweepRow* a, const SweepRow* b) {
    return std::tie(a->time_us, a->need_bytes, a->hbm_bytes) < std::tie(b->time_us, b->need_bytes, b->hbm_bytes);
  });
  std::vector<const SweepRow*> front;
  for (SweepRow* r : order) {
    r->pareto =
        std::ranges::none_of(front, [&](const SweepRow* f) { return f->target == r->target && dominates(*f, *r); });
    if (r->pareto) front.push_back(r);
  }
}

Sweep sweep_kernel(const KernelChoice& choice, const CommandLine& line, std::span<const Target> targets,
                   const std::function<void(int64_t, int64_t)>& progress) {
  Sweep sweep;
  line.set_map();  // refuses a parameter set twice
  std::map<std::string, std::string> fixed;
  std::vector<std::vector<std::string>> choices;
  int64_t count = static_cast<int64_t>(targets.size());
  for (const Setting& s : line.set) {
    std::vector<std::string> values = expand_ranges(s.values, "--set " + s.name + "=" + s.values);
    if (values.size() == 1) {
      fixed[s.name] = values[0];
      continue;
    }
    count *= static_cast<int64_t>(values.size());
    if (count > kMaxSweepRows) throw InputError("sweep", "more than " + std::to_string(kMaxSweepRows) + " rows");
    sweep.names.push_back(s.name);
    choices.push_back(std::move(values));
  }
  // Unknown names and values that no row can have are refused at once, not row by row.
  std::map<std::string, std::string> first = fixed;
  for (size_t i = 0; i < choices.size(); ++i) first[sweep.names[i]] = choices[i][0];
  ParamValues(choice.kernel->params, first);

  int64_t done = 0;
  for (const std::vector<std::string>& values : all_rows(choices)) {
    std::map<std::string, std::string> set = fixed;
    for (size_t i = 0; i < values.size(); ++i) set[sweep.names[i]] = values[i];
    std::optional<Subject> subject;  // recorded once, judged for each target
    SubjectTraffic traffic;
    for (const Target& target : targets) {
      SweepRow row{.values = values, .target = target.name};
      try {
        if (!subject) {
          subject = subject_of(choice, set);
          traffic = subject_traffic(*subject);
        }
        fill_row(row, *subject, traffic, line, target);
      } catch (const InputError& e) {
        row.refused = e.what();
      } catch (const Incomplete& e) {
        row.refused = std::string("not modelled: ") + e.what();
      }
      sweep.pruned += row.refused.empty() && row.fit == fit::FitVerdict::cannot_fit;
      sweep.rows.push_back(std::move(row));
      progress(++done, count);
    }
  }
  mark_pareto(sweep.rows);
  return sweep;
}

}  // namespace tilecheck
