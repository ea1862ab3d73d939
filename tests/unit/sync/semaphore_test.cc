// Judging waits against machine-rules 16 as it is written: over all that was ever added, one item at a time.
#include "sim/sync/semaphore.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>

namespace tilecheck {
namespace {

constexpr int kAgents = 3;

// A semaphore and everything that was ever added to it.
class History {
 public:
  explicit History(uint32_t seed) : random_(seed) {}

  void add_signal() {
    Item& item = new_item();
    item.amount = draw(1, 4);
    add(semaphore_, item);
  }

  // message: one that later ones of its agent may follow. atomic: it is there whole or not at all.
  void add_copy(bool message, bool atomic) {
    Item& item = new_item();
    Copy& copy = copies_.emplace_back();
    item.copy = &copy;
    item.amount = draw(1, 8);
    item.partial = atomic ? 0 : item.amount - 1;
    if (message) {
      for (Item* before : unfollowed_[item.agent])
        if (draw(0, 1) == 0) follow(*before, messages_[item.agent] + 1);
      copy.message = ++messages_[item.agent];
      unfollowed_[item.agent].push_back(&item);
    }
    add(semaphore_, item);
  }

  // Items that another run added later: some of the agent's next ones.
  void expect_late() {
    late_.resize(kAgents);
    for (int agent = 0; agent < kAgents; ++agent) {
      uint64_t sure = 0, assumed = 0;
      for (int64_t nth = 0; nth < 12; ++nth) {
        if (draw(0, 2) != 0) continue;
        sure += static_cast<uint64_t>(draw(0, 3));
        assumed = std::max(sure, assumed) + static_cast<uint64_t>(draw(0, 1));
        LateItem late{nth, draw(0, 1) == 0, draw(1, 6), sure, assumed, {}};
        for (int64_t message = 1; message < 6 && !late.signal; ++message)
          if (draw(0, 1) == 0) late.after.push_back(message);
        late_[static_cast<size_t>(agent)].push_back(late);
      }
    }
  }

  void wait() {
    if (added() == waited_) return;
    ++now_;
    const int64_t amount = draw(1, added() - waited_);
    waited_ += amount;
    semaphore_.waited += amount;
    std::vector<Item*> found;
    judge(semaphore_, late_.empty() ? nullptr : &late_, now_, found);
    int64_t last = 0;
    for (const Item* item : found) {
      EXPECT_GT(item->number, last) << "order of addition";
      last = item->number;
    }
    for (size_t k = 0; k < items_.size(); ++k) {
      rule_[k] = std::max(rule_[k], by_rule(items_[k]));
      EXPECT_EQ(items_[k].given, rule_[k]) << "item " << k << " of " << items_.size();
    }
  }

  int64_t draw(int64_t lo, int64_t hi) { return std::uniform_int_distribution<int64_t>(lo, hi)(random_); }

 private:
  Item& new_item() {
    Item& item = items_.emplace_back();
    rule_.push_back(Guarantee::none);
    item.agent = static_cast<AgentId>(draw(0, kAgents - 1));
    item.number = static_cast<int64_t>(items_.size());
    return item;
  }

  void follow(Item& item, int64_t message) {
    if (item.copy->followed_from > 0) return;
    item.copy->followed_from = message;
    let_follow(semaphore_, item);
  }

  int64_t added() const {
    int64_t total = 0;
    for (const Item& item : items_) total += item.amount;
    return total;
  }

  // By the first clock that the item's guarantee holds in.
  Guarantee by_rule(const Item& item) const {
    if (others(item, false) + item.partial < waited_) return Guarantee::sure;
    return others(item, true) + item.partial < waited_ ? Guarantee::by_message_order : Guarantee::none;
  }

  // What all others may have added without `item`.
  int64_t others(const Item& item, bool assumed) const {
    int64_t total = 0;
    for (const Item& other : items_) {
      const bool needs_it = &other == &item ||
                            (!item.copy && !other.copy && other.agent == item.agent && other.number > item.number) ||
                            (assumed && follows(other, item));
      if (!needs_it) total += other.amount;
    }
    for (size_t agent = 0; agent < late_.size(); ++agent)
      for (const LateItem& l : late_[agent]) {
        if (l.nth < made(static_cast<AgentId>(agent)) || (assumed ? l.assumed : l.sure) >= now_) continue;
        const bool same = static_cast<AgentId>(agent) == item.agent;
        const bool needs_it = same && (item.copy ? assumed && item.copy->message > 0 && !l.signal &&
                                                       std::count(l.after.begin(), l.after.end(), item.copy->message)
                                                 : l.signal);
        if (!needs_it) total += l.amount;
      }
    return total;
  }

  static bool follows(const Item& later, const Item& item) {
    return later.copy && item.copy && later.agent == item.agent && item.copy->followed_from > 0 &&
           later.copy->message >= item.copy->followed_from;
  }

  int64_t made(AgentId agent) const {
    return std::count_if(items_.begin(), items_.end(), [&](const Item& i) { return i.agent == agent; });
  }

  std::mt19937 random_;
  Semaphore semaphore_;
  std::deque<Item> items_;
  std::deque<Copy> copies_;
  std::vector<Guarantee> rule_;
  std::map<AgentId, int64_t> messages_;
  std::map<AgentId, std::vector<Item*>> unfollowed_;
  LateItems late_;
  int64_t waited_ = 0;
  uint64_t now_ = 0;
};

struct Mix {
  const char* name;
  bool signals, copies, messages, atomic, late;
};
const Mix kMixes[] = {
    {"Signals", true, false, false, false, false},      {"Copies", false, true, false, false, false},
    {"AtomicCopies", false, true, false, true, false},  {"Messages", false, false, true, false, false},
    {"AtomicMessages", false, true, true, true, false}, {"LateSignals", true, false, false, false, true},
    {"LateMessages", false, true, true, false, true},   {"LateAtomicMessages", false, true, true, true, true},
};

class JudgeTest : public ::testing::TestWithParam<Mix> {};
INSTANTIATE_TEST_SUITE_P(Mixes, JudgeTest, ::testing::ValuesIn(kMixes), [](const auto& i) { return i.param.name; });

TEST_P(JudgeTest, IsTheRule) {
  const Mix& mix = GetParam();
  for (uint32_t seed = 0; seed < 2000 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    History history(seed);
    if (mix.late) history.expect_late();
    for (int step = 0; step < 40; ++step) {
      const int64_t what = history.draw(0, 4);
      if (what == 0 && mix.signals) history.add_signal();
      if (what == 1 && mix.copies) history.add_copy(false, mix.atomic);
      if (what == 2 && mix.messages) history.add_copy(true, mix.atomic);
      if (what == 3) history.wait();
    }
  }
}

}  // namespace
}  // namespace tilecheck
