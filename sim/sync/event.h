// Events and copies: what can race, and the record of each copy that something could still race with.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/memory/ref.h"
#include "sim/memory/transfer.h"
#include "sim/sync/clock.h"
#include "sim/sync/engine.h"

namespace tilecheck {

struct Copy;
struct Semaphore;

// One side of a possible race: an access by an agent, or the source read or destination write of a copy.
//
// A copy that is known to be over counts as an access of the agent that learnt so, at the time it did: whoever knows of
// that moment knows of the copy.
struct Event {
  Copy* copy = nullptr;  // a copy that is not known to be over; it is judged by its completions, not by agent and time
  bool write = false;
  bool attached = false;  // is in its buffer's history
  AgentId agent = 0;      // whose clock `time` is on
  uint64_t time = 0;
  // For messages.
  AgentId actor = 0;  // who accessed, or started the copy
  CopyId dma = 0;     // 0: not a copy
  bool pipeline = false;
  int64_t point = -1;  // the last point of the run's decisions before it, -1: none
  std::string label;   // of a window copy
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
};

// Whether two events on one buffer touch a common element. Exact, also when their Refs were reshaped differently.
bool share_element(const Event& a, const Event& b);
inline bool same_elements(const Event& a, const Event& b) { return a.base == b.base && a.box == b.box; }

// The accesses to one buffer that some agent could still race with. Buffer::history points here while there is one.
class AccessHistory {
 public:
  std::vector<Event*> events;  // oldest first
  size_t sweep_at = 32;        // so many events: look for those that nobody can race with
};

// A window copy of another core to the same elements: not a race when both write the same bytes.
struct Twin {
  Event earlier;
  Copy* other;  // null: known to have moved
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
  Event source, destination;   // at, step: of the start
  int64_t message = 0;         // remote: its number among those from `agent` to `target`, from 1
  std::vector<int64_t> after;  // ... and of those that are delivered before this one (machine-rules 18)
  std::vector<Twin> twins;
  bool reported_read = false, reported_written = false;  // as not awaited

  // Movement.
  bool read_done = false, write_done = false;
  int64_t piece = 0;  // next piece to move, when it moves in pieces
  std::unique_ptr<CopyImage> image;
  Copy* previous = nullptr;  // in the list of copies that have not moved, or of free records
  Copy* next = nullptr;
  int open_items = 0;  // additions to semaphores that no wait has guaranteed yet
  int uses = 0;        // histories, semaphores and lists that hold this record

  const Loc& at() const { return source.at; }
  bool follows(const Copy& other) const {
    if (other.agent != agent || other.target != target || other.message == 0) return false;
    for (const int64_t before : after)
      if (before == other.message) return true;
    return false;
  }
};

}  // namespace tilecheck
