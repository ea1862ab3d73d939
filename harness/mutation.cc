#include "harness/mutation.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <set>

#include "harness/format.h"
#include "harness/payload_subject.h"
#include "sim/machine/sync_edit.h"
#include "sim/mosaic/mutate.h"
#include "sim/sync/explore.h"
#include "sim/types/error.h"

namespace tilecheck {
namespace {

constexpr double kProofSeconds = 5;
constexpr int64_t kProofRuns = 500;
constexpr const char* kNotReached = "not reached with these operands";
constexpr const char* kOtherSchedules[] = {"eager", "lifo", "torn", "random:1", "random:2", "pct:1:3"};

bool is_ordering(Kind kind) {
  switch (kind) {
    case Kind::race:
    case Kind::dma_not_awaited:
    case Kind::semaphore_not_drained:
    case Kind::wait_without_start:
    case Kind::semaphore_overflow:
    case Kind::semaphore_misuse:
    case Kind::use_after_scope:
    case Kind::collective_mismatch:
    case Kind::relies_on_message_order:
      return true;
    default:
      return false;
  }
}

std::set<Kind> kinds_of(const RunResult& r) {
  std::set<Kind> kinds;
  for (const Finding& f : r.outcome.report.findings)
    if (f.severity != Severity::note) kinds.insert(f.kind);
  return kinds;
}

// Equal where defined, and undefined in the same places.
bool same_bits(const RunResult& a, const RunResult& b) {
  if (a.devices.size() != b.devices.size()) return false;
  for (size_t d = 0; d < a.devices.size(); ++d)
    for (size_t i = 0; i < a.devices[d].out.size(); ++i) {
      const HostArray &x = a.devices[d].out[i], &y = b.devices[d].out[i];
      const std::vector<uint8_t>&u = a.devices[d].undefined[i], &v = b.devices[d].undefined[i];
      const auto width = static_cast<size_t>(storage_bytes(x.dtype()));
      for (int64_t e = 0; e < x.size(); ++e) {
        const auto at = static_cast<size_t>(e);
        const bool undefined = !u.empty() && u[at], other = !v.empty() && v[at];
        if (undefined != other) return false;
        if (!undefined && std::memcmp(x.data() + at * width, y.data() + at * width, width) != 0) return false;
      }
    }
  return true;
}

class Judge {
 public:
  Judge(const Subject& subject, const RunOptions& options, double run_seconds)
      : options_(options), run_seconds_(run_seconds) {
    options_.analyse_fit = false;
    options_.launch.threads = 1;
    RunOptions compared = options_;
    original_ = run_subject(subject, compared);
    const Outcome& o = original_.outcome;
    if (!o.report.incomplete.empty()) throw Incomplete(subject.name + ": " + o.report.incomplete[0]);
    for (const Finding& f : o.report.findings)
      if (f.severity == Severity::error)
        throw InputError(subject.name, "is not clean itself (" + std::string(name(f.kind)) + ": " + f.message +
                                           "); only a correct kernel's mutants tell anything");
    kinds_ = kinds_of(original_);
    options_.compare = false;  // with the kernel's own bits instead
    options_.fill.reset();
    options_.in.clear();
    options_.arrays = original_.operands;
  }

  MutantOutcome judge(const Subject& subject, const Mutation& mutation, const RunOptions& changed) const {
    MutantOutcome out{.kind = mutation.kind, .what = mutation.what, .at = mutation.at};
    RunOptions options = options_;
    options.launch.edit = changed.launch.edit;
    RunResult r;
    try {
      r = run(subject, options);
    } catch (const InputError& e) {
      out.caught = Caught::otherwise;
      out.by = std::string("refused: ") + e.what();
      return out;
    }
    if (named(r, out)) return out;
    prove(subject, options, r, out);
    return out;
  }

 private:
  RunResult run(const Subject& subject, RunOptions options) const {
    const auto start = std::chrono::steady_clock::now();
    options.launch.go_on = [start, limit = run_seconds_] {
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() < limit;
    };
    return run_subject(subject, options);
  }

