// What belongs to one core of one device while a kernel runs: its memories, counters and place in the grid.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/machine/launch.h"
#include "sim/machine/recording.h"
#include "sim/machine/sync_edit.h"
#include "sim/memory/buffer.h"
#include "sim/memory/ref.h"
#include "sim/sync/engine.h"

namespace tilecheck {

// The arrays of one device, in HBM unless resident; its cores share them.
struct DeviceMemory {
  int device = 0;
  std::vector<std::shared_ptr<Buffer>> prefetch;  // the operands as given; each core copies them to its SMEM
  std::vector<std::shared_ptr<Buffer>> in;
  std::vector<std::shared_ptr<Buffer>> out;  // aliased results share their operand's buffer
};

// Allocation sites of scoped memory, shared by all cores so that the same site has the same address everywhere
// (machine-rules 20). A site is a source location and how many scopes are open around it.
class ScopeSites {
 public:
  int id(const Loc& at, int depth, int nth);

 private:
  struct Key {
    const char* file;
    uint32_t line, column;
    int depth, nth;
    auto operator<=>(const Key&) const = default;
  };
  std::map<Key, int> ids_;
};

struct WindowSlots {
  std::vector<std::unique_ptr<Buffer>> slots;  // empty: not pipelined
  std::vector<Ref> shown;                      // per slot; not pipelined: one Ref to the array
  std::unique_ptr<Buffer> semaphores;          // one per slot, when copies go through the engine
};

struct MachineState;

// Counts the work of tile operations.
class WorkCounter : public OpObserver {
 public:
  explicit WorkCounter(MachineState& state) : state_(state) {}
  void on_op(const OpCall& call, std::span<const Tile> operands, const Tile& result) override;

 private:
  MachineState& state_;
};

struct MachineState {
  const KernelSpec* spec = nullptr;
  const LaunchOptions* options = nullptr;
  Engine* engine = nullptr;          // null in a parallel part, which must not need one
  BodyRecorder* recorder = nullptr;  // a recording run: told of everything, nothing happens
  FindingSink* findings = nullptr;
  ScopeSites* sites = nullptr;
  DeviceMemory* memory = nullptr;
  AgentId agent = 0;
  bool set_parallel_steps_apart = false;  // see run_serial
  bool set_apart = false;
  int device = 0;
  int core = 0;
  Dims step;

  // Of tiles and of the memories below, which share blocks. Outlives this where a next part takes it over.
  std::shared_ptr<TilePool> pool = std::make_shared<TilePool>();
  OpContext ops;
  Counters counters;
  std::vector<std::string> incomplete;

  std::vector<std::unique_ptr<Buffer>> prefetch;
  std::vector<WindowSlots> windows;  // inputs, then outputs
  std::vector<std::unique_ptr<Buffer>> scratch;
  std::unique_ptr<Buffer> barrier;
  // Semaphores that are operands or results: each core has its own (machine-rules 11); the first core's are the arrays.
  std::map<const Buffer*, std::unique_ptr<Buffer>> own_semaphores;  // by array; of cores other than the first
  std::map<int, std::vector<std::unique_ptr<Buffer>>> scoped;       // by site
  int scope_depth = 0;
  std::vector<StepRecord> steps;
  WorkCounter work{*this};
  // Of an edit: starts that wait for the next wait, and waits that have been done already.
  std::vector<SyncCall> late_starts;
  std::vector<SemRef> waits_done_early;
  // Whether the run was cancelled (LaunchOptions::go_on). pulse() is called by all that a body can do without end: each
  // access, operation and iteration of a loop. It asks once in a while, and throws StopRun.
  bool cancelled = false;
  static constexpr int kPulses = 64;
  int pulses_left = kPulses;
  bool go_on();
  void pulse() {
    if (--pulses_left <= 0) [[unlikely]]
      ask_to_go_on();
  }
  void ask_to_go_on();
  std::function<void()> before_own_copy;  // set: window copies do not go through the engine yet, and now have to
  std::shared_ptr<void> body_state;       // the body's own, per core: Core::body_state()

  Buffer& own(Buffer& array);  // a semaphore array's own on this core; any other array itself
  DType repr_of(DType dtype) const { return ops.repr_of(dtype); }
  void report(Finding finding);  // fills in step, device and core; throws StopRun if the kind stops the run
  // The buffers of scope `site`, made when they do not exist yet.
  std::vector<std::unique_ptr<Buffer>>& scoped_at(int site, std::span<const Scratch> allocations, const Loc& at);
};

// Thrown by a parallel part that meets what only a serial run can do: a copy, a semaphore, a write to shared memory.
struct NeedsSerialRun {};

// Allocates slots, scratch and SMEM copies of scalar prefetch. `through_engine`: window copies get semaphores.
void allocate(MachineState& state, bool through_engine);

void allocate_window_semaphores(MachineState& state);

// A fresh SMEM copy of scalar-prefetch operand `i`.
std::unique_ptr<Buffer> smem_copy(MachineState& state, size_t i);

// The same address in another core's memories: window slot, scratch, scalar prefetch, scoped allocation, array.
// InputError when the Ref is of none of them.
Ref same_address(const Ref& ref, MachineState& from, MachineState& to);

}  // namespace tilecheck
