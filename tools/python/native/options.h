// What a call is run with, from the JSON that the Python side hands over.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/machine/launch.h"
#include "sim/report/kinds.h"

namespace tilecheck::python {

// Groups of finding kinds, as `checks="memory,init,race,sync,fit"` names them.
enum class Check : uint8_t { memory, init, race, sync, fit };
inline constexpr int kCheckCount = 5;
std::string_view name(Check check);
Check check_of(Kind kind);

enum class OnFinding : uint8_t { raise, warn, collect };

struct CallOptions {
  LaunchOptions launch;  // target, numerics, schedule, seed, threads
  uint32_t checks = (1u << kCheckCount) - 1;
  OnFinding on_finding = OnFinding::raise;
  Severity threshold = Severity::error;  // what counts as a finding
  enum class Explore : uint8_t { none, many, all };
  Explore explore = Explore::none;  // schedules other than launch.sync's
  double budget_seconds = 10;       // for that, per kernel, over all its calls
  int64_t max_runs = 10'000;        // the same, per call
  bool has(Check check) const { return checks >> static_cast<int>(check) & 1; }
};

// {"target": "v5e", "checks": "memory,init", "schedule": "lazy", "numerics": "exact", "seed": 0, "threads": 2,
//  "cores": 1, "remote_order": "channel", "on_finding": "raise", "error_on": "error", "budget": 10}; what is absent has
// its default. "schedule" is also "explore" or "exhaustive[:RUNS]".
// InputError for anything else.
CallOptions parse_options(std::string_view json);

}  // namespace tilecheck::python