  // Whether the run says that something is wrong.
  bool named(const RunResult& r, MutantOutcome& out) const {
    if (!r.outcome.report.incomplete.empty()) {
      out.caught = Caught::otherwise;
      out.by = "incomplete: " + r.outcome.report.incomplete[0];
    }
    std::string ordering, other;
    for (const Kind kind : kinds_of(r)) {
      if (kinds_.contains(kind)) continue;
      std::string& list = is_ordering(kind) ? ordering : other;
      list += (list.empty() ? "" : ", ") + std::string(name(kind));
    }
    if (!same_bits(original_, r)) other += std::string(other.empty() ? "" : ", ") + "other results";
    if (ordering.empty() && other.empty()) return !out.by.empty();
    out.caught = ordering.empty() ? Caught::otherwise : Caught::by_ordering;
    out.by = ordering.empty() ? other : ordering;
    return true;
  }

  void prove(const Subject& subject, RunOptions options, const RunResult& first, MutantOutcome& out) const {
    const Counters &was = original_.outcome.report.counters, &is = first.outcome.report.counters;
    for (const char* schedule : kOtherSchedules) {
      options.launch.sync.schedule = parse_schedule(schedule);
      MutantOutcome other = out;
      if (!named(run(subject, options), other)) continue;
      out.by = "--schedule " + std::string(schedule) + " names it: " + other.by;
      return;
    }
    out.caught = Caught::equivalent;
    if (out.kind == "drop" && was.dma_copies == is.dma_copies && was.semaphore_waits == is.semaphore_waits &&
        was.semaphore_signals == is.semaphore_signals) {
      out.by = kNotReached;
      return;
    }
    if (first.outcome.report.schedule_independent) {
      out.by = "no unordered event can change it; same bits under 7 schedules";
      return;
    }
    options.launch.sync.find_alternatives = true;
    const RunFunction explored = [&](const ScheduleSpec& schedule) {
      options.launch.sync.schedule = schedule;
      const RunResult r = run(subject, options);
      MutantOutcome ignored = out;
      return RunOutcome{named(r, ignored), r.outcome.report.schedule_independent, r.outcome.report.replay,
                        r.alternatives, r.missed_orders};
    };
    const Exploration e = explore_exhaustively(explored, {kProofSeconds, kProofRuns, options.seed});
    if (e.complete) {
      out.by = "every order tried: " + plural(e.runs, "run") + ", same bits in each";
      return;
    }
    out.caught = Caught::missed;
    out.by = e.failed ? "--schedule " + to_string(e.failing) + " names it"
                      : "not proved: exploration of all schedules " + e.missed;
  }

