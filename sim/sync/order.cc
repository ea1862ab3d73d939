// Happens-before: what precedes what, and the accesses that nothing orders.
#include <algorithm>
#include <cassert>

#include "sim/sync/state.h"
#include "sim/types/error.h"

namespace tilecheck {
namespace {

// Items that an earlier run saw come late, over all semaphores: a kernel with more has no ordering to speak of.
constexpr size_t kMaxLate = 1 << 20;

}  // namespace

// ---- Histories.

void Engine::Impl::attach(Event& event) {
  Buffer& buffer = *event.buffer;
  if (!buffer.history) {
    if (free_histories.empty()) {
      buffer.history = &history_store.emplace_back();
    } else {
      buffer.history = free_histories.back();
      free_histories.pop_back();
    }
  }
  if (buffer.history->events.size() >= buffer.history->sweep_at) sweep(buffer);
  if (!buffer.history) return attach(event);
  buffer.history->events.push_back(&event);
  event.attached = true;
  if (event.copy) use(*event.copy);
}

void Engine::Impl::detach(Event& event) {
  if (!event.attached) return;
  event.attached = false;
  Buffer& buffer = *event.buffer;
  auto& events = buffer.history->events;
  events.erase(std::find(events.begin(), events.end(), &event));
  if (events.empty()) {
    buffer.history->sweep_at = AccessHistory().sweep_at;
    free_histories.push_back(buffer.history);
    buffer.history = nullptr;
  }
  if (event.copy) {
    release(*event.copy);
  } else {
    free_events.push_back(&event);
  }
}

// What every agent that still runs knows.
Clock Engine::Impl::floor_clock() {
  Clock floor;
  for (const Agent& a : agents) {
    if (a.done) continue;
    if (floor.empty()) {
      floor = a.known.sure;
    } else {
      floor.meet(a.known.sure);
    }
  }
  return floor;
}

// Drops the events that nobody can race with any more.
void Engine::Impl::sweep(Buffer& buffer) {
  const Clock floor = floor_clock();
  AccessHistory& history = *buffer.history;
  if (!floor.empty()) {
    const std::vector<Event*> events = history.events;
    for (Event* event : events) {
      const bool settled = event->copy ? (event->write ? event->copy->written : event->copy->read).surely_before(floor)
                                       : floor.knows(event->agent, event->time);
      // The history itself goes with its last event.
      if (settled) detach(*event);
    }
  }
  if (buffer.history) history.sweep_at = std::max<size_t>(AccessHistory().sweep_at, 2 * history.events.size());
}

// Makes one event of two, where no event could tell them apart: `now` is in the same place of the source, of the same
// kind, and either covers the old one or happened in the same epoch.
bool Engine::Impl::merge(Event& old, const Event& now) {
  if (old.copy || old.write != now.write || old.agent != now.agent || old.actor != now.actor ||
      (old.dma == 0) != (now.dma == 0) || !(old.at == now.at) || !(old.base == now.base))
    return false;
  const auto renew = [&] {
    old.time = now.time;
    old.dma = now.dma;
    old.step = now.step;
    old.label = now.label;
  };
  if (old.box == now.box || contains(now.box, old.box)) {
    old.box = now.box;
    renew();
    return true;
  }
  if (old.time != now.time) return false;
  if (contains(old.box, now.box)) return true;
  int differs = -1;
  for (int d = 0; d < now.box.rank; ++d) {
    if (old.box[d] == now.box[d]) continue;
    if (differs >= 0) return false;
    differs = d;
  }
  Range& a = old.box[differs];
  const Range& b = now.box[differs];
  if (a.step != 1 || b.step != 1 || b.lo > a.lo + a.n || a.lo > b.lo + b.n) return false;
  const int64_t lo = std::min(a.lo, b.lo), end = std::max(a.lo + a.n, b.lo + b.n);
  a = {lo, end - lo, 1};
  renew();
  return true;
}

void Engine::Impl::remember(Event& event) {
  if (event.buffer->history)
    for (Event* old : event.buffer->history->events)
      if (merge(*old, event)) return;
  Event* kept;
  if (free_events.empty()) {
    kept = &event_store.emplace_back();
  } else {
    kept = free_events.back();
    free_events.pop_back();
  }
  *kept = event;
  kept->copy = nullptr;
  kept->attached = false;
  attach(*kept);
}

void Engine::Impl::record_access(AgentId id, const Ref& ref, bool write, Loc at) {
  Event event;
  event.write = write;
  event.agent = event.actor = id;
  event.time = time(id);
  event.cover(ref);
  if (event.box.empty()) return;
  event.at = at;
  if (agent(id).state.step) event.step = *agent(id).state.step;
  if (chooser.decides() && event.buffer->history) point_of_access(id, event);
  event.point = agent(id).point;
  if (event.buffer->history) check(event, agent(id).known);
  if (!single()) remember(event);
}

// ---- Races.

Order Engine::Impl::order_of(const Event& earlier, const Event& later, const Knowledge& known) const {
  if (!earlier.copy) {
    if (known.sure.knows(earlier.agent, earlier.time)) return Order::ordered;
    return known.assumed.knows(earlier.agent, earlier.time) ? Order::by_message_order : Order::unordered;
  }
  const Order order = (earlier.write ? earlier.copy->written : earlier.copy->read).before(known);
  if (order == Order::unordered && earlier.write && later.write && later.copy && later.copy->follows(*earlier.copy))
    return Order::by_message_order;
  return order;
}

void Engine::Impl::check(const Event& event, const Knowledge& known) {
  if (!event.buffer->history) return;
  for (size_t i = 0; i < event.buffer->history->events.size(); ++i) {
    const Event& earlier = *event.buffer->history->events[i];
    if (!earlier.write && !event.write) continue;
    const Order order = order_of(earlier, event, known);
    if (order == Order::ordered || !share_element(earlier, event)) continue;
    if (event.copy && event.pipeline && earlier.pipeline && event.write && earlier.write &&
        event.actor != earlier.actor) {
      // Judged when the second of them has moved.
      Copy& copy = *event.copy;
      copy.twins.push_back({earlier, earlier.copy});
      if (earlier.copy) {
        use(*earlier.copy);
        earlier.copy->twins.push_back({event, &copy});
        use(copy);
      }
      continue;
    }
    report_race(earlier, event, order);
  }
}

void Engine::Impl::check_entry(AgentId from, AgentId target, const std::string& what, const Buffer& buffer, Loc at) {
  const Knowledge& known = agent(from).known;
  if (known.sure.knows(target, 1)) return;
  const bool assumed = known.assumed.knows(target, 1);
  const std::string there = who(target);
  Finding f =
      Finding::make(assumed ? Kind::relies_on_message_order : Kind::race,
                    what + " " + buffer.name + " on " + there + ", which may not have entered the kernel yet", at);
  f.buffer = buffer.name;
  f.labels.push_back({at, who(from) + " knows nothing of " + there + " here" + where(step_of(from))});
  f.helps.push_back(
      "begin with a barrier: signal the barrier semaphore of every device that is written to or written from, and wait "
      "for as many signals");
  f.notes.push_back("until it enters, the memory and semaphores of a device belong to whatever ran there before");
  independent = independent && assumed;
  add(std::move(f), from);
}

void Engine::Impl::check_scope(const Copy& copy) {
  const Buffer& buffer = *copy.request.destination.buffer;
  const auto found = scopes.find(&buffer);
  if (found == scopes.end() && buffer.alive) return;  // not scoped
  const Knowledge& known = copy.issued;
  const std::string what = "DMA #" + std::to_string(copy.id);
  Kind kind = Kind::race;
  if (found != scopes.end()) {
    const ScopeTimes& times = found->second;
    if (known.sure.knows(copy.target, times.entered)) {
      if (!times.inside) report_dead(buffer, what, copy.agent, copy.at());
      return;
    }
    if (known.assumed.knows(copy.target, times.entered)) kind = Kind::relies_on_message_order;
  }
  independent = independent && kind != Kind::race;
  if (tell_again(kind, copy.at(), Loc{}, buffer.name)) return;
  const std::string there = who(copy.target);
  Finding f = Finding::make(
      kind, what + " writes " + buffer.name + " on " + there + ", which may not have entered its scope yet", copy.at());
  f.buffer = buffer.name;
  f.labels.push_back({copy.at(), describe(copy.destination)});
  if (buffer.allocated_at.known()) f.labels.push_back({buffer.allocated_at, buffer.name + " is allocated here"});
  f.helps.push_back("have " + there + " signal " + who(copy.agent) +
                    " inside the scope, and wait for that signal first, or make " + buffer.name +
                    " scratch of the kernel");
  f.notes.push_back(
      "before a scope is entered, its memory may belong to another scope; its semaphores count all the while");
  add(std::move(f), copy.agent);
}

// ---- Semaphores.

void Engine::Impl::add_item(Semaphore& s, Item* item, const Knowledge& known) {
  item->special = !item->copy || item->partial != item->amount - 1 || (!item->sent && !item->copy->after.empty());
  s.special_items += item->special;
  s.items.push_back(item);
  s.added += item->amount;
  s.ever_added = true;
  s.last_producer = item->agent;
  s.produced_at = item->at;
  if (item->copy) {
    use(*item->copy);
    ++item->copy->open_items;
  }
  if (single()) return;
  s.made.resize(agents.size());
  ++s.made[static_cast<size_t>(item->agent)];
  if (s.waiter < 0 || s.waiter == item->agent) return;
  if (!known.sure.knows(s.waiter, s.read_at)) {
    independent = false;
    could_be(s.read_point, Choice::What::agent, item->agent);
  }
  if (known.sure.knows(s.waiter, s.judged_at)) return;
  // The last wait that guaranteed something could have been satisfied by this item instead.
  note_late(s, *item, known);
}

// What a run knows of an item can only shrink from one to the next, as fewer waits guarantee something.
void Engine::Impl::note_late(const Semaphore& s, const Item& item, const Knowledge& known) {
  LateItem late{s.made[static_cast<size_t>(item.agent)] - 1,
                !item.copy,
                item.amount,
                known.sure[s.waiter],
                known.assumed[s.waiter],
                {}};
  if (item.copy && !item.sent) late.after = item.copy->after;
  LateItems& all = hindsight->late[id_of(s)];
  all.resize(agents.size());
  std::vector<LateItem>& list = all[static_cast<size_t>(item.agent)];
  const auto place =
      std::lower_bound(list.begin(), list.end(), late.nth, [](const LateItem& l, int64_t nth) { return l.nth < nth; });
  if (place == list.end() || place->nth != late.nth) {
    if (++hindsight->items > kMaxLate) throw Incomplete("ordering with more than 1048576 signals that come late");
    list.insert(place, std::move(late));
    learnt = true;
    return;
  }
  late.sure = std::min(late.sure, place->sure);
  late.assumed = std::min(late.assumed, place->assumed);
  std::erase_if(late.after, [&](int64_t m) {
    return std::find(place->after.begin(), place->after.end(), m) == place->after.end();
  });
  if (*place == late) return;
  *place = std::move(late);
  learnt = true;
}

void Engine::Impl::settle_wait(AgentId id, Semaphore& s) {
  const LateItems* late = nullptr;
  if (!single() && !hindsight->late.empty())
    if (const auto found = hindsight->late.find(id_of(s)); found != hindsight->late.end()) late = &found->second;
  judge(s, late, time(id), guarantees);
  size_t kept = 0;
  for (size_t k = 0; k < s.items.size(); ++k) {
    Item* item = s.items[k];
    if (guarantees[k] == Guarantee::sure) {
      learn(id, *item, true);
      s.added -= item->amount;
      s.waited -= item->amount;
      s.special_items -= item->special;
      free_item(item);
      s.judged_at = time(id);
      continue;
    }
    if (guarantees[k] == Guarantee::by_message_order && !item->assumed) {
      learn(id, *item, false);
      item->assumed = true;
      s.judged_at = time(id);
    }
    s.items[kept++] = item;
  }
  if (kept < s.items.size()) s.first_unmoved = 0;
  s.items.resize(kept);
}

// The agent now knows that the item is there, and with it all that its producer knew.
void Engine::Impl::learn(AgentId id, Item& item, bool sure) {
  Agent& me = agent(id);
  const Knowledge& known = item.copy ? item.copy->issued : item.known;
  if (sure) {
    me.known.join(known);
  } else {
    me.known.assumed.join(known.assumed);
  }
  if (!item.copy) return;
  Copy& copy = *item.copy;
  const Join join{id, time(id)};
  copy.read.learn(join, sure, me.known);
  if (!item.sent) {
    copy.written.learn(join, sure, me.known);
    if (!copy.after.empty())
      for (Copy* before : channel(copy))
        if (copy.follows(*before) && !before->written.known()) before->written.learn(join, false, me.known);
  }
  if (!sure) return;
  --copy.open_items;
  forget_if_settled(copy);
}

// A copy that is known to be over needs no record of its own.
void Engine::Impl::forget_if_settled(Copy& copy) {
  use(copy);
  for (Event* event : {&copy.source, &copy.destination}) {
    if (!event->attached) continue;
    const Completion& completion = event->write ? copy.written : copy.read;
    if (!completion.known_surely()) continue;
    if (single()) {
      detach(*event);
    } else if (const Join* join = completion.only_join(); join && copy.open_items == 0) {
      Event over = *event;
      over.copy = nullptr;
      over.agent = join->agent;
      over.time = join->time;
      detach(*event);
      remember(over);
    }
  }
  release(copy);
}

// ---- Message order (machine-rules 18).

void Engine::Impl::join_channel(Copy& copy) {
  if (!options.remote_in_order) return;
  copy.message = ++messages_sent[static_cast<size_t>(copy.agent) * agents.size() + static_cast<size_t>(copy.target)];
  auto& messages = channel(copy);
  size_t kept = 0;
  for (Copy* before : messages) {
    // What the sender knows to be delivered comes before this copy anyway.
    if (before->write_done && before->written.surely_before(copy.issued.sure)) {
      release(*before);
      continue;
    }
    if (before->read.before(copy.issued) != Order::unordered) copy.after.push_back(before->message);
    messages[kept++] = before;
  }
  messages.resize(kept);
  messages.push_back(&copy);
  use(copy);
}

}  // namespace tilecheck
