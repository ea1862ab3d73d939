// The flaws that the devices of a ring can be given: they are in how the devices keep out of each other's way, and the
// same in every collective.
#pragma once

#include "kernels/ring.h"

namespace tilecheck {

enum class RingFlaw : uint8_t {
  none,
  no_barrier,               // nobody waits for anybody
  half_barrier,             // waits for one of the two neighbours
  barrier_skipped,          // device 1 does without
  stays_out,                // device 1 takes no part
  barrier_to_self,          // signals itself, not its neighbours
  no_such_device,           // the last device sends to the one after it
  sent_not_awaited,         // a message may still be leaving when its source is used again
  received_not_awaited,     // what has arrived is never awaited
  received_too_late,        // awaited after it was used
  half_received,            // the bytes of half a message are awaited
  no_credit,                // messages leave without waiting for room
  early_credit,             // credit is given before the own message has left
  credit_to_wrong_device,   // device 0 gives credit to the neighbour that it sends to
  credit_leaked,            // the last messages are credited too
  credit_awaited_twice,     // device 0 waits for more than it gets
  credit_before_given,      // everybody waits for credit before giving any
  credit_of_own,            // the credit is one's own
  one_receive_semaphore,    // messages in flight share a semaphore
  other_semaphore_awaited,  // waits on the semaphore of the message beside it
  wrong_neighbour,          // device 1 sends back to where its messages come from
  ends_early,               // the last device leaves out its last message
  messages_awaited_first,   // everybody waits before sending
  credit_overflows,         // credits of 2^30
};

RingProtocol ring_protocol_with(RingFlaw flaw, const Ring& ring);

}  // namespace tilecheck
