// Happens-before: what precedes what, and the accesses that nothing orders.
#include <algorithm>
#include <cassert>

#include "sim/sync/state.h"
#include "sim/types/error.h"

namespace tilecheck {
namespace {

// Items that an earlier run saw come late, over all semaphores: a kernel with more has no ordering to speak of.
constexpr size_t kMaxLate = 1 << 20;
// A history of so many events has an index; below, to look at each is faster.
constexpr size_t kIndexed = 128;

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
  AccessHistory& history = *buffer.history;
  event.number = ++history.numbered;
  history.events.push_back(event);
  if (event.copy) use(*event.copy);
  if (history.index) {
    history.index->insert(event);
  } else if (history.events.size() > kIndexed) {
    history.index = std::make_unique<BoxIndex>();
    for (Event* e : history.events) history.index->insert(*e);
  }
}

void Engine::Impl::detach(Event& event) {
  if (!event.attached()) return;
  Buffer& buffer = *event.buffer;
  AccessHistory& history = *buffer.history;
  history.events.erase(event);
  if (history.events.size() < kIndexed / 2) {
    history.index.reset();
  } else if (history.index) {
    history.index->erase(event);
  }
  if (history.events.empty()) {
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

// The events of a history that may touch `event`, oldest first, and with a margin those that may touch its neighbours.
const std::vector<Event*>& Engine::Impl::near(const Event& event, int64_t margin) {
  near_events.clear();
  const AccessHistory& history = *event.buffer->history;
  if (history.index) {
    history.index->find(event.base, event.box, margin, near_events);
    std::sort(near_events.begin(), near_events.end(),
              [](const Event* a, const Event* b) { return a->number < b->number; });
  } else {
    near_events.assign(history.events.begin(), history.events.end());
  }
  looked_at += static_cast<int64_t>(near_events.size());
  return near_events;
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
    const std::vector<Event*> events(history.events.begin(), history.events.end());
    looked_at += static_cast<int64_t>(events.size());
    for (Event* event : events) {
      const bool settled = event->copy ? (event->write ? event->copy->written : event->copy->read).surely_before(floor)
                                       : event->in(floor);
      // The history itself goes with its last event.
      if (settled) detach(*event);
    }
  }
  if (buffer.history) history.sweep_at = std::max<size_t>(AccessHistory().sweep_at, 2 * history.events.size());
}

namespace {

// Whether whoever does not know `now` does not know `old` either.
bool is_no_older(const Join& now, const Join& old) { return now.agent == old.agent && now.time >= old.time; }

// The union of two boxes that differ in one dimension, where it is a box.
bool unite(Box& old, const Box& now) {
  int differs = -1;
  for (int d = 0; d < now.rank; ++d) {
    if (old[d] == now[d]) continue;
    if (differs >= 0) return false;
    differs = d;
  }
  Range& a = old[differs];
  const Range& b = now[differs];
  if (a.step != 1 || b.step != 1 || b.lo > a.lo + a.n || a.lo > b.lo + b.n) return false;
  const int64_t lo = std::min(a.lo, b.lo), end = std::max(a.lo + a.n, b.lo + b.n);
  a = {lo, end - lo, 1};
  return true;
}

}  // namespace

// Makes one event of two, where no event could tell them apart: `now` is in the same place of the source, of the same
// kind, and either covers the old one or happened in the same epoch.
bool Engine::Impl::merge(Event& old, const Event& now) {
  if (old.copy || old.write != now.write || old.agent != now.agent || old.actor != now.actor ||
      (old.dma == 0) != (now.dma == 0) || !(old.at == now.at) || !(old.base == now.base) || now.time < old.time ||
      !is_no_older(now.also, old.also) || !is_no_older(now.followed, old.followed))
    return false;
  const bool same_epoch = old.time == now.time && old.also.time == now.also.time;
  Box box = now.box;
  bool several = false;
  if (!(old.box == now.box || contains(now.box, old.box))) {
    if (!same_epoch) return false;
    if (contains(old.box, now.box)) return true;
    box = old.box;
    if (!unite(box, now.box)) return false;
    several = true;
  }
  AccessHistory& history = *old.buffer->history;
  const bool moves = history.index && !(old.box == box);
  if (moves) history.index->erase(old);
  old.box = box;
  old.several = several;
  old.time = now.time;
  old.also = now.also;
  old.followed = now.followed;
  old.dma = now.dma;
  old.step = now.step;
  old.label = now.label;
  if (moves) history.index->insert(old);
  return true;
}

void Engine::Impl::remember(const Event& event) {
  if (!hindsight->watches.empty()) watch(event);
  if (event.buffer->history)
    for (Event* old : near(event, 1))
      if (merge(*old, event)) {
        old->merged_in = std::max(old->merged_in, event.merged_in);
        return;
      }
  Event* kept;
  if (free_events.empty()) {
    kept = &event_store.emplace_back();
  } else {
    kept = free_events.back();
    free_events.pop_back();
  }
  *kept = event;
  kept->copy = nullptr;
  kept->of_history = {};
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
  if (chooser.decides() && !point_of_access(id, event) && trace.on() && !single())
    event.merged_in = trace.merge(id, event);
  if (event.buffer->history) check(event, agent(id).known);
  if (!single()) remember(event);
}

// ---- Races.

Order Engine::Impl::order_of(const Event& earlier, const Event& later, const Knowledge& known) const {
  Order order = Order::unordered;
  bool followed = false;
  const bool is_message = earlier.write && later.write && later.copy && later.copy->message > 0;
  if (earlier.copy) {
    order = (earlier.write ? earlier.copy->written : earlier.copy->read).before(known);
    followed = is_message && later.copy->follows(*earlier.copy);
  } else {
    if (earlier.in(known.assumed)) order = earlier.in(known.sure) ? Order::ordered : Order::by_message_order;
    followed = is_message && earlier.followed.is_set() && earlier.actor == later.copy->agent &&
               earlier.agent == later.copy->target && earlier.followed.in(known.assumed);
  }
  return order == Order::unordered && followed ? Order::by_message_order : order;
}

void Engine::Impl::check(const Event& event, const Knowledge& known) {
  if (!event.buffer->history) return;
  for (Event* candidate : near(event, 0)) {
    const Event& earlier = *candidate;
    if (!earlier.write && !event.write) continue;
    const Order order = order_of(earlier, event, known);
    if (order == Order::ordered || !share_element(earlier, event)) continue;
    if (event.copy && event.pipeline && earlier.pipeline && event.write && earlier.write &&
        event.actor != earlier.actor) {
      // Judged when the second of them has moved.
      Copy& copy = *event.copy;
      Twin& twin = copy.twins.emplace_back(earlier, earlier.copy, nullptr);
      if (const Event* found = exact(earlier, event)) twin.exact = std::make_unique<Event>(*found);
      if (earlier.copy) {
        use(*earlier.copy);
        earlier.copy->twins.emplace_back(event, &copy, nullptr);
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
  s.ever_added = true;
  s.last_producer = item->agent;
  s.produced_at = item->at;
  if (item->copy) {
    use(*item->copy);
    (item->sent ? item->copy->sent_item : item->copy->done_item) = item;
  }
  tilecheck::add(s, *item);
  if (single()) return;
  if (s.waiter < 0 || s.waiter == item->agent) return;
  if (!known.sure.knows(s.waiter, s.read_at)) {
    independent = false;
  }
  if (known.sure.knows(s.waiter, s.judged_at)) return;
  // The last wait that guaranteed something could have been satisfied by this item instead.
  note_late(s, *item, known);
}

// What a run knows of an item can only shrink from one to the next, as fewer waits guarantee something.
void Engine::Impl::note_late(Semaphore& s, const Item& item, const Knowledge& known) {
  LateItem late;
  late.nth = producer(s, item.agent).made - 1;
  late.signal = !item.copy;
  late.amount = item.amount;
  late.sure = known.sure[s.waiter];
  late.assumed = known.assumed[s.waiter];
  if (item.is_message()) late.after = followed_by(*item.copy);
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
  looked_at += judge(s, late, time(id), guaranteed);
  if (!guaranteed.empty()) s.judged_at = time(id);
  for (Item* item : guaranteed) {
    if (trace.on()) trace.guarantee(transition_of(*item), id);
    const bool sure = item->given == Guarantee::sure;
    learn(id, *item, sure);
    if (sure) free_item(item);
  }
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
  if (!item.sent) copy.written.learn(join, sure, me.known);
  if (copy.message > 0) learn_message(id, copy, item.sent, sure);
  if (!sure) return;
  (item.sent ? copy.sent_item : copy.done_item) = nullptr;
  forget_if_settled(copy);
}

// A copy that is known to be over needs no record of its own.
void Engine::Impl::forget_if_settled(Copy& copy) {
  use(copy);
  for (Event* event : {&copy.source, &copy.destination}) {
    if (!event->attached()) continue;
    const Completion& completion = event->write ? copy.written : copy.read;
    if (!completion.known_surely()) continue;
    if (single()) {
      detach(*event);
      continue;
    }
    const std::span<const Join> joins = completion.settled_by();
    if (copy.has_open_items() || joins.empty() || joins.size() > 2) continue;
    Event over = *event;
    over.copy = nullptr;
    // In one order, whoever learnt it first.
    const bool swap = joins.size() == 2 && joins[1].agent < joins[0].agent;
    over.agent = joins[swap].agent;
    over.time = joins[swap].time;
    if (joins.size() == 2) over.also = joins[!swap];
    if (event->write && copy.message > 0)
      for (const Join& join : copy.read.settled_by())
        if (join.agent == copy.agent) over.followed = join;
    detach(*event);
    remember(over);
  }
  release(copy);
}

}  // namespace tilecheck
