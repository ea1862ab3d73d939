// Schedules: who runs next and when copies move, as one recorded string of decisions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tilecheck {

struct ScheduleSpec {
  enum class Kind : uint8_t {
    eager,       // a copy moves when it is started
    lazy,        // a copy moves at the wait that needs it (alias on_wait); the default
    lifo,        // at a wait, the youngest pending copy moves first
    random,      // random:SEED
    pct,         // pct:SEED:DEPTH, probabilistic concurrency testing
    torn,        // copies move in pieces, interleaved
    exhaustive,  // all, up to partial-order equivalence, within a bound
    replay,      // replay:STRING
  };
  Kind kind = Kind::lazy;
  uint64_t seed = 0;
  int depth = 3;
  int64_t bound = 10000;  // exhaustive: runs at most
  std::string decisions;  // replay
};

// "lazy", "random:7", "pct:7:3", "replay:1:L7", ... Throws InputError naming the accepted forms.
ScheduleSpec parse_schedule(std::string_view text);
std::string to_string(const ScheduleSpec& spec);

}  // namespace tilecheck
