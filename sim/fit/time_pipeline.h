// The block pipeline as libtpu's simulator runs it: one loop of steps + 2 iterations, prefetch one step ahead, copy-out
// behind.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/fit/time_body.h"
#include "sim/fit/time_model.h"
#include "sim/spec/kernel_spec.h"

namespace tilecheck::fit {

// The steps that one core runs: the grid, or core 0's part of it.
struct CoreGrid {
  Dims extents;  // of the part
  int64_t step_count = 1;
};
// On v4 and v5p both cores share a grid (megacore): the first parallel axis of even size is halved, or all steps are
// when there is none; elsewhere and on v7x only core_parallel axes are split.
CoreGrid core_grid(const KernelSpec& spec, const Target& target);

struct PipelineTotals {
  double cycles = 0;
  double compute = 0, waited = 0;
  double body_min = 0, body_max = 0;
  std::vector<int64_t> copies, bytes;  // by window, inputs first
  std::vector<StepTime> timeline;
};

class Pipeline {
 public:
  // slots: by window, inputs first; 0: not copied by the pipeline. All arguments must outlive this.
  Pipeline(const KernelSpec& spec, const Target& target, const TimeTable& table, BodyTimer& body,
           std::vector<int> slots, const PrefetchReader* prefetch);

  // All steps of one core. Grids beyond `exact_steps` are sampled at evenly spread runs of steps.
  PipelineTotals run(const CoreGrid& grid, CopyTimer copies, int timeline_steps);
  int64_t full_block_bytes(size_t window) const { return windows_[window].bytes; }
  const std::vector<int>& slots() const { return slots_; }

 private:
  struct WindowState {
    const Window* window = nullptr;
    bool is_input = true;
    bool moves = false;    // copied by the pipeline
    bool by_axes = false;  // index map reads unknown data: a new block whenever an axis it uses moves
    uint32_t axes = 0;
    bool has_edge = false;  // the array is no multiple of the block
    int64_t bytes = 0;      // of a full block
  };
  Dims step_at(const CoreGrid& grid, int64_t k) const;
  Dims block_at(const WindowState& w, const Dims& step) const;
  int64_t bytes_at(const WindowState& w, const Dims& block) const;
  // Steps [begin, end) as a pipeline of their own; figures count from the end of step begin + warm_up on.
  PipelineTotals run_range(const CoreGrid& grid, int64_t begin, int64_t end, int64_t warm_up, CopyTimer copies,
                           int timeline_steps);

  const KernelSpec& spec_;
  const Target& target_;
  const TimeTable& table_;
  BodyTimer& body_;
  std::vector<int> slots_;
  const PrefetchReader* prefetch_;
  std::vector<WindowState> windows_;
};

}  // namespace tilecheck::fit
