// Engine: copies, semaphores, agents and the happens-before order between them. One per launch, for all devices and
// cores.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/memory/ref.h"
#include "sim/report/report.h"
#include "sim/sync/clock.h"
#include "sim/sync/schedule.h"

namespace tilecheck {

// Thrown through kernel bodies to end the run after a finding that stops it, or a deadlock. Never leaves launch().
struct StopRun {};

enum class AccessKind : uint8_t { read, write };

// One semaphore: an element of a buffer in semaphore space.
struct SemRef {
  Buffer* buffer = nullptr;
  int64_t element = 0;
  bool has_value() const { return buffer != nullptr; }
};
SemRef semaphore_of(const Ref& ref);  // ref shows exactly one element of a semaphore buffer; else InputError

// Whose object an address means: another device or core; unset parts mean one's own.
struct Peer {
  std::optional<int> device;
  std::optional<int> core;
};

struct CopyRequest {
  Ref source;       // on the starter's device
  Ref destination;  // an address on the target (machine-rules 20); the starter's own Ref, translated by the engine
  SemRef done;      // receives the bytes when written: on the target
  SemRef sent;      // remote: receives the bytes when the source has been read: on the starter
  Peer peer;        // a device or core set: remote
  int priority = 0;
  bool pipeline = false;  // a window copy of the block pipeline
  std::string label;      // pipeline: "fetch of k for step (0,1)"
};

// What earlier runs of the same decisions have learnt: additions to a semaphore that come later than a wait which they
// were not ordered after, so that the wait has to be judged with them in mind (machine-rules 16); and races of which
// one side was remembered together with others of its kind, so that this one has to be looked for.
struct Hindsight;
std::shared_ptr<Hindsight> make_hindsight();

struct EngineOptions {
  ScheduleSpec schedule;
  uint64_t seed = 0;
  bool remote_in_order = true;   // machine-rules 18; false: --remote-order none
  bool atomic_progress = false;  // --semaphore-progress atomic
  bool disable_semaphore_checks = false;
  bool check_races = true;
  bool record_decisions = false;         // also for schedules that need no decision string: eager, lifo, torn
  bool find_alternatives = false;        // Engine::alternatives(); decisions are recorded
  bool reduce_alternatives = true;       // false: every choice at every point, to hold the reduction against
  std::shared_ptr<Hindsight> hindsight;  // of the runs before this one; null: this is the only run
};

// Tells the engine where an agent is, for findings. Kept by the agent's Core.
struct AgentState {
  int device = 0;
  int core = 0;
  const Dims* step = nullptr;  // grid coordinates; null: no grid
};

class Engine {
 public:
  Engine(const EngineOptions& options, FindingSink& findings);
  ~Engine();

  AgentId add_agent(const AgentState& state);
  // Maps a Ref or semaphore of one agent to the same address on another (scratch number, window slot, allocation site).
  // Set by launch.
  using Translate = std::function<Ref(const Ref&, int device, int core)>;
  void set_translate(Translate translate);
  // A core's global semaphore for the kernel's collective_id: remote signals to it need no earlier order (machine-rules
  // 21).
  void add_barrier_semaphore(const Buffer& buffer);

  // Runs one function per registered agent to its end, as fibers when there are several; a StopRun ends them all.
  // Then makes the end-of-run findings (machine-rules 22). Returns false if the run was stopped; what else an agent
  // throws is rethrown. Once per engine.
  bool run(std::span<const std::function<void()>> agents);

  // ---- Called by the running agent.
  // A vector or scalar access; only needed where tracks() says so.
  void access(AgentId agent, const Ref& ref, AccessKind kind, Loc at);
  bool tracks(const Buffer& buffer) const { return buffer.history != nullptr || several_ || !buffer.alive; }

  CopyId start(AgentId agent, const CopyRequest& request, Loc at);
  // Takes `bytes` from a DMA semaphore; returns when that many have arrived. May switch agents.
  void wait_copy(AgentId agent, SemRef semaphore, int64_t bytes, Loc at);
  // Regular semaphores. wait blocks until the count is at least `amount`, then takes it.
  void wait(AgentId agent, SemRef semaphore, int64_t amount, Loc at);
  void signal(AgentId agent, SemRef semaphore, int64_t amount, Peer peer, Loc at);
  int64_t read(AgentId agent, SemRef semaphore, Loc at);
  // All devices (and cores) wait for each other: device entry of communicating kernels (machine-rules 21).
  void entry_barrier(AgentId agent);

  // Scoped memory: buffers and semaphores that live from enter to leave (machine-rules 20, 22). Leaving ends their
  // life (Buffer::alive), and the engine forgets them.
  void enter_scope(AgentId agent, std::span<Buffer* const> buffers, Loc at);
  void leave_scope(AgentId agent, std::span<Buffer* const> buffers, Loc at);
  // Semaphores that belong to the caller (operands or results): neither reset nor checked; copies pending on them
  // finish at the end.
  void adopt_semaphores(Buffer& buffer, std::span<const int64_t> counts);
  int64_t final_count(SemRef semaphore) const;

  // Whether this run learnt something that changes how its waits are judged or its races told: drop its findings and
  // run again with the same options.hindsight. False at the latest when a run learns nothing new.
  bool judge_again() const;
  // The decision string that reproduces this run ("" when the schedule alone does, or the run was too long to record),
  // and whether no unordered event could have changed it.
  std::string decisions() const;
  bool schedule_independent() const;
  // With find_alternatives: decision strings of runs that begin as this one did and then do in another order what
  // depends on order. Runs of one of each group, and of theirs, reach every outcome.
  std::vector<std::vector<std::string>> alternatives() const;
  // Why these may not reach every outcome; "" when they do.
  std::string missed_orders() const;
  // Whether each decision of a replayed schedule was possible where it was to be taken.
  bool followed_schedule() const;
  int64_t copies_started() const;
  // Accesses, copies and signals that were compared with another or with a wait: what the time that ordering takes
  // grows with.
  int64_t looked_at() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  bool several_ = false;
};

}  // namespace tilecheck
