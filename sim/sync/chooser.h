// Chooser: takes a run's decisions as its schedule says, and records them.
#pragma once

#include <span>
#include <vector>

#include "sim/sync/schedule.h"

namespace tilecheck {

class Chooser {
 public:
  // record: also when the schedule takes no decisions of its own.
  Chooser(const ScheduleSpec& spec, uint64_t seed, bool record);
  // Whether the run has to stop at each possible choice. Otherwise `lazy`, `eager`, `lifo` and `torn` go straight.
  bool decides() const { return decides_; }
  // Whether parts of copies are among the options.
  bool offers_pieces() const { return pieces_; }
  // One of `options` (more than one, no two alike). lazy: what the lazy schedule does; policy: what this one does,
  // unless it draws.
  size_t choose(std::span<const Choice> options, size_t lazy, size_t policy);
  // Decisions that differ from what lazy does; empty when there were too many to keep.
  const std::vector<Decision>& decisions() const { return decisions_; }
  int64_t points() const { return point_; }
  // Of a replay: whether every decision was possible where it stood.
  bool followed() const { return !is_void_ && next_replay_ == replay_.size(); }

 private:
  size_t draw(std::span<const Choice> options, size_t lazy);
  size_t by_priority(std::span<const Choice> options);
  uint64_t& priority_of(const Choice& choice);
  uint64_t next_random();

  static constexpr size_t kMaxDecisions = 1 << 20;
  ScheduleSpec spec_;
  bool decides_ = false;
  bool pieces_ = false;
  uint64_t random_;
  int64_t point_ = 0;
  std::vector<Decision> decisions_;
  bool overflowed_ = false;
  std::vector<Decision> replay_;
  size_t next_replay_ = 0;
  bool is_void_ = false;
  // pct
  std::vector<std::pair<Choice, uint64_t>> priorities_;
  std::vector<int64_t> change_points_;
};

}  // namespace tilecheck
