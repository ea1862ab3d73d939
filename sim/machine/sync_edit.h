// A mistake in a kernel's ordering, made while it runs: what the calls at one place of the source do instead. For
// kernels whose source cannot be edited; payloads are edited themselves (sim/mosaic/mutate.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/sync/engine.h"

namespace tilecheck {

struct MachineState;

// One call that orders something: a copy's start, a wait for bytes or signals, a signal.
struct SyncCall {
  enum class What : uint8_t { start, wait_bytes, signal, wait };
  What what = What::start;
  CopyRequest request;  // start
  SemRef semaphore;     // the others
  int64_t amount = 0;   // ... bytes or signals
  Peer peer;            // signal
  Loc at;
};

// Calls of one kind at one place, on one semaphore array.
struct SyncSite {
  SyncCall::What what = SyncCall::What::start;
  Loc at;
  std::string semaphore;
  // What can be changed about them, as the first call shows.
  int64_t amount = 0;
  bool has_peer = false, has_other_semaphore = false, source_is_slot = false, destination_is_slot = false,
       is_remote = false;
  bool is_for(const SyncCall& call) const;
};

struct SyncEdit {
  enum class Change : uint8_t {
    none,
    drop,
    repeat,
    half,              // of the bytes or signals
    more,              // one signal more
    other_semaphore,   // the next of its array, else the next array
    swap_semaphores,   // of a remote copy
    next_source_slot,  // the slot after
    next_destination_slot,
    next_device,
    late_start,  // after the next wait of its core
    early_wait,  // the start's own wait comes before it; the next one on its semaphore is left out
  };
  Change change = Change::none;
  SyncSite site{};
  int devices = 1;
  // Filled by the run: every place that orders something, in the order of the first calls.
  std::vector<SyncSite> sites;
};
std::string_view name(SyncEdit::Change change);

// What the launch's edit makes of a call.
void start_edited(MachineState& state, Engine& engine, const CopyRequest& request, const Loc& at);
void wait_edited(MachineState& state, Engine& engine, SyncCall::What what, SemRef semaphore, int64_t amount,
                 const Loc& at);
void signal_edited(MachineState& state, Engine& engine, SemRef semaphore, int64_t amount, const Peer& peer,
                   const Loc& at);

}  // namespace tilecheck
