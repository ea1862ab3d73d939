// Vector clocks: what an event knows of each agent's past.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tilecheck {

using AgentId = int;     // a core of a device, in order of registration
using CopyId = int64_t;  // in order of start, from 1

// One entry per agent. An agent's own entry advances when it publishes its clock to another (a remote copy or signal);
// an event of agent a at time t precedes whatever knows a up to t.
class Clock {
 public:
  void resize(int agents) { times_.assign(static_cast<size_t>(agents), 0); }
  bool empty() const { return times_.empty(); }
  uint64_t operator[](AgentId agent) const { return times_[static_cast<size_t>(agent)]; }
  void set(AgentId agent, uint64_t time) { times_[static_cast<size_t>(agent)] = time; }
  bool knows(AgentId agent, uint64_t time) const { return (*this)[agent] >= time; }
  void join(const Clock& other) {
    for (size_t i = 0; i < times_.size(); ++i) times_[i] = std::max(times_[i], other.times_[i]);
  }
  void meet(const Clock& other) {
    for (size_t i = 0; i < times_.size(); ++i) times_[i] = std::min(times_[i], other.times_[i]);
  }

 private:
  std::vector<uint64_t> times_;
};

// `sure` holds what waits guarantee; `assumed` also what the order of messages between two cores brings (machine-rules
// 18), so it is never behind.
struct Knowledge {
  Clock sure, assumed;
  void resize(int agents) {
    sure.resize(agents);
    assumed.resize(agents);
  }
  void set(AgentId agent, uint64_t time) {
    sure.set(agent, time);
    assumed.set(agent, time);
  }
  void join(const Knowledge& other) {
    sure.join(other.sure);
    assumed.join(other.assumed);
  }
};

// How an event stands to a later one.
enum class Order : uint8_t { unordered, by_message_order, ordered };

// A point at which agent `agent` learnt that something has happened: whoever knows the agent up to `time` knows it too.
struct Join {
  AgentId agent = -1;
  uint64_t time = 0;
  bool is_set() const { return agent >= 0; }
  bool in(const Clock& clock) const { return clock.knows(agent, time); }
};

// When the completion of a copy (source read, or destination written) became known.
class Completion {
 public:
  void clear() {
    sure_.clear();
    assumed_.clear();
  }
  // known: what the learner knows already. A join that follows from an earlier one adds nothing.
  void learn(const Join& join, bool sure, const Knowledge& known) {
    if (knows(sure_, known.sure)) return;
    (sure ? sure_ : assumed_).push_back(join);
  }
  bool known_surely() const { return !sure_.empty(); }
  bool known() const { return !sure_.empty() || !assumed_.empty(); }
  // Of a completion that is known surely and in no other way: each of the joins tells of it.
  std::span<const Join> settled_by() const {
    return assumed_.empty() ? std::span<const Join>(sure_) : std::span<const Join>();
  }
  Order before(const Knowledge& later) const {
    if (knows(sure_, later.sure)) return Order::ordered;
    if (knows(sure_, later.assumed) || knows(assumed_, later.assumed)) return Order::by_message_order;
    return Order::unordered;
  }
  bool surely_before(const Clock& later) const { return knows(sure_, later); }

 private:
  static bool knows(const std::vector<Join>& joins, const Clock& clock) {
    return std::any_of(joins.begin(), joins.end(), [&](const Join& j) { return j.in(clock); });
  }
  std::vector<Join> sure_, assumed_;
};

}  // namespace tilecheck
