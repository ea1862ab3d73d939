// How schedules choose.
#include "sim/sync/chooser.h"

#include <algorithm>
#include <cassert>

namespace tilecheck {

Chooser::Chooser(const ScheduleSpec& spec, uint64_t seed, bool record) : spec_(spec) {
  using Kind = ScheduleSpec::Kind;
  random_ = spec.seed * 0x9e3779b97f4a7c15u + seed + 1;
  decides_ = record || spec.kind == Kind::random || spec.kind == Kind::pct || spec.kind == Kind::replay;
  pieces_ = spec.kind == Kind::torn;
  if (spec.kind == Kind::replay) {
    replay_ = parse_decisions(spec.decisions);
    pieces_ = std::any_of(replay_.begin(), replay_.end(),
                          [](const Decision& d) { return d.choice.what == Choice::What::piece; });
  }
  // A bug of depth d needs d - 1 changes of priority at the right places. How long a run is, is not known; so places
  // are drawn with their size (1 to 2^14) uniform in its logarithm.
  if (spec.kind == Kind::pct)
    for (int i = 1; i < spec.depth; ++i) {
      const uint64_t size = uint64_t{1} << (next_random() % 15);
      change_points_.push_back(static_cast<int64_t>(next_random() % size));
    }
}

uint64_t Chooser::next_random() {  // splitmix64
  random_ += 0x9e3779b97f4a7c15u;
  uint64_t x = random_;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

size_t Chooser::choose(std::span<const Choice> options, size_t lazy, size_t policy) {
  assert(options.size() > 1);
  size_t chosen = policy;
  switch (spec_.kind) {
    case ScheduleSpec::Kind::random:
      chosen = draw(options, lazy);
      break;
    case ScheduleSpec::Kind::pct:
      chosen = by_priority(options);
      break;
    case ScheduleSpec::Kind::replay: {
      chosen = lazy;
      for (; next_replay_ < replay_.size() && replay_[next_replay_].point <= point_; ++next_replay_) {
        // A decision that is not possible here comes from another kernel, or from shrinking; lazy instead.
        const auto found = replay_[next_replay_].point == point_
                               ? std::find(options.begin(), options.end(), replay_[next_replay_].choice)
                               : options.end();
        if (found != options.end()) {
          chosen = static_cast<size_t>(found - options.begin());
        } else {
          is_void_ = true;
        }
      }
      break;
    }
    default:
      break;
  }
  if (chosen != lazy && !overflowed_) {
    if (decisions_.size() < kMaxDecisions) {
      decisions_.push_back({point_, options[chosen]});
    } else {
      overflowed_ = true;
      decisions_.clear();
    }
  }
  ++point_;
  return chosen;
}

// Half of the time what lazy does, so that runs reach their end also with many copies in flight.
size_t Chooser::draw(std::span<const Choice> options, size_t lazy) {
  const uint64_t x = next_random();
  return x & 1 ? lazy : static_cast<size_t>((x >> 1) % options.size());
}

uint64_t& Chooser::priority_of(const Choice& choice) {
  for (auto& [c, priority] : priorities_)
    if (c == choice) return priority;
  // Copies come and go: forget the oldest.
  if (priorities_.size() >= 64) priorities_.erase(priorities_.begin());
  return priorities_.emplace_back(choice, (next_random() >> 1) | (uint64_t{1} << 62)).second;
}

size_t Chooser::by_priority(std::span<const Choice> options) {
  const auto best = [&] {
    size_t found = 0;
    uint64_t highest = 0;
    for (size_t i = 0; i < options.size(); ++i) {
      const uint64_t p = priority_of(options[i]);
      if (p > highest) {
        highest = p;
        found = i;
      }
    }
    return found;
  };
  const size_t first = best();
  for (size_t i = 0; i < change_points_.size(); ++i) {
    if (change_points_[i] != point_) continue;
    priority_of(options[first]) = i + 1;  // below all that were drawn
    return best();
  }
  return first;
}

}  // namespace tilecheck
