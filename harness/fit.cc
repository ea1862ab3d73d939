#include "harness/fit.h"

#include <algorithm>

#include "harness/array_reader.h"
#include "harness/log.h"
#include "harness/run.h"
#include "sim/fit/compile_rules.h"
#include "sim/fit/simplify.h"
#include "sim/machine/not_modelled.h"
#include "sim/spec/planned_traffic.h"
#include "sim/types/error.h"

namespace tilecheck {
namespace {

bool is_concrete(const Dims& grid) {
  return std::ranges::none_of(grid, [](int64_t extent) { return extent < 0; });
}

// A map that is not written out may read it at some steps only.
bool may_read_prefetch(const KernelSpec& spec, bool is_payload) {
  if (spec.prefetch.empty()) return false;
  const auto reads = [&](const Window& w) {
    if (!w.pipelined() || !w.index) return false;
    return is_payload ? w.index.dependence(spec.grid.rank()).prefetch : !w.index.expression(spec.grid.rank());
  };
  return std::ranges::any_of(spec.in, reads) || std::ranges::any_of(spec.out, reads);
}

SubjectTraffic traffic_of(const KernelSpec& spec, const PrefetchReader* prefetch) {
  PlannedTraffic planned = planned_traffic(spec, prefetch, kMaxFitEvaluations);
  if (planned.complete()) return {std::move(planned.windows), ""};
  std::string names;
  for (const std::string& name : planned.uncounted) names += (names.empty() ? "'" : ", '") + name + "'";
  return {{},
          "counting the blocks of " + names + " takes more work than " + std::to_string(kMaxFitEvaluations) +
              " evaluations of an index map"};
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

SubjectTraffic subject_traffic(const Subject& subject) {
  const KernelSpec& spec = subject.spec;
  if (!is_concrete(spec.grid)) {
    if (spec.in.empty() && spec.out.empty()) return {};
    return {{}, "the grid is known only at run time"};
  }
  if (!may_read_prefetch(spec, subject.is_payload)) return traffic_of(spec, nullptr);
  if (subject.is_payload) return {{}, "index maps read scalar prefetch"};
  std::vector<std::string> warnings;
  const std::vector<Arrays> operands = make_operands(subject, {}, warnings);
  const std::span<const HostArray> arrays = operands[0];
  const ArrayReader reader(arrays.first(spec.prefetch.size()));
  return traffic_of(spec, &reader);
}

Outcome fit_subject(const Subject& subject, const FitRequest& request, const SubjectTraffic* traffic) {
  const LogPart part(subject.name, "fit");
  Outcome o;
  o.subject = subject.name;
  o.source_folder = subject.source_folder;
  o.headline = subject.headline;
  o.report.kernel = subject.spec.name;
  o.report.target = request.target->name;
  o.report.grid = subject.spec.grid;
  const fit::Body* facts = nullptr;
  // Need and time are told as far as they are known, but nothing that is not modelled passes.
  for (const std::string& why : {subject.not_modelled, why_not_modelled(subject.spec, request.target, subject.cores)})
    if (!why.empty()) o.report.incomplete.push_back(why);
  try {
    if (subject.facts) facts = subject.facts();
  } catch (const Incomplete& e) {
    o.report.incomplete.emplace_back(e.what());  // blocks and compile rules of the spec are judged all the same
  }
  try {
    FitRequest own = request;
    own.is_payload = subject.is_payload;
    analyse_fit(subject.spec, facts, own, o);
    SubjectTraffic counted = traffic ? *traffic : subject_traffic(subject);
    o.report.counters.windows = std::move(counted.windows);
    o.traffic_unknown = std::move(counted.unknown);
  } catch (const Incomplete& e) {
    o.report.incomplete.emplace_back(e.what());
  }
  return o;
}

}  // namespace tilecheck
