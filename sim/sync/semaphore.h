// Semaphores: what was added, what was taken, and which additions a wait guarantees (machine-rules 16).
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "sim/sync/event.h"

namespace tilecheck {

// Something that adds to a semaphore: a signal, or the completion of a copy.
struct Item {
  Copy* copy = nullptr;  // null: a signal
  bool sent = false;     // the copy's source read, not its destination write
  bool assumed = false;  // already learnt, but only by message order
  bool special = false;  // may be guaranteed before all bytes of the semaphore are: not a copy of its own channel
  AgentId agent = 0;
  int64_t amount = 0;
  int64_t partial = 0;  // the most it can add without being complete
  Knowledge known;      // signals: what the signaller knew
  int64_t point = -1;   // the last point of the run's decisions before it
  Loc at;
  Dims step;
};

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

enum class Guarantee : uint8_t { none, by_message_order, sure };

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
  std::vector<Item*> items;
  int64_t added = 0;
  int64_t waited = 0;
  std::vector<int64_t> made;  // items by agent
  int64_t visits = 0;         // SemaphoreId
  int special_items = 0;      // of `items`
  size_t first_unmoved = 0;   // no item before it waits to be moved

  AgentId waiter = -1;
  uint64_t judged_at = 0;  // the waiter's time at its last wait that guaranteed something
  uint64_t read_at = 0;    // ... at its last read
  int64_t read_point = -1;
  // For messages.
  Loc waited_at;
  int64_t waited_amount = 0;
  AgentId last_producer = -1;
  Loc produced_at;
  bool ever_added = false;
};

// What the wait that just ended guarantees of each item, `out` in the order of semaphore.items. now: the waiter's time.
// late: items that an earlier run started later, unordered; may be null.
void judge(const Semaphore& semaphore, const LateItems* late, uint64_t now, std::vector<Guarantee>& out);

}  // namespace tilecheck
