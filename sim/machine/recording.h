// A recording run: a body on shapes alone. Nothing is loaded, copied or waited for; a recorder is told of everything.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "sim/machine/launch.h"

namespace tilecheck {

// What Core tells instead of acting. Tiles are shape-only, except those that the body itself knows (constants), which
// are splats. An operation's result, and a loaded tile, is given its number by the recorder (set_value_number).
class BodyRecorder : public OpObserver {
 public:
  enum class Semaphore : uint8_t { signal, wait, read };

  virtual void on_load(const Ref& ref, const Access& access, const Tile& result, Loc at) = 0;
  virtual void on_store(const Ref& ref, const Tile& value, const Access& access, Loc at) = 0;
  // The body steers by a value that only data has; what is returned stands in for it.
  virtual int64_t on_index(const Tile& scalar, Loc at) = 0;
  virtual bool on_condition(const Tile& scalar, Loc at) = 0;
  // condition: null when the body knows it, and then it is `truth`.
  virtual void on_branch(const Tile* condition, bool truth, const std::function<void()>& then,
                         const std::function<void()>& otherwise, Loc at) = 0;
  virtual void on_loop(int64_t lower, int64_t upper, const std::function<void(int64_t)>& body, Loc at) = 0;
  virtual void on_copy(const CopyHandle& copy, Loc at) = 0;
  virtual void on_copy_wait(const Ref& done, const Ref& source, const Ref& destination, Loc at) = 0;
  virtual void on_semaphore(Semaphore use, const Ref& semaphore, int64_t amount, bool is_remote, Loc at) = 0;
  virtual void on_scope(std::span<const Scratch> allocations, const std::function<void(std::span<const Ref>)>& body,
                        Loc at) = 0;
};

// A buffer without memory, for a Ref to name.
std::unique_ptr<Buffer> shape_buffer(std::string name, Space space, DType dtype, const Shape& shape);

// The Refs of a kernel's body over buffers without memory, and the steps it is run for. One thread's.
class RecordingRun {
 public:
  // `spec` and `body` must outlive this.
  RecordingRun(const KernelSpec& spec, const Body& body, int devices);
  ~RecordingRun();
  // As the body gets them: scalar prefetch, inputs, outputs, scratch.
  std::span<const Ref> refs() const { return refs_; }
  // The semaphore of the kernel's collective_id; null without one.
  const Buffer* barrier() const;
  // Runs the body for one step. Incomplete when it does not come to its end: it throws, or ends the run with a finding.
  // InputError passes through.
  void run(const Dims& step, BodyRecorder& recorder);

 private:
  const KernelSpec& spec_;
  const Body& body_;
  LaunchOptions options_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
  std::vector<Ref> refs_;
  std::unique_ptr<struct MachineState> state_;
};

}  // namespace tilecheck
