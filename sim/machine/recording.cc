#include "sim/machine/recording.h"

#include "sim/machine/state.h"
#include "sim/types/error.h"

namespace tilecheck {

std::unique_ptr<Buffer> shape_buffer(std::string name, Space space, DType dtype, const Shape& shape) {
  if (is_semaphore(dtype)) return std::make_unique<Buffer>(std::move(name), space, dtype, dtype, shape, 0, 0);
  return std::make_unique<Buffer>(std::move(name), space, HostArray::view(dtype, shape, nullptr), 0, 0);
}

RecordingRun::RecordingRun(const KernelSpec& spec, const Body& body, int devices)
    : spec_(spec), body_(body), state_(std::make_unique<MachineState>()) {
  options_.devices = devices;
  const auto add = [&](const std::string& name, Space space, DType dtype, const Shape& shape) -> Ref& {
    buffers_.push_back(shape_buffer(name, space == Space::any ? Space::hbm : space, dtype, shape));
    return refs_.emplace_back(Ref::whole(*buffers_.back()));
  };
  const auto add_window = [&](const Window& window) {
    if (!window.pipelined()) {
      add(window.name, window.space, window.dtype, window.array);
      return;
    }
    Ref& ref = add(window.name, window.space, window.dtype, window.block_sizes());
    for (size_t d = 0; d < window.block.size(); ++d)
      if (window.block[d].kind == BlockDim::Kind::squeezed) ref.hidden |= 1u << d;
  };
  for (const Prefetch& p : spec.prefetch) add(p.name, Space::smem, p.dtype, p.shape);
  for (const Window& w : spec.in) add_window(w);
  for (const Window& w : spec.out) add_window(w);
  for (const Scratch& s : spec.scratch) add(s.name, s.space, s.dtype, s.shape);
  MachineState& s = *state_;
  s.spec = &spec_;
  s.options = &options_;
  s.ops.pool = s.pool.get();
  s.ops.record_only = true;
  if (spec.collective_id) s.barrier = shape_buffer("barrier semaphore", Space::semaphore, DType::semaphore, {});
}

RecordingRun::~RecordingRun() = default;

const Buffer* RecordingRun::barrier() const { return state_->barrier.get(); }

void RecordingRun::run(const Dims& step, BodyRecorder& recorder) {
  const std::string where = spec_.grid.empty() ? std::string() : " at step " + step_text(step);
  MachineState& s = *state_;
  std::vector<Finding> findings;
  FindingSink sink(findings);
  s.step = step;
  s.findings = &sink;
  s.recorder = &recorder;
  s.ops.observer = &recorder;
  s.body_state = nullptr;
  Core core(s);
  try {
    body_(core, refs_);
  } catch (const InputError&) {
    throw;
  } catch (const Incomplete&) {
    throw;
  } catch (const StopRun&) {
    throw Incomplete("recording the body" + where + ": " +
                     (findings.empty() ? std::string("it stops") : findings.back().message));
  } catch (const NeedsSerialRun&) {
    throw Incomplete("recording the body" + where + ": it does what a run without data cannot");
  } catch (const std::exception& e) {
    throw Incomplete("recording the body" + where + ": it throws " + e.what());
  }
}

}  // namespace tilecheck
