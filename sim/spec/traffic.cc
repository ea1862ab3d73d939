#include "sim/spec/traffic.h"

namespace tilecheck {

int64_t block_bytes(const Window& window, const Visit& visit) {
  return (element_count(coverage(window, visit).extents) * bits(window.dtype) + 7) / 8;
}

TrafficCounter::TrafficCounter(const KernelSpec& spec) {
  const auto add = [&](const Window& w, bool is_output) {
    entries_.push_back({&w, is_output, is_output && w.revisit == Revisit::any});
    WindowCounters c;
    c.name = w.name;
    c.dtype = w.dtype;
    c.array = w.array;
    c.block = w.block_sizes();
    c.is_output = is_output;
    c.slots = slot_count(spec, w).slots;
    counters_.push_back(std::move(c));
  };
  for (const Window& w : spec.in) add(w, false);
  for (const Window& w : spec.out) add(w, true);
}

void TrafficCounter::step(std::span<const Visit> visits) {
  for (size_t i = 0; i < entries_.size(); ++i) {
    const Entry& e = entries_[i];
    const Visit& v = visits[i];
    if (!e.window->pipelined()) continue;
    const bool fetched = v.enter && (!e.is_output || e.loads);
    const bool written = e.is_output && v.leave;
    if (!fetched && !written && !(v.enter && v.first)) continue;
    WindowCounters& c = counters_[i];
    const int64_t bytes = block_bytes(*e.window, v);
    if (fetched) ++c.fetches;
    if (written) ++c.write_backs;
    c.moved_bytes += bytes * (int{fetched} + int{written});
    if (v.enter && v.first) c.minimum_bytes += bytes;
  }
}

std::optional<std::vector<WindowCounters>> count_traffic(const KernelSpec& spec, const GridPart& part,
                                                         const PrefetchReader* prefetch, const GoOn& go_on) {
  TrafficCounter counter(spec);
  PlanCursor cursor(spec, part, prefetch);
  while (cursor.advance()) {
    if (go_on && cursor.number() % kStepsBetweenQuestions == 0 && !go_on()) return std::nullopt;
    counter.step(cursor.visits());
  }
  return counter.windows();
}

}  // namespace tilecheck
