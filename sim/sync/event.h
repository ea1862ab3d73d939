// Events and copies: what can race, and the record of each copy that something could still race with.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "sim/memory/ref.h"
#include "sim/memory/transfer.h"
#include "sim/sync/box_index.h"
#include "sim/sync/chain.h"
#include "sim/sync/clock.h"
#include "sim/sync/engine.h"

namespace tilecheck {

struct Copy;
struct Item;
struct Semaphore;

// One side of a possible race: an access by an agent, or the source read or destination write of a copy.
//
// A copy that is known to be over counts as an access of the agent that learnt so, at the time it did: whoever knows of
// that moment knows of the copy. Of a remote copy both its sender and its receiver may have learnt that it was read.
struct Event {
  Copy* copy = nullptr;  // a copy that is not known to be over; it is judged by its completions, not by agent and time
  bool write = false;
  AgentId agent = 0;  // whose clock `time` is on
  uint64_t time = 0;
  Join also;      // another moment that tells of it
  Join followed;  // of a message that is known to be over: messages of its sender that know this moment follow it
  Links<Event> of_history;
  int64_t number = 0;    // in its history, in order of attachment
  bool several = false;  // accesses of one epoch, of which `box` is the union and the other fields are the last's
  // For messages.
  AgentId actor = 0;  // who accessed, or started the copy
  CopyId dma = 0;     // 0: not a copy
  bool pipeline = false;
  int32_t merged_in = -1;  // an access with no point of choice before it: the transition of the trace it is part of
  std::string label;       // of a window copy
  Buffer* buffer = nullptr;
  Shape base;  // what `box` has its coordinates in
  Box box;
  Loc at;
  Dims step;

  void cover(const Ref& ref) {
    buffer = ref.buffer;
    base = ref.buffer_base();
    box = ref.buffer_box();
  }
  bool attached() const { return of_history.linked; }
  // Of an event without a copy.
  bool in(const Clock& clock) const { return clock.knows(agent, time) || (also.is_set() && also.in(clock)); }
};

// Whether two events on one buffer touch a common element. Exact, also when their Refs were reshaped differently.
bool share_element(const Event& a, const Event& b);
inline bool same_elements(const Event& a, const Event& b) { return a.base == b.base && a.box == b.box; }

// The accesses to one buffer that some agent could still race with. Buffer::history points here while there is one.
class AccessHistory {
 public:
  Chain<Event, &Event::of_history> events;  // oldest first
  size_t sweep_at = 32;                     // so many events: look for those that nobody can race with
  int64_t numbered = 0;
  std::unique_ptr<BoxIndex> index;  // of `events`, while there are many
};

// A window copy of another core to the same elements: not a race when both write the same bytes.
struct Twin {
  Event earlier;
  Copy* other;                   // null: known to have moved
  std::unique_ptr<Event> exact;  // where `earlier` is several: the one to name
};

// A copy, from start until nobody can race with it.
struct Copy {
  CopyId id = 0;
  AgentId agent = 0;   // who started it
  AgentId target = 0;  // whose memory it writes
  bool remote = false;
  CopyRequest request;  // destination and done already translated to the target
  Semaphore* done = nullptr;
  Semaphore* sent = nullptr;  // remote
  int64_t bytes = 0;
  Knowledge issued;  // what the starter knew
  Completion read, written;
  Event source, destination;  // at, step: of the start
  int64_t message = 0;        // remote: its number among those from `agent` to `target`, from 1
  int64_t followed_from = 0;  // ... and that of the first that is delivered after it (machine-rules 18), 0: none is
  std::vector<Twin> twins;
  bool reported_read = false, reported_written = false;  // as not awaited

  // Movement.
  bool read_done = false, write_done = false;
  int64_t piece = 0;  // next piece to move, when it moves in pieces
  std::unique_ptr<CopyImage> image;
  Copy* previous = nullptr;  // in the list of copies that have not moved, or of free records
  Copy* next = nullptr;
  Links<Copy> of_undelivered, of_unknown;  // in its Channel
  Item* done_item = nullptr;               // its additions to semaphores that no wait has guaranteed yet
  Item* sent_item = nullptr;
  int32_t started_in = -1, read_in = -1, written_in = -1;  // transitions of the trace
  int uses = 0;                                            // histories, semaphores and lists that hold this record

  const Loc& at() const { return source.at; }
  bool has_open_items() const { return done_item || sent_item; }
  bool follows(const Copy& other) const {
    return other.agent == agent && other.target == target && other.followed_from > 0 && other.followed_from <= message;
  }
};

// The remote copies from one agent to another (machine-rules 18).
struct Channel {
  // A message that the sender does not surely know to be delivered.
  struct Message {
    Copy* copy = nullptr;       // null: nobody can race with it any more
    int64_t followed_from = 0;  // Copy::followed_from
    uint64_t delivered_at = 0;  // the receiver's time when it surely knew, 0: it does not
    int32_t written_in = -1;    // Copy::written_in, once there is no copy
  };
  int64_t sent = 0;
  std::deque<Message> open;  // the last ones sent
  // Of those that later ones follow, in the order of followed_from: ...
  Chain<Copy, &Copy::of_undelivered> undelivered;
  Chain<Copy, &Copy::of_unknown> unknown;  // ... and not known to be written
  // Messages whose source the sender knows to be read since it sent the last one, and those whose receiver knows it,
  // since when.
  std::vector<int64_t> read;
  struct Learnt {
    int64_t message;
    uint64_t time;
  };
  std::deque<Learnt> read_there;

  // Null: the sender knows that it is delivered.
  Message* find(int64_t number) {
    const int64_t i = number - (sent - static_cast<int64_t>(open.size())) - 1;
    return i < 0 ? nullptr : &open[static_cast<size_t>(i)];
  }
};

}  // namespace tilecheck
