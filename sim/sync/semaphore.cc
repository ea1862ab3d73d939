// Judging waits.
//
// An item is there iff the count could not have been reached without it: all that may have been added, less the item
// and what only follows it in its channel, plus what it may add in part, is less than what was waited for. So, with the
// excess of what was added over what was waited for, an item is guaranteed iff its margin and what follows it are more.
// An item that leaves takes its amount from both sides, so no other is judged differently for it.
#include "sim/sync/semaphore.h"

#include <algorithm>

namespace tilecheck {
namespace {

bool is_gone(const Weighed& w) { return w.item->number != w.number || w.item->given == Guarantee::sure; }

void push(std::vector<Weighed>& heap, const Weighed& weighed, size_t live) {
  if (heap.size() > 2 * live + 16) {
    std::erase_if(heap, is_gone);
    std::make_heap(heap.begin(), heap.end());
  }
  heap.push_back(weighed);
  std::push_heap(heap.begin(), heap.end());
}

std::vector<Producer>::const_iterator find_producer(const std::vector<Producer>& producers, AgentId agent) {
  return std::lower_bound(producers.begin(), producers.end(), agent,
                          [](const Producer& p, AgentId a) { return p.agent < a; });
}

struct Totals {
  int64_t sure = 0, assumed = 0;
};

class Judge {
 public:
  Judge(Semaphore& semaphore, const LateItems* late, uint64_t now, std::vector<Item*>& out)
      : s_(semaphore), late_(late), now_(now), out_(out) {}
  void run();
  int64_t looked_at() const { return looked_at_; }

 private:
  template <typename Wanted>
  Totals total_late(Wanted&& wanted) const;
  Totals late_signals(const Producer& p) const;
  bool has_late_messages(const Producer& p) const;
  void take(Item& item);    // it is sure
  void assume(Item& item);  // it is there if messages keep their order
  void take_all();
  void take_signals(Producer& p);
  void take_atomic();
  void assume_all();
  void assume_signals(const Producer& p);
  void assume_atomic();
  void assume_messages(Producer& p);
  void assume_before_late_messages(const Producer& p);

