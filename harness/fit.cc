#include "harness/fit.h"

#include <algorithm>

#include "harness/array_reader.h"
#include "harness/log.h"
#include "harness/run.h"
#include "sim/fit/compile_rules.h"
#include "sim/fit/simplify.h"
#include "sim/spec/planned_traffic.h"
#include "sim/types/error.h"

namespace tilecheck {
namespace {

// Of index maps: some tenths of a second.
constexpr int64_t kMaxEvaluations = 1 << 22;

bool is_concrete(const Dims& grid) {
  return std::ranges::none_of(grid, [](int64_t extent) { return extent < 0; });
}

bool reads_prefetch(const KernelSpec& spec) {
  const auto reads = [&](const Window& w) {
    return w.pipelined() && w.index && w.index.dependence(spec.grid.rank()).prefetch;
  };
  return std::ranges::any_of(spec.in, reads) || std::ranges::any_of(spec.out, reads);
}

// Why planned_traffic has nothing to say; empty where there is nothing to count.
std::string why_unknown(const Subject& subject) {
  const KernelSpec& spec = subject.spec;
  if (spec.in.empty() && spec.out.empty()) return "";
  if (!is_concrete(spec.grid)) return "the grid is known only at run time";
  if (subject.is_payload && reads_prefetch(spec)) return "index maps read scalar prefetch";
  return "the grid has too many steps to count";
}

}  // namespace

void analyse_fit(const KernelSpec& spec, const fit::Body* facts, const FitRequest& request, Outcome& outcome,
                 const PrefetchReader* prefetch) {
  std::optional<fit::Body> body;
  if (facts) {
    body = *facts;
    fit::simplify(*body);
  }
  outcome.fit =
      fit::vmem_report(spec, body ? &*body : nullptr, *request.target, {.limit_bytes = request.vmem_limit_bytes});
  FindingSink sink(outcome.report.findings);
  const auto add = [&](const std::vector<Finding>& findings) {
    for (const Finding& f : findings) sink.add(f);
  };
  add(outcome.fit->findings);
  const fit::CompileOptions compile{.lowered_by_jax = request.is_payload};
  // Where nobody named the chip, what it would refuse is a warning. Of a C++ kernel's spec JAX would refuse it on any.
  const auto add_compile = [&](std::vector<Finding> findings, bool is_for_any_chip) {
    for (Finding& f : findings) {
      if (request.target_is_assumed && !is_for_any_chip && f.severity == Severity::error) {
        f.severity = Severity::warning;
        f.notes.push_back("for " + request.target->name +
                          ", which is assumed: --target says which chip it is for, and makes this an error");
      }
      sink.add(std::move(f));
    }
  };
  add_compile(fit::check_spec(spec, *request.target, compile), !request.is_payload);
  if (!facts) return;
  add_compile(fit::check_body(spec, *facts, *request.target, compile), false);
  add(fit::find_serialized_copies(*body));
  fit::TimeEstimate time = fit::estimate_time(spec, *body, *request.target,
                                              {.share_hbm_bandwidth = request.share_hbm,
                                               .timeline_steps = request.timeline_steps,
                                               .advise = request.advise,
                                               .prefetch = prefetch});
  if (time.not_modelled.empty()) outcome.time = std::move(time);
}

std::vector<WindowCounters> planned_traffic(const Subject& subject) {
  const KernelSpec& spec = subject.spec;
  if (!is_concrete(spec.grid)) return {};
  if (!reads_prefetch(spec))
    return planned_traffic(spec, nullptr, kMaxEvaluations).value_or(std::vector<WindowCounters>());
  if (subject.is_payload) return {};
  std::vector<std::string> warnings;
  const std::vector<Arrays> operands = make_operands(subject, {}, warnings);
  const std::span<const HostArray> arrays = operands[0];
  const ArrayReader reader(arrays.first(spec.prefetch.size()));
  return planned_traffic(spec, &reader, kMaxEvaluations).value_or(std::vector<WindowCounters>());
}

Outcome fit_subject(const Subject& subject, const FitRequest& request, const std::vector<WindowCounters>* traffic) {
  const LogPart part(subject.name, "fit");
  Outcome o;
  o.subject = subject.name;
  o.source_folder = subject.source_folder;
  o.headline = subject.headline;
  o.report.kernel = subject.spec.name;
  o.report.target = request.target->name;
  o.report.grid = subject.spec.grid;
  const fit::Body* facts = nullptr;
  try {
    if (subject.facts) facts = subject.facts();
  } catch (const Incomplete& e) {
    o.report.incomplete.emplace_back(e.what());  // blocks and compile rules of the spec are judged all the same
  }
  try {
    FitRequest own = request;
    own.is_payload = subject.is_payload;
    analyse_fit(subject.spec, facts, own, o);
    o.report.counters.windows = traffic ? *traffic : planned_traffic(subject);
    if (o.report.counters.windows.empty()) o.traffic_unknown = why_unknown(subject);
  } catch (const Incomplete& e) {
    o.report.incomplete.emplace_back(e.what());
  }
  return o;
}

}  // namespace tilecheck