  RunOptions options_;
  double run_seconds_;
  RunResult original_;
  std::set<Kind> kinds_;
};

}  // namespace

std::string_view name(Caught caught) {
  switch (caught) {
    case Caught::by_ordering:
      return "ordering";
    case Caught::otherwise:
      return "otherwise";
    case Caught::equivalent:
      return "equivalent";
    case Caught::missed:
      return "missed";
  }
  return "";
}

int64_t MutationReport::count(Caught caught) const {
  return std::ranges::count_if(mutants, [&](const MutantOutcome& m) { return m.caught == caught; });
}

namespace {

std::vector<Mutation> payload_mutations(const Subject& subject, const std::string& path, const CommandLine& line) {
  std::vector<Mutation> mutations;
  const std::vector<mosaic::KernelCall> calls = payload_calls(path, line);
  for (size_t i = 0; i < calls.size(); ++i) {
    if (calls.size() > 1 && subject.name.find("#" + std::to_string(i) + " ") == std::string::npos) continue;
    const mosaic::KernelCall& call = calls[i];
    const mosaic::KernelModule kernel = open_payload(call, line);
    for (const mosaic::Edit& edit : mosaic::single_edits(kernel, subject.devices))
      mutations.push_back({std::string(name(edit.kind)), edit.what, edit.at,
                           std::to_string(edit.function) + ":" + std::to_string(edit.op),
                           [call, line, edit](Subject& mutant, RunOptions&) {
                             mosaic::KernelModule changed = open_payload(call, line);
                             if (!mosaic::apply_edit(changed, edit, mutant.devices)) return false;
                             rebind(mutant, std::move(changed));
                             return true;
                           }});
    break;
  }
  return mutations;
}

// The edits that make sense of the calls at one place, with how they are told.
std::vector<std::pair<SyncEdit::Change, std::string>> edits_of(const SyncSite& site, int devices) {
  using Change = SyncEdit::Change;
  using What = SyncCall::What;
  const std::string it = (site.what == What::start    ? "the copy that signals "
                          : site.what == What::signal ? "the signal to "
                                                      : "the wait on ") +
                         site.semaphore;
  std::vector<std::pair<Change, std::string>> edits{{Change::drop, "leave out " + it},
                                                    {Change::repeat, "do " + it + " twice"}};
  if (site.what != What::start && site.amount >= 2) edits.emplace_back(Change::half, "let " + it + " count half");
  if (site.what == What::signal || site.what == What::wait)
    edits.emplace_back(Change::more, "let " + it + " count one more");
  if (site.has_other_semaphore) edits.emplace_back(Change::other_semaphore, "let " + it + " use the semaphore after");
  if (site.is_remote) edits.emplace_back(Change::swap_semaphores, "swap the two semaphores of " + it);
  if (site.source_is_slot) edits.emplace_back(Change::next_source_slot, "let " + it + " read the slot after");
  if (site.destination_is_slot)
    edits.emplace_back(Change::next_destination_slot, "let " + it + " write the slot after");
  if (site.has_peer && devices > 1) edits.emplace_back(Change::next_device, "let " + it + " go to the device after");
  if (site.what == What::start) {
    edits.emplace_back(Change::late_start, "start " + it + " after the next wait");
    if (!site.is_remote) edits.emplace_back(Change::early_wait, "wait for " + it + " before it is started");
  }
  return edits;
}

std::vector<Mutation> kernel_mutations(const Subject& subject, const CommandLine& line) {
  RunOptions options = line.run;
  options.analyse_fit = options.compare = false;
  options.launch.threads = 1;
  options.launch.edit = std::make_shared<SyncEdit>();
  run_subject(subject, options);
  std::vector<Mutation> mutations;
  for (const SyncSite& site : options.launch.edit->sites)
    for (const auto& [change, what] : edits_of(site, subject.devices))
      mutations.push_back({std::string(name(change)), what, site.at, to_string(site.at) + site.semaphore,
                           [site, change = change](Subject& mutant, RunOptions& changed) {
                             changed.launch.edit = std::make_shared<SyncEdit>();
                             changed.launch.edit->change = change;
                             changed.launch.edit->site = site;
                             changed.launch.edit->devices = mutant.devices;
                             return true;
                           }});
  return mutations;
}

}  // namespace

std::vector<Mutation> mutations_of(const Subject& subject, const std::string& path, const CommandLine& line) {
  return subject.is_payload ? payload_mutations(subject, path, line) : kernel_mutations(subject, line);
}

MutationReport run_mutations(const Subject& subject, const RunOptions& options, const std::vector<Mutation>& mutations,
                             double run_seconds) {
  const Judge judge(subject, options, run_seconds);
  std::vector<std::optional<MutantOutcome>> outcomes(mutations.size());
  tbb::parallel_for(size_t{0}, mutations.size(), [&](size_t i) {
    Subject mutant = subject;
    RunOptions changed = options;
    if (mutations[i].apply(mutant, changed)) outcomes[i] = judge.judge(mutant, mutations[i], changed);
  });
  // What the run does not reach when an operation is left out, it does not reach when it is changed either.
  std::set<std::string> unreached;
  for (size_t i = 0; i < mutations.size(); ++i)
    if (outcomes[i] && outcomes[i]->by == kNotReached) unreached.insert(mutations[i].place);
  for (size_t i = 0; i < mutations.size(); ++i)
    if (outcomes[i] && outcomes[i]->caught == Caught::equivalent && unreached.contains(mutations[i].place))
      outcomes[i]->by = kNotReached;
  MutationReport report{.subject = subject.name};
  for (std::optional<MutantOutcome>& o : outcomes)
    if (o) report.mutants.push_back(std::move(*o));
  return report;
}

}  // namespace tilecheck