  Semaphore& s_;
  const LateItems* late_;
  uint64_t now_;
  std::vector<Item*>& out_;
  Totals excess_;
  mutable int64_t looked_at_ = 0;
};

// What the late items that `wanted` (agent, item) picks add: those that this run has not made yet and that nothing
// orders after the wait.
template <typename Wanted>
Totals Judge::total_late(Wanted&& wanted) const {
  Totals totals;
  if (!late_) return totals;
  for (size_t a = 0; a < late_->size(); ++a) {
    const std::vector<LateItem>& list = (*late_)[a];
    if (list.empty()) continue;
    const auto agent = static_cast<AgentId>(a);
    const auto p = find_producer(s_.producers, agent);
    const int64_t made = p != s_.producers.end() && p->agent == agent ? p->made : 0;
    auto l = std::lower_bound(list.begin(), list.end(), made, [](const LateItem& x, int64_t n) { return x.nth < n; });
    for (; l != list.end() && (l->sure < now_ || l->assumed < now_); ++l) {
      ++looked_at_;
      if (!wanted(agent, *l)) continue;
      if (l->sure < now_) totals.sure += l->amount;
      if (l->assumed < now_) totals.assumed += l->amount;
    }
  }
  return totals;
}

Totals Judge::late_signals(const Producer& p) const {
  return total_late([&](AgentId agent, const LateItem& l) { return l.signal && agent == p.agent; });
}

bool Judge::has_late_messages(const Producer& p) const {
  return total_late([&](AgentId agent, const LateItem& l) { return !l.signal && agent == p.agent; }).assumed > 0;
}

void Judge::take(Item& item) {
  ++looked_at_;
  item.given = Guarantee::sure;
  out_.push_back(&item);
  s_.items.erase(item);
  s_.added -= item.amount;
  s_.waited -= item.amount;
}

void Judge::assume(Item& item) {
  ++looked_at_;
  if (item.given != Guarantee::none) return;
  item.given = Guarantee::by_message_order;
  out_.push_back(&item);
}

void Judge::take_all() {
  while (!s_.items.empty()) take(*s_.items.front());
  s_.atomic.clear();
  for (Producer& p : s_.producers) {
    p.first_signal = p.last_signal = nullptr;
    p.signalled = 0;
    p.followed.clear();
  }
}

void Judge::take_signals(Producer& p) {
  int64_t rest = p.signalled + late_signals(p).sure;
  while (p.first_signal && rest > excess_.sure) {
    Item& item = *p.first_signal;
    p.first_signal = item.next_signal;
    if (!p.first_signal) p.last_signal = nullptr;
    p.signalled -= item.amount;
    rest -= item.amount;
    take(item);
  }
}

void Judge::take_atomic() {
  while (!s_.atomic.empty() && s_.atomic.front().weight > excess_.sure) {
    ++looked_at_;
    const Weighed top = s_.atomic.front();
    std::pop_heap(s_.atomic.begin(), s_.atomic.end());
    s_.atomic.pop_back();
    if (!is_gone(top)) take(*top.item);
  }
}

void Judge::assume_all() {
  for (Item* item = s_.items.back(); item && item->number >= s_.assumed_below; item = s_.items.before(*item))
    assume(*item);
  if (!s_.items.empty()) s_.assumed_below = s_.items.back()->number + 1;
}

void Judge::assume_signals(const Producer& p) {
  int64_t rest = p.signalled + late_signals(p).assumed;
  for (Item* item = p.first_signal; item && rest > excess_.assumed; item = item->next_signal) {
    rest -= item->amount;
    assume(*item);
  }
}

void Judge::assume_atomic() {
  looked_at_ += static_cast<int64_t>(s_.atomic.size());
  for (const Weighed& w : s_.atomic)
    if (w.weight > excess_.assumed && !is_gone(w)) assume(*w.item);
}

void Judge::assume_messages(Producer& p) {
  while (!p.followed.empty() && p.followed.front().weight + p.sent > excess_.assumed) {
    ++looked_at_;
    const Weighed top = p.followed.front();
    std::pop_heap(p.followed.begin(), p.followed.end());
    p.followed.pop_back();
    if (!is_gone(top)) assume(*top.item);
  }
}

// ... where late messages may follow too.
void Judge::assume_before_late_messages(const Producer& p) {
  looked_at_ += static_cast<int64_t>(s_.items.size());
  for (Item* item : s_.items) {
    if (item->agent != p.agent || !item->is_message() || item->given != Guarantee::none) continue;
    const int64_t made = item->sent_before_followers < 0 ? 0 : p.sent - item->sent_before_followers;
    const Totals late = total_late([&](AgentId agent, const LateItem& l) {
      return agent == p.agent && std::binary_search(l.after.begin(), l.after.end(), item->copy->message);
    });
    if (item->margin() + made + late.assumed > excess_.assumed) assume(*item);
  }
}

void Judge::run() {
  const Totals late = total_late([](AgentId, const LateItem&) { return true; });
  excess_ = {s_.added + late.sure - s_.waited, s_.added + late.assumed - s_.waited};
  if (excess_.sure <= 0) return take_all();
  for (Producer& p : s_.producers)
    if (p.first_signal) take_signals(p);
  take_atomic();
  if (excess_.assumed <= 0) return assume_all();
  for (Producer& p : s_.producers) {
    if (late_ && p.first_signal) assume_signals(p);
    if (late_ && has_late_messages(p)) {
      assume_before_late_messages(p);
    } else {
      assume_messages(p);
    }
  }
  if (excess_.assumed < excess_.sure) assume_atomic();
}

}  // namespace

Producer& producer(Semaphore& semaphore, AgentId agent) {
  const auto found = find_producer(semaphore.producers, agent);
  if (found != semaphore.producers.end() && found->agent == agent)
    return semaphore.producers[static_cast<size_t>(found - semaphore.producers.begin())];
  Producer made;
  made.agent = agent;
  return *semaphore.producers.insert(found, std::move(made));
}

void add(Semaphore& semaphore, Item& item) {
  semaphore.items.push_back(item);
  semaphore.added += item.amount;
  Producer& p = producer(semaphore, item.agent);
  ++p.made;
  if (item.is_message()) p.sent += item.amount;
  if (item.copy) {
    semaphore.unmoved_items.push_back(item);
    if (item.margin() > 1) push(semaphore.atomic, {item.margin(), &item, item.number}, semaphore.items.size());
    return;
  }
  (p.last_signal ? p.last_signal->next_signal : p.first_signal) = &item;
  p.last_signal = &item;
  p.signalled += item.amount;
}

void let_follow(Semaphore& semaphore, Item& item) {
  Producer& p = producer(semaphore, item.agent);
  item.sent_before_followers = p.sent;
  if (item.given == Guarantee::none)
    push(p.followed, {item.margin() - p.sent, &item, item.number}, semaphore.items.size());
}

int64_t judge(Semaphore& semaphore, const LateItems* late, uint64_t now, std::vector<Item*>& out) {
  out.clear();
  Judge judge(semaphore, late, now, out);
  judge.run();
  if (out.size() > 1)
    std::sort(out.begin(), out.end(), [](const Item* a, const Item* b) { return a->number < b->number; });
  return judge.looked_at();
}

}  // namespace tilecheck
