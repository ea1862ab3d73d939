// Semaphores: what was added, what was taken, and which additions a wait guarantees (machine-rules 16).
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "sim/sync/chain.h"
#include "sim/sync/event.h"

namespace tilecheck {

enum class Guarantee : uint8_t { none, by_message_order, sure };

// Something that adds to a semaphore: a signal, or the completion of a copy.
struct Item {
  Copy* copy = nullptr;  // null: a signal
  bool sent = false;     // the copy's source read, not its destination write
  Guarantee given = Guarantee::none;
  AgentId agent = 0;
  int64_t amount = 0;
  int64_t partial = 0;        // the most it can add without being complete
  int64_t number = 0;         // among all items of a run, in order of addition; 0: not in use
  Knowledge known;            // signals: what the signaller knew
  int32_t signalled_in = -1;  // signals: the transition of the trace
  Loc at;
  Dims step;

  Links<Item> of_semaphore, of_unmoved;
  Item* next_signal = nullptr;  // of the same agent
  // A message that later ones follow: what its producer had sent before the first of those (Producer::sent).
  int64_t sent_before_followers = -1;

  bool is_message() const { return copy && !sent && copy->message > 0; }
  // What the count can have beyond it: it is there once no more than that is missing.
  int64_t margin() const { return amount - partial; }
};

// The transition of the trace that makes it, -1: none yet.
inline int32_t transition_of(const Item& item) {
  if (!item.copy) return item.signalled_in;
  return item.sent ? item.copy->read_in : item.copy->written_in;
}

// An item that a run started after a wait which it was not ordered after: the wait has to be judged as if it was there.
// Agents do the same things in the same order in each run, whatever happens between them; so an item is told by its
// number among its agent's, and a message by its number in its channel.
struct LateItem {
  int64_t nth = 0;
  bool signal = false;
  int64_t amount = 0;
  // What the starter knew of the waiter's past, by sure and assumed clock; both rise with nth.
  uint64_t sure = 0, assumed = 0;
  std::vector<int64_t> after;  // Copy::after
  friend bool operator==(const LateItem&, const LateItem&) = default;
};
using LateItems = std::vector<std::vector<LateItem>>;  // by agent, then by nth

// A semaphore in all runs of a kernel.
struct SemaphoreId {
  int device, core;
  std::string name;
  const char* file;  // of a scope
  uint32_t line, column;
  int position;    // in its scope
  int64_t visits;  // scopes of the buffer that have ended
  int64_t element;
  friend auto operator<=>(const SemaphoreId&, const SemaphoreId&) = default;
};

// A reference to an item that may have left its semaphore, for heaps.
struct Weighed {
  int64_t weight;
  Item* item;
  int64_t number;
  friend bool operator<(const Weighed& a, const Weighed& b) { return a.weight < b.weight; }
};

// What one agent adds to a semaphore.
struct Producer {
  AgentId agent = 0;
  int64_t made = 0;  // items
  // Its signals that are not guaranteed, oldest first, and their total.
  Item* first_signal = nullptr;
  Item* last_signal = nullptr;
  int64_t signalled = 0;
  int64_t sent = 0;  // by messages, in all
  // Messages that others follow, not known to be there even by message order, weighed by what `sent` must exceed.
  std::vector<Weighed> followed;
};

struct Semaphore {
  Buffer* buffer = nullptr;
  int64_t element = 0;
  size_t index = 0;  // in the order of first use, the same in each run of the same decisions
  bool dma = false;
  bool adopted = false;  // belongs to the caller
  bool barrier = false;

  // What the chip's register would hold.
  int64_t count = 0;
  int64_t unmoved = 0;  // still to come from copies that were started

  // Additions that are not yet guaranteed to have happened, and what was waited for of them. Items that are guaranteed
  // leave, with their amount, on both sides; so `waited` may be negative.
  Chain<Item, &Item::of_semaphore> items;        // oldest first
  Chain<Item, &Item::of_unmoved> unmoved_items;  // ... whose copies have still to move
  int64_t added = 0;
  int64_t waited = 0;
  std::vector<Producer> producers;  // by agent; only those that added something
  std::vector<Weighed> atomic;      // copies that may be there before all else is, weighed by their margin
  int64_t assumed_below = 0;        // items with a lower number are known at least by message order
  int64_t visits = 0;               // SemaphoreId

  AgentId waiter = -1;
  uint64_t judged_at = 0;  // the waiter's time at its last wait that guaranteed something
  uint64_t read_at = 0;    // ... at its last read
  // For messages.
  Loc waited_at;
  int64_t waited_amount = 0;
  AgentId last_producer = -1;
  Loc produced_at;
  bool ever_added = false;
};

// Items come, and leave when they are guaranteed or with their semaphore's scope.
void add(Semaphore& semaphore, Item& item);
Producer& producer(Semaphore& semaphore, AgentId agent);
// Message `item` is followed by every later one of its producer.
void let_follow(Semaphore& semaphore, Item& item);

// What the wait that just ended guarantees, and no earlier one did: `out` in order of addition, each with its new
// `given`. Those that are sure have left the semaphore. now: the waiter's time. late: items that an earlier run started
// later, unordered; may be null. Returns how many items it looked at: no more than it found, but for late ones.
int64_t judge(Semaphore& semaphore, const LateItems* late, uint64_t now, std::vector<Item*>& out);

}  // namespace tilecheck
