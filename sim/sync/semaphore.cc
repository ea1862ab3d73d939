// Judging waits.
#include "sim/sync/semaphore.h"

#include <algorithm>

namespace tilecheck {
namespace {

// Totals of what one agent's signals add from some place of their channel on.
int64_t& of_agent(std::vector<std::pair<AgentId, int64_t>>& totals, AgentId agent) {
  for (auto& [a, total] : totals)
    if (a == agent) return total;
  return totals.emplace_back(agent, 0).second;
}

// Those that this run has not made yet and that nothing orders after the wait.
template <typename Fn>
void for_each_late(const Semaphore& semaphore, const LateItems* late, uint64_t now, Fn&& fn) {
  if (!late) return;
  for (size_t agent = 0; agent < late->size(); ++agent) {
    const std::vector<LateItem>& list = (*late)[agent];
    const int64_t made = agent < semaphore.made.size() ? semaphore.made[agent] : 0;
    auto l = std::lower_bound(list.begin(), list.end(), made, [](const LateItem& x, int64_t n) { return x.nth < n; });
    for (; l != list.end() && (l->sure < now || l->assumed < now); ++l) fn(static_cast<AgentId>(agent), *l);
  }
}

}  // namespace

void judge(const Semaphore& semaphore, const LateItems* late, uint64_t now, std::vector<Guarantee>& out) {
  const auto& items = semaphore.items;
  out.assign(items.size(), Guarantee::none);
  // An item k is there iff the count could not have been reached without it: all that may have been added, less k and
  // what only follows k in its channel, plus what k may add in part, is less than what was waited for.
  int64_t late_sure = 0, late_assumed = 0;
  for_each_late(semaphore, late, now, [&](AgentId, const LateItem& l) {
    if (l.sure < now) late_sure += l.amount;
    if (l.assumed < now) late_assumed += l.amount;
  });
  if (semaphore.added + late_sure <= semaphore.waited) {
    std::fill(out.begin(), out.end(), Guarantee::sure);
    return;
  }
  if (semaphore.special_items == 0 && !late) return;
  std::vector<std::pair<AgentId, int64_t>> from_here;
  for (const Item* item : items)
    if (!item->copy) of_agent(from_here, item->agent) += item->amount;
  for (size_t k = 0; k < items.size(); ++k) {
    const Item& item = *items[k];
    int64_t sure = semaphore.added + late_sure, assumed = semaphore.added + late_assumed;
    if (!item.copy) {
      int64_t& rest = of_agent(from_here, item.agent);
      sure -= rest;
      assumed -= rest;
      rest -= item.amount;
      for_each_late(semaphore, late, now, [&](AgentId agent, const LateItem& l) {
        if (!l.signal || agent != item.agent) return;
        if (l.sure < now) sure -= l.amount;
        if (l.assumed < now) assumed -= l.amount;
      });
    } else {
      sure += item.partial - item.amount;
      assumed += item.partial - item.amount;
      if (!item.sent && item.copy->remote) {
        for (const Item* other : items)
          if (other->copy && !other->sent && other->copy->follows(*item.copy)) assumed -= other->amount;
        for_each_late(semaphore, late, now, [&](AgentId agent, const LateItem& l) {
          if (agent == item.agent && l.assumed < now &&
              std::find(l.after.begin(), l.after.end(), item.copy->message) != l.after.end())
            assumed -= l.amount;
        });
      }
    }
    if (sure < semaphore.waited) {
      out[k] = Guarantee::sure;
    } else if (assumed < semaphore.waited) {
      out[k] = Guarantee::by_message_order;
    }
  }
}

}  // namespace tilecheck
