// The order of messages between two cores: which remote copies are delivered before which (machine-rules 18).
#include <algorithm>

#include "sim/sync/state.h"

namespace tilecheck {

void Engine::Impl::join_channel(Copy& copy) {
  if (!options.remote_in_order) return;
  Channel& channel = channel_of(copy);
  copy.message = ++channel.sent;
  channel.open.push_back({&copy});
  // What the sender knows to be delivered comes before this copy anyway.
  const auto is_known = [&](const Channel::Message& m) {
    return m.delivered_at > 0 && copy.issued.sure.knows(copy.target, m.delivered_at);
  };
  while (is_known(channel.open.front())) channel.open.pop_front();
  for (const int64_t message : channel.read) let_follow(channel, message);
  channel.read.clear();
  while (!channel.read_there.empty() && copy.issued.assumed.knows(copy.target, channel.read_there.front().time)) {
    let_follow(channel, channel.read_there.front().message);
    channel.read_there.pop_front();
  }
}

// The last message of the channel is the first that follows this one.
void Engine::Impl::let_follow(Channel& channel, int64_t number) {
  Channel::Message* message = channel.find(number);
  if (!message || message->followed_from > 0) return;
  message->followed_from = channel.sent;
  if (!message->copy) return;
  Copy& copy = *message->copy;
  copy.followed_from = channel.sent;
  if (!copy.write_done) channel.undelivered.push_back(copy);
  if (!copy.written.known()) channel.unknown.push_back(copy);
  if (copy.done_item) tilecheck::let_follow(*copy.done, *copy.done_item);
}

// Agent `id` has learnt that the source of a message has been read or, not `sent`, that it has been delivered too.
void Engine::Impl::learn_message(AgentId id, Copy& copy, bool sent, bool sure) {
  Channel& channel = channel_of(copy);
  if (id == copy.agent) channel.read.push_back(copy.message);
  if (sent) return;
  if (id == copy.target) channel.read_there.push_back({copy.message, time(id)});
  if (Channel::Message* message = channel.find(copy.message); message && sure && id == copy.target)
    message->delivered_at = time(id);
  if (Chain<Copy, &Copy::of_unknown>::has(copy)) channel.unknown.erase(copy);
  while (!channel.unknown.empty() && copy.follows(*channel.unknown.front())) {
    Copy& before = *channel.unknown.front();
    channel.unknown.erase(before);
    before.written.learn({id, time(id)}, false, agent(id).known);
  }
}

bool Engine::Impl::held_back(const Copy& copy) {
  if (copy.message == 0) return false;
  const Channel& channel = channel_of(copy);
  return !channel.undelivered.empty() && copy.follows(*channel.undelivered.front());
}

// The messages, in order, that have to be delivered before a copy.
std::vector<Copy*> Engine::Impl::held_back_by(const Copy& copy) {
  std::vector<Copy*> before;
  if (copy.message == 0) return before;
  for (Copy* c : channel_of(copy).undelivered) {
    if (!copy.follows(*c)) break;
    before.push_back(c);
  }
  std::sort(before.begin(), before.end(), [](const Copy* a, const Copy* b) { return a->message < b->message; });
  return before;
}

// The numbers of the messages that a copy follows and that its sender does not know to be delivered.
std::vector<int64_t> Engine::Impl::followed_by(const Copy& copy) {
  const Channel& channel = channel_of(copy);
  std::vector<int64_t> numbers;
  int64_t number = channel.sent - static_cast<int64_t>(channel.open.size());
  for (const Channel::Message& m : channel.open) {
    ++number;
    if (m.followed_from > 0 && m.followed_from <= copy.message) numbers.push_back(number);
  }
  return numbers;
}

// Messages that are delivered before this one are, whatever the schedule. step: of its delivery.
void Engine::Impl::deliver_in_order(const Copy& copy, Trace::Step step) {
  if (copy.message == 0) return;
  for (const Channel::Message& m : channel_of(copy).open)
    if (m.followed_from > 0 && m.followed_from <= copy.message)
      trace.precede(m.copy ? m.copy->written_in : m.written_in, step);
}

void Engine::Impl::leave_channel(Copy& copy) {
  Channel& channel = channel_of(copy);
  if (Chain<Copy, &Copy::of_undelivered>::has(copy)) channel.undelivered.erase(copy);
  if (Chain<Copy, &Copy::of_unknown>::has(copy)) channel.unknown.erase(copy);
  if (Channel::Message* message = channel.find(copy.message)) {
    message->copy = nullptr;
    message->written_in = copy.written_in;
  }
}

}  // namespace tilecheck
