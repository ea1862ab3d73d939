// Core: the only door from a kernel body to the simulated machine. Every access passes its checks.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sim/memory/ref.h"
#include "sim/ops/ops.h"
#include "sim/report/report.h"
#include "sim/sync/engine.h"

namespace tilecheck {

// Options of a load or store.
struct Access {
  Tile mask;         // b1, of the accessed shape; lanes that are false are neither read nor written
  bool add = false;  // store: adds to what is there
};

// A started copy, for waiting on it. A value; may outlive nothing it refers to.
struct CopyHandle {
  Ref source, destination;
  Ref done, sent;
  bool remote = false;
};

struct MachineState;  // sim/machine: one core's private state

// All methods may make findings; one whose kind stops the run throws StopRun.
class Core {
 public:
  explicit Core(MachineState& state) : state_(state) {}
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  // ---- Where this is.
  int64_t program_id(int axis) const;
  int64_t num_programs(int axis) const;
  const Dims& grid_step() const;
  int device_id() const;
  int device_count() const;
  int core_index() const;
  int core_count() const;
  OpContext& ops();

  // ---- Loads and stores: VMEM and SMEM only.
  Tile load(const Ref& ref, const Access& access = {}, Loc at = std::source_location::current());
  void store(const Ref& ref, const Tile& tile, const Access& access = {}, Loc at = std::source_location::current());
  // Stores and returns the old value.
  Tile swap(const Ref& ref, const Tile& tile, const Access& access = {}, Loc at = std::source_location::current());
  void store(const Ref& ref, double value, Loc at = std::source_location::current());  // every element
  Tile load(const HbmRef& ref, const Access& access = {}, Loc at = {}) = delete;       // copy it to VMEM first
  void store(const HbmRef& ref, const Tile& tile, const Access& access = {}, Loc at = {}) = delete;

  // ---- Values that steer: an address, a size, a count, a branch. Undefined ones are an `undefined-use`.
  int64_t load_index(const Ref& scalar, Loc at = std::source_location::current());  // loads one integer and uses it
  int64_t as_index(const Tile& scalar, Loc at = std::source_location::current());
  bool as_condition(const Tile& scalar, Loc at = std::source_location::current());
  // Structured control flow: what a recording run knows as branches and loops; its conditions on data enter both sides.
  void when(bool condition, const std::function<void()>& then, const std::function<void()>& otherwise = {},
            Loc at = std::source_location::current());
  void when(const Tile& condition, const std::function<void()>& then, const std::function<void()>& otherwise = {},
            Loc at = std::source_location::current());
  void loop(int64_t lower, int64_t upper, const std::function<void(int64_t)>& body,
            Loc at = std::source_location::current());

  // ---- New tiles.
  Tile full(DType dtype, const Shape& shape, double value) { return Tile::splat(ops(), dtype, shape, value); }
  Tile iota(DType dtype, const Shape& shape, int dimension) { return tilecheck::iota(ops(), dtype, shape, dimension); }
  Tile scalar(DType dtype, double value) { return Tile::scalar(ops(), dtype, value); }

  // ---- Copies (DMA). Semaphore Refs show one element.
  CopyHandle start_copy(const Ref& source, const Ref& destination, const Ref& done, int priority = 0,
                        Loc at = std::source_location::current());
  CopyHandle start_remote_copy(const Ref& source, const Ref& destination, const Ref& sent, const Ref& received,
                               Peer peer, Loc at = std::source_location::current());
  void wait(const CopyHandle& copy,
            Loc at = std::source_location::current());  // local: done; remote: sent and received
  void wait_sent(const CopyHandle& copy, Loc at = std::source_location::current());
  void wait_received(const CopyHandle& copy, Loc at = std::source_location::current());
  // Waits for as many bytes as `like` has, as a wait descriptor does.
  void wait_bytes_of(const Ref& done, const Ref& like, Loc at = std::source_location::current());
  void sync_copy(const Ref& source, const Ref& destination, Loc at = std::source_location::current());

  // ---- Regular semaphores.
  void signal(const Ref& semaphore, int64_t amount = 1, Peer peer = {}, Loc at = std::source_location::current());
  void wait(const Ref& semaphore, int64_t amount = 1, Loc at = std::source_location::current());
  int64_t read(const Ref& semaphore, Loc at = std::source_location::current());
  // The global semaphore named by the kernel's collective_id.
  Ref barrier_semaphore(Loc at = std::source_location::current());

  // ---- Scoped allocation. The Refs are dead when `body` returns. A scope on another core has the
  // same addresses if it has the same source line, nesting and number of allocations, or the same `site` (0 or more).
  void scope(std::span<const Scratch> allocations, const std::function<void(std::span<const Ref>)>& body,
             Loc at = std::source_location::current(), int site = -1);

  // ---- For payload execution.
  // Checks an access as load and store do, without performing it. copy: bounds of copies.
  void admit(const Ref& ref, AccessKind kind, Loc at);
  // The same of an access whose lanes are off where the mask is false: ordering looks at the others alone.
  void admit(const Ref& ref, const Tile& mask, AccessKind kind, Loc at);
  uint64_t load_scalar(const Ref& ref, uint8_t* undefined, Loc at);
  void store_scalar(const Ref& ref, uint64_t bits, uint8_t undefined, Loc at);
  // At each iteration of a loop: throws StopRun when the run was cancelled.
  void pulse();
  // Makes an `undefined-use` finding and stops: `what` was computed from undefined memory.
  [[noreturn]] void undefined_use(const char* what, Loc at);
  // Ends the run as `incomplete`: `what` is not modelled.
  [[noreturn]] void incomplete(const std::string& what, Loc at);
  Counters& counters();
  // A body's own state, one per core and launch; bodies run on several threads at once and must keep none elsewhere.
  std::shared_ptr<void>& body_state();
  void report(Finding finding);  // stops the run if the finding's kind does

 private:
  Engine& engine();
  void admit_place(const Ref& ref, AccessKind kind, Loc at);  // memory space, bounds, scope
  MachineState& state_;
};

}  // namespace tilecheck
