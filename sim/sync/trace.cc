// Dynamic partial-order reduction over one run's transitions.
#include "sim/sync/trace.h"

#include <algorithm>
#include <cassert>

namespace tilecheck {
namespace {

void set(std::vector<uint64_t>& row, Trace::Step i) { row[static_cast<size_t>(i) / 64] |= uint64_t{1} << (i % 64); }
bool get(const std::vector<uint64_t>& row, Trace::Step i) { return row[static_cast<size_t>(i) / 64] >> (i % 64) & 1; }
void join(std::vector<uint64_t>& row, const std::vector<uint64_t>& other) {
  for (size_t i = 0; i < row.size(); ++i) row[i] |= other[i];
}

}  // namespace

// ---- Recording.

void Trace::turn_on(size_t agents) {
  last_of_agent_.assign(agents, -1);
  barrier_.resize(agents);
}

bool Trace::is_full() {
  if (transitions_.size() < static_cast<size_t>(kMaxSteps)) return false;
  miss("a run has more than " + std::to_string(kMaxSteps) + " transitions");
  return true;
}

Trace::Step Trace::add(const Choice& who, int64_t point, std::span<const Choice> options, size_t lazy) {
  transitions_.push_back({who, point, options_.size(), options.size(), lazy, {}, -1});
  touched_.emplace_back();
  options_.insert(options_.end(), options.begin(), options.end());
  return static_cast<Step>(transitions_.size()) - 1;
}

Trace::Step Trace::add_agent(AgentId agent, const Operation& operation, int64_t point, std::span<const Choice> options,
                             size_t lazy) {
  if (is_full()) return -1;
  const Step step = add({Choice::What::agent, agent}, point, options, lazy);
  std::vector<Step>& after = transitions_.back().after;
  after.swap(barrier_[static_cast<size_t>(agent)]);
  Step& last = last_of_agent_[static_cast<size_t>(agent)];
  if (last >= 0) after.push_back(last);
  last = step;
  executed_ = step + 1;
  touch_all(step, operation);
  return step;
}

Trace::Step Trace::add_copy(Copy& copy, int64_t point, std::span<const Choice> options, size_t lazy) {
  if (is_full()) return -1;
  const Step step = add({Choice::What::copy, copy.id}, point, options, lazy);
  executed_ = step + 1;
  const bool reads = !copy.read_done, writes = !copy.remote || copy.read_done;
  come_after(step, copy);
  touch_all(step, copy, reads, writes);
  if (reads) copy.read_in = step;
  if (writes) copy.written_in = step;
  return step;
}

void Trace::come_after(Step step, const Copy& copy) {
  std::vector<Step>& after = transitions_[static_cast<size_t>(step)].after;
  for (const Step s : {copy.started_in, copy.read_in})
    if (s >= 0) after.push_back(s);
}

void Trace::join_agents() {
  for (std::vector<Step>& after : barrier_)
    for (const Step s : last_of_agent_)
      if (s >= 0) after.push_back(s);
}

void Trace::guarantee(Step addition, AgentId waiter) {
  if (addition < 0) return;
  Step& by = transitions_[static_cast<size_t>(addition)].guaranteed_by;
  if (by < 0) by = last_of(waiter);
}

void Trace::add_unfinished(AgentId agent, const Operation& operation) {
  if (is_full()) return;
  const Step step = add({Choice::What::agent, agent}, -1, {}, 0);
  std::vector<Step>& after = transitions_.back().after;
  after = barrier_[static_cast<size_t>(agent)];
  if (last_of(agent) >= 0) after.push_back(last_of(agent));
  touch_all(step, operation);
}

void Trace::precede(Step earlier, Step later) {
  if (earlier >= 0 && later >= 0) transitions_[static_cast<size_t>(later)].after.push_back(earlier);
}

Trace::Step Trace::add_unfinished(Copy& copy) {
  if (is_full()) return -1;
  const Step step = add({Choice::What::copy, copy.id}, -1, {}, 0);
  come_after(step, copy);
  touch_all(step, copy, !copy.read_done, !copy.remote || copy.read_done);
  return step;
}

void Trace::touch(Step step, Operation::How how, const SemRef& semaphore) {
  const std::pair<const Buffer*, int64_t> key{semaphore.buffer, semaphore.element};
  touches_[key].push_back({step, how, false, 0});
  touched_[static_cast<size_t>(step)].push_back(key);
}

void Trace::touch(Step step, const Event& place) {
  if (places_.size() >= kMaxPlaces) return miss("a run has more than " + std::to_string(kMaxPlaces) + " accesses");
  const std::pair<const Buffer*, int64_t> key{place.buffer, -1};
  touches_[key].push_back({step, Operation::How::none, place.write, places_.size()});
  touched_[static_cast<size_t>(step)].push_back(key);
  Event& kept = places_.emplace_back();
  kept.buffer = place.buffer;
  kept.base = place.base;
  kept.box = place.box;
}

Trace::Step Trace::merge(AgentId agent, const Event& access) {
  const Step step = last_of(agent);
  if (step < 0 || static_cast<size_t>(executed_) == static_cast<size_t>(kMaxSteps)) return -1;
  const auto& touches = touches_[{access.buffer, -1}];
  for (auto t = touches.rbegin(); t != touches.rend() && t->step == step; ++t)
    if (t->write == access.write && same_elements(places_[t->place], access)) return step;
  touch(step, access);
  return step;
}

void Trace::touch_all(Step step, const Operation& operation) {
  if (operation.how != Operation::How::none) touch(step, operation.how, operation.semaphore);
  if (operation.place) touch(step, *operation.place);
}

void Trace::touch_all(Step step, const Copy& copy, bool reads, bool writes) {
  if (reads) touch(step, copy.source);
  if (writes) touch(step, copy.destination);
  if (reads && copy.request.sent.has_value()) touch(step, Operation::How::add, copy.request.sent);
  if (writes) touch(step, Operation::How::add, copy.request.done);
}

// ---- What depends on what.

bool Trace::depends(const Touch& earlier, const Touch& later) const {
  using How = Operation::How;
  if (earlier.how == How::none)
    return (earlier.write || later.write) && share_element(places_[earlier.place], places_[later.place]);
  return (earlier.how == How::add) != (later.how == How::add);
}

// Executed transitions before `step` that it depends on, newest first.
void Trace::find_dependent(Step step, std::vector<Step>& found) const {
  found.clear();
  std::vector<std::pair<const Buffer*, int64_t>> keys = touched_[static_cast<size_t>(step)];
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  for (const auto& key : keys) {
    const std::vector<Touch>& touches = touches_.at(key);
    for (const Touch& mine : touches) {
      if (mine.step != step) continue;
      for (const Touch& t : touches) {
        if (t.step >= std::min(step, executed_)) break;
        if (depends(t, mine)) found.push_back(t.step);
      }
    }
  }
  std::sort(found.begin(), found.end(), std::greater<>());
  found.erase(std::unique(found.begin(), found.end()), found.end());
}

std::vector<Trace::Group> Trace::groups() {
  std::vector<Group> groups;
  const size_t words = static_cast<size_t>(executed_) / 64 + 1;
  std::vector<Row> before(static_cast<size_t>(executed_));
  std::vector<Step> dependent;
  for (Step k = 0; k < static_cast<Step>(transitions_.size()); ++k) {
    Row always(words);
    Step newest = -1;  // ... of what always comes before k
    for (const Step s : transitions_[static_cast<size_t>(k)].after) {
      join(always, before[static_cast<size_t>(s)]);
      set(always, s);
      newest = std::max(newest, s);
    }
    find_dependent(k, dependent);
    Row here = always;
    // Each transition while k's process was about to do k; of those before, the newest: in the runs where that comes
    // after k, others show.
    bool is_last = true;
    for (const Step i : dependent) {
      if (get(always, i)) continue;
      join(here, before[static_cast<size_t>(i)]);
      set(here, i);
      if (transitions_[static_cast<size_t>(i)].guaranteed_by == k) continue;
      if (i > newest || is_last) reverse(i, k, always, groups);
      if (i < newest) is_last = false;
    }
    if (k < executed_) before[static_cast<size_t>(k)] = std::move(here);
  }
  // The copy cannot come before all of the transition, but could come before the access in it.
  for (const auto& [access, start] : races_)
    if (access == start || (start >= 0 && get(before[static_cast<size_t>(start)], access)))
      miss("a copy races with a load or store before which no other order was tried");
  return groups;
}

// What to choose where `earlier` was chosen, so that `later` can come first: its process, or one that leads to it;
// where none of these could go on, whoever could.
void Trace::reverse(Step earlier, Step later, const Row& before_later, std::vector<Group>& groups) const {
  const Transition& instead_of = transitions_[static_cast<size_t>(earlier)];
  if (instead_of.point < 0) return;
  const std::span<const Choice> options(options_.data() + instead_of.options, instead_of.option_count);
  Group group{earlier, {}};
  const auto offer = [&](const Choice& who) {
    if (std::ranges::find(options, who) != options.end() &&
        std::ranges::find(group.choices, who) == group.choices.end())
      group.choices.push_back(who);
  };
  offer(transitions_[static_cast<size_t>(later)].who);
  for (Step j = earlier + 1; j < std::min(later, executed_); ++j)
    if (get(before_later, j)) offer(transitions_[static_cast<size_t>(j)].who);
  if (!group.choices.empty()) {
    if (std::ranges::find(groups, group) == groups.end()) groups.push_back(std::move(group));
    return;
  }
  for (const Choice& who : options) {
    if (who == instead_of.who) continue;
    const Group other{earlier, {who}};
    if (std::ranges::find(groups, other) == groups.end()) groups.push_back(other);
  }
}

std::vector<Trace::Group> Trace::every_choice() const {
  std::vector<Group> groups;
  for (Step i = 0; i < executed_; ++i) {
    const Transition& t = transitions_[static_cast<size_t>(i)];
    for (size_t o = 0; t.point >= 0 && o < t.option_count; ++o)
      if (const Choice& other = options_[t.options + o]; !(other == t.who)) groups.push_back({i, {other}});
  }
  return groups;
}

std::vector<std::vector<std::string>> Trace::alternatives(const std::vector<Decision>& taken, bool reduce) {
  std::vector<std::vector<std::string>> all;
  if (!on()) return all;
  for (const Group& group : reduce ? groups() : every_choice()) {
    if (all.size() >= kMaxAlternatives) {
      miss("more than " + std::to_string(kMaxAlternatives) + " other orders follow from one run");
      break;
    }
    const Transition& at = transitions_[static_cast<size_t>(group.at)];
    std::vector<Decision> decisions;
    for (const Decision& d : taken)
      if (d.point < at.point) decisions.push_back(d);
    std::vector<std::string>& strings = all.emplace_back();
    for (const Choice& choice : group.choices) {
      std::vector<Decision> other = decisions;
      // What lazy does needs no decision.
      if (!(choice == options_[at.options + at.lazy])) other.push_back({at.point, choice});
      strings.push_back(to_string(other));
    }
  }
  return all;
}

}  // namespace tilecheck
