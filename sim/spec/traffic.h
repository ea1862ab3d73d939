// Window traffic of a grid, counted from the plan alone.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "sim/report/report.h"
#include "sim/spec/plan.h"

namespace tilecheck {

// Fed each step's visits in order; so counters do not depend on how or where steps are executed.
class TrafficCounter {
 public:
  explicit TrafficCounter(const KernelSpec& spec);
  void step(std::span<const Visit> visits);
  const std::vector<WindowCounters>& windows() const { return counters_; }

 private:
  struct Entry {
    const Window* window;
    bool is_output;
    bool loads;  // an output with revisit mode any is loaded at each change
  };
  std::vector<Entry> entries_;
  std::vector<WindowCounters> counters_;  // inputs, then outputs
};

// Bytes of the part of a block that lies inside the array.
int64_t block_bytes(const Window& window, const Visit& visit);

// Whether a walk over a grid's steps is to go on: asked once in a while.
using GoOn = std::function<bool()>;
inline constexpr int64_t kStepsBetweenQuestions = 1024;

// The whole of `part`, step by step, without running anything. None once `go_on` says no.
std::optional<std::vector<WindowCounters>> count_traffic(const KernelSpec& spec, const GridPart& part,
                                                         const PrefetchReader* prefetch, const GoOn& go_on = nullptr);

}  // namespace tilecheck
