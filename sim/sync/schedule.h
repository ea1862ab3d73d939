// Schedules: who runs next and when copies move, as one recorded string of decisions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tilecheck {

struct ScheduleSpec {
  enum class Kind : uint8_t {
    eager,       // a copy moves when it is started
    lazy,        // a copy moves at the wait that needs it (alias on_wait); the default
    lifo,        // at a wait, the youngest pending copy moves first
    random,      // random:SEED
    pct,         // pct:SEED:DEPTH, probabilistic concurrency testing
    torn,        // copies move in pieces, interleaved
    explore,     // many within a budget; a single run of it is `lazy` (see explore.h)
    exhaustive,  // all, up to partial-order equivalence, within a bound; a single run of it is `lazy`
    replay,      // replay:DECISIONS
  };
  Kind kind = Kind::lazy;
  uint64_t seed = 0;
  int depth = 3;
  int64_t bound = 10000;  // exhaustive: runs at most
  std::string decisions;  // replay
};

// "lazy", "random:7", "pct:7:3", "replay:1:c7", ... Throws InputError naming `option`, the accepted forms, and the one
// that may have been meant.
ScheduleSpec parse_schedule(std::string_view text, std::string_view option = "schedule");
// "lazy (the default; also on_wait), eager, ... or replay:DECISIONS", as help and errors list them. Those that are of
// one kernel alone, or many runs of it, can be left out.
std::string schedule_forms(bool with_those_of_one_kernel = true);
std::string to_string(const ScheduleSpec& spec);

// What can happen next at a point where there is more than one possibility.
struct Choice {
  enum class What : char {
    agent = 'a',  // agent `subject` goes on
    copy = 'c',   // copy `subject` moves (remote: its source is read, then its target is written)
    piece = 't',  // a part of copy `subject` moves
  };
  What what = What::agent;
  int64_t subject = 0;
  friend bool operator==(const Choice&, const Choice&) = default;
};

// At the point-th place of a run (from 0) where there was a choice, `choice` was taken instead of what `lazy` does.
struct Decision {
  int64_t point = 0;
  Choice choice;
  friend bool operator==(const Decision&, const Decision&) = default;
};

// "3:c7,9:a1": decisions in order. Throws InputError naming the form.
std::vector<Decision> parse_decisions(std::string_view text);
std::string to_string(const std::vector<Decision>& decisions);

}  // namespace tilecheck
