// Trace: the transitions of one run, and which of them could have come in the other order.
//
// A process is an agent, or a copy in flight; a transition is what a process does from one point of choice to the next:
// an agent's signal, wait, read or access with what follows it on the agent alone; a copy's read of its source, write
// of its destination, or both. Two transitions depend on each other when one adds to a semaphore and the other waits
// for or reads it, and when they touch the same bytes and one writes.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/sync/event.h"
#include "sim/sync/schedule.h"

namespace tilecheck {

// What others see of a transition.
struct Operation {
  enum class How : uint8_t { none, add, take, look };  // to a semaphore: signal or arrive; wait; read
  How how = How::none;
  SemRef semaphore;
  const Event* place = nullptr;  // an access
};

class Trace {
 public:
  using Step = int32_t;  // a transition, by its place in the run; -1: none
  // Longer runs, and runs with more other orders, are not analysed: missed() says so.
  static constexpr Step kMaxSteps = 1 << 14;
  static constexpr size_t kMaxPlaces = 1 << 18;  // loads, stores and ends of copies
  static constexpr size_t kMaxAlternatives = 4096;

  void turn_on(size_t agents);
  bool on() const { return !last_of_agent_.empty(); }

  // `who` goes on. options: what could have instead, itself included; lazy: which of them lazy takes. point: of the
  // run's decisions; -1 when there was one option.
  Step add_agent(AgentId agent, const Operation& operation, int64_t point, std::span<const Choice> options,
                 size_t lazy);
  Step add_copy(Copy& copy, int64_t point, std::span<const Choice> options, size_t lazy);
  // The agent's newest transition.
  Step last_of(AgentId agent) const { return last_of_agent_[static_cast<size_t>(agent)]; }
  // An access that is part of its agent's newest transition, which is returned.
  Step merge(AgentId agent, const Event& access);
  // The access of another agent that was merged into `access` races with a copy that `start` starts.
  void add_race(Step access, Step start) { races_.emplace_back(access, start); }
  // `later` comes after `earlier` in every run; either may be -1.
  void precede(Step earlier, Step later);
  // A barrier of all agents: what any did so far comes before what any does next, always.
  void join_agents();
  // The wait that agent `waiter` just ended never ends before `addition` has happened.
  void guarantee(Step addition, AgentId waiter);
  // What a process would have done next when the run ended.
  void add_unfinished(AgentId agent, const Operation& operation);
  Step add_unfinished(Copy& copy);
  // Orders that no alternative stands for; `what` says which.
  void miss(std::string what) { missed_ = std::move(what); }

  // Runs that begin as this one did, up to a decision that differs; `taken`: this run's decisions. Of each group at
  // least one has to be run: then runs of these, and of theirs, reach every order of transitions that depend on each
  // other (dynamic partial-order reduction, Flanagan and Godefroid, POPL 2005). Without `reduce`: every choice of this
  // run.
  std::vector<std::vector<std::string>> alternatives(const std::vector<Decision>& taken, bool reduce);
  // Why alternatives() may not reach every order; "" when it does.
  const std::string& missed() const { return missed_; }

 private:
  struct Transition {
    Choice who;
    int64_t point = -1;
    size_t options = 0, option_count = 0, lazy = 0;  // in options_
    std::vector<Step> after;                         // always, whatever the schedule
    Step guaranteed_by = -1;                         // of an addition: the first wait that cannot end before it
  };
  struct Touch {
    Step step;
    Operation::How how;
    bool write;
    size_t place;  // in places_
  };
  // Rows of bits, by transition: those that come before it in every run with the same order of dependent transitions.
  using Row = std::vector<uint64_t>;
  struct Group {
    Step at;  // the choice that led to this transition
    std::vector<Choice> choices;
    bool operator==(const Group&) const = default;
  };

  bool is_full();
  Step add(const Choice& who, int64_t point, std::span<const Choice> options, size_t lazy);
  void touch(Step step, Operation::How how, const SemRef& semaphore);
  void touch(Step step, const Event& place);
  void touch_all(Step step, const Operation& operation);
  void touch_all(Step step, const Copy& copy, bool reads, bool writes);
  void come_after(Step step, const Copy& copy);
  void find_dependent(Step step, std::vector<Step>& found) const;
  bool depends(const Touch& earlier, const Touch& later) const;
  std::vector<Group> groups();
  std::vector<Group> every_choice() const;
  void reverse(Step earlier, Step later, const Row& before_later, std::vector<Group>& groups) const;

  std::vector<Transition> transitions_;
  Step executed_ = 0;  // those from here on are unfinished
  std::vector<Choice> options_;
  std::vector<Event> places_;
  std::map<std::pair<const Buffer*, int64_t>, std::vector<Touch>> touches_;  // element -1: memory
  std::vector<std::vector<std::pair<const Buffer*, int64_t>>> touched_;      // by transition
  std::vector<Step> last_of_agent_;
  std::vector<std::vector<Step>> barrier_;  // by agent: what its next transition comes after
  std::vector<std::pair<Step, Step>> races_;
  std::string missed_;
};

}  // namespace tilecheck
