// The JSON report. docs/json.md has the schema; a change of meaning raises kSchema.
#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/format.h"
#include "harness/source.h"
#include "harness/writers.h"

namespace tilecheck {
namespace {

using Json = nlohmann::ordered_json;
constexpr int kSchema = 1;

Json dims(const Dims& d) {
  Json list = Json::array();
  for (const int64_t v : d) list.push_back(v);
  return list;
}

// JSON has no NaN or infinity.
Json number(double value) { return std::isfinite(value) ? Json(value) : Json(compact(value)); }

Json location(const Loc& at) {
  if (!at.known()) return nullptr;
  return {{"file", shown_file(at.file)}, {"line", at.line}, {"column", at.column}, {"function", at.function}};
}

Json finding(const Finding& f) {
  Json labels = Json::array();
  Json other = nullptr;
  for (const Label& label : f.labels) {
    labels.push_back({{"text", label.text}, {"location", location(label.at)}});
    if (other.is_null() && label.at.known() && !(label.at == f.at)) other = location(label.at);
  }
  std::string help;
  for (const std::string& h : f.helps) help += (help.empty() ? "" : "\n") + h;
  return {{"kind", name(f.kind)},
          {"severity", name(f.severity)},
          {"message", f.message},
          {"help", help},
          {"location", location(f.at)},
          {"other", other},
          {"labels", labels},
          {"notes", f.notes},
          {"grid_step", f.step.empty() ? Json(nullptr) : dims(f.step)},
          {"device", f.device},
          {"core", f.core},
          {"buffer", f.buffer},
          {"range", f.range},
          {"repeats", f.repeats}};
}

Json memory(const fit::MemoryUse& m) { return {{"used_bytes", m.used_bytes}, {"capacity_bytes", m.capacity_bytes}}; }

Json fit_object(const fit::VmemReport& f, const std::optional<fit::TimeEstimate>& time) {
  Json rows = Json::array();
  for (const fit::VmemRow& r : f.rows)
    rows.push_back({{"name", r.name},
                    {"kind", name(r.kind)},
                    {"block", dims(r.block)},
                    {"dtype", name(r.dtype)},
                    {"tile", r.tile},
                    {"unpadded_bytes", r.unpadded_bytes},
                    {"padded_bytes", r.padded_bytes},
                    {"buffers", r.buffers},
                    {"reason", r.reason},
                    {"total_bytes", r.total_bytes},
                    {"share", number(r.share)}});
  Json out = {{"verdict", name(f.verdict)},
              {"need_bytes", f.need_bytes},
              {"need_min_bytes", f.need_min_bytes},
              {"need_max_bytes", f.need_max_bytes},
              {"block_bytes", f.block_bytes},
              {"spill_bytes", f.spill_bytes},
              {"spill_low_bytes", f.spill_low_bytes},
              {"spill_high_bytes", f.spill_high_bytes},
              {"limit_bytes", f.limit_bytes},
              {"limit_source", f.limit_source},
              {"capacity_bytes", f.capacity_bytes},
              {"sufficient_limit_bytes", f.sufficient_limit_bytes ? Json(*f.sufficient_limit_bytes) : Json(nullptr)},
              {"smem", memory(f.smem)},
              {"semaphores", memory(f.semaphores)},
              {"advice", f.advice}};
  if (time) out["modelled_cycles"] = number(time->cycles);
  out["rows"] = std::move(rows);
  return out;
}

Json time(const fit::TimeEstimate& t) {
  Json windows = Json::array();
  for (const fit::WindowTime& w : t.windows)
    windows.push_back({{"name", w.name},
                       {"direction", w.is_input ? "in" : "out"},
                       {"slots", w.slots},
                       {"copies", w.copies},
                       {"bytes_per_copy", w.bytes_per_copy},
                       {"cycles_per_copy", number(w.cycles_per_copy)},
                       {"total_cycles", number(w.total_cycles)}});
  Json timeline = Json::array();
  for (const fit::StepTime& s : t.timeline)
    timeline.push_back({{"step", dims(s.step)},
                        {"fetch_issued", number(s.fetch_issued)},
                        {"body_start", number(s.body_start)},
                        {"body_end", number(s.body_end)}});
  Json out = {{"what", label(t)},
              {"cycles", number(t.cycles)},
              {"us", number(t.us)},
              {"bound", name(t.bound)},
              {"steps", t.steps},
              {"steps_per_core", t.steps_per_core},
              {"exposed_dma_cycles", number(t.exposed_dma_cycles)},
              {"compute_cycles", number(t.compute_cycles)},
              {"body_cycles", number(t.body_cycles)},
              {"body_cycles_min", number(t.body_cycles_min)},
              {"body_cycles_max", number(t.body_cycles_max)},
              {"hbm_bytes", t.hbm_bytes},
              {"hbm_cycles", number(t.hbm_cycles)},
              {"median_error", number(t.error_median)},
              {"p90_error", number(t.error_p90)},
              {"windows", std::move(windows)},
              {"notes", t.notes},
              {"advice", t.advice}};
  if (!t.timeline.empty()) out["timeline"] = std::move(timeline);
  return out;
}

Json result(const ResultOutcome& r) {
  Json out = {{"result", r.name},       {"device", r.device},       {"dtype", name(r.dtype)},
              {"shape", dims(r.shape)}, {"undefined", r.undefined}, {"compared", r.comparison.has_value()}};
  if (!r.comparison) return out;
  const Comparison& c = *r.comparison;
  out["pass"] = c.pass();
  out["against"] = r.against;
  out["rule"] = c.rule;
  out["elements"] = c.elements;
  out["compared_elements"] = c.compared_elements;
  out["wrong"] = c.wrong;
  out["max_abs_error"] = number(c.max_abs_error);
  out["max_rel_error"] = number(c.max_rel_error);
  out["max_ulp"] = number(c.max_ulp);
  out["of_allowed"] = number(c.of_allowed);
  out["naive_error"] = number(c.naive_error);
  out["zero_share"] = c.zero_share;
  out["non_finite"] = c.non_finite;
  out["worst"] = {{"index", dims(c.worst)},
                  {"value", number(c.worst_value)},
                  {"expected", number(c.worst_expected)},
                  {"grid_step", r.worst_step.empty() ? Json(nullptr) : dims(r.worst_step)}};
  out["ulp_histogram"] = c.ulp;
  return out;
}

Json traffic(const Counters& c) {
  Json windows = Json::array();
  for (const WindowCounters& w : c.windows)
    windows.push_back({{"name", w.name},
                       {"dtype", name(w.dtype)},
                       {"array", dims(w.array)},
                       {"block", dims(w.block)},
                       {"is_output", w.is_output},
                       {"slots", w.slots},
                       {"fetches", w.fetches},
                       {"write_backs", w.write_backs},
                       {"moved_bytes", w.moved_bytes},
                       {"minimum_bytes", w.minimum_bytes}});
  return windows;
}

Json counters(const Counters& c) {
  return {{"grid_steps", c.grid_steps},
          {"operations", c.operations},
          {"flops", c.flops},
          {"transcendentals", c.transcendentals},
          {"loads", c.loads},
          {"load_bytes", c.load_bytes},
          {"stores", c.stores},
          {"store_bytes", c.store_bytes},
          {"dma_copies", c.dma_copies},
          {"dma_bytes", c.dma_bytes},
          {"semaphore_waits", c.semaphore_waits},
          {"semaphore_signals", c.semaphore_signals},
          {"unused_loads_removed", c.unused_loads_removed},
          {"unused_load_bytes", c.unused_load_bytes},
          {"windows", traffic(c)}};
}

Json steps(const Outcome& o) {
  Json list = Json::array();
  for (const StepRecord& s : o.steps) {
    Json events = Json::array();
    for (const StepRecord::WindowEvent& e : s.events) {
      const auto i = static_cast<size_t>(e.window);
      events.push_back({{"window", i < o.window_names.size() ? o.window_names[i] : ""},
                        {"slot", e.slot},
                        {"block", dims(e.block)},
                        {"fetched", e.fetched},
                        {"written_back", e.written_back},
                        {"bytes", e.bytes}});
    }
    list.push_back({{"grid_step", dims(s.step)}, {"events", events}});
  }
  return list;
}

Json outcome(const Outcome& o, Severity threshold) {
  Json out = {{"schema", kSchema}, {"verdict", name(o.verdict(threshold))}, {"subject", o.subject}};
  if (!o.error.empty()) {
    out["error"] = o.error;
    return out;
  }
  const Report& r = o.report;
  out["kernel"] = r.kernel;
  out["target"] = r.target;
  if (o.ran) {
    out["schedule"] = r.schedule;
    out["numerics"] = r.numerics;
    out["seed"] = r.seed;
    out["decisions"] = r.replay;
    out["schedule_independent"] = r.schedule_independent;
  }
  out["grid"] = dims(r.grid);
  out["findings"] = Json::array();
  for (const Finding& f : r.findings) out["findings"].push_back(finding(f));
  out["incomplete"] = r.incomplete;
  out["warnings"] = o.warnings;
  out["suppressed"] = o.suppressed;
  if (!o.ran && !o.report.counters.windows.empty()) out["traffic"] = traffic(o.report.counters);
  if (!o.traffic_unknown.empty()) out["traffic_unknown"] = o.traffic_unknown;
  if (o.fit) out["fit"] = fit_object(*o.fit, o.time);
  if (o.time) out["time"] = time(*o.time);
  if (!o.results.empty()) {
    out["comparisons"] = Json::array();
    for (const ResultOutcome& res : o.results) out["comparisons"].push_back(result(res));
  }
  if (o.ran) out["counters"] = counters(r.counters);
  if (const auto& e = o.exploration)
    out["exploration"] = {{"runs", e->runs},
                          {"complete", e->complete},
                          {"schedule_independent", e->schedule_independent},
                          {"failing", e->failing}};
  if (!o.steps.empty()) out["steps"] = steps(o);
  if (!o.replay.empty()) out["replay"] = o.replay;
  out["volatile"] = {{"seconds", o.report.seconds}, {"threads", o.report.threads}};
  return out;
}

}  // namespace

std::string json_report(std::span<const Outcome> outcomes, const WriterOptions& options) {
  Json top;
  if (outcomes.size() == 1) {
    top = outcome(outcomes[0], options.threshold);
  } else {
    top = {{"schema", kSchema}, {"verdict", name(worst_verdict(outcomes, options.threshold))}, {"runs", Json::array()}};
    for (const Outcome& o : outcomes) top["runs"].push_back(outcome(o, options.threshold));
  }
  // Names from payloads need not be UTF-8.
  return top.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tilecheck
