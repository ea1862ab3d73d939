// PlanCursor: which block each window shows at each grid step, in which slot, and what is copied. No memory, no
// threads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/spec/kernel_spec.h"

namespace tilecheck {

// The grid steps that one core runs, in lexicographic order (last axis fastest): a sub-box of the grid, or a linear
// range that wraps to step 0 past the end (megacore's flattened split, machine-rules 11).
struct GridPart {
  Dims lo, extents;  // sub-box; linear_count < 0
  int64_t linear_begin = 0;
  int64_t linear_count = -1;
  static GridPart whole(const Dims& grid);
  int64_t step_count() const;
  // Coordinates of the k-th step.
  Dims at(int64_t k, const Dims& grid) const;
};

// One window at one step.
struct Visit {
  Dims block;   // block index per array dimension (element dimensions: the element index)
  Dims origin;  // first element in the array; negative or beyond the end where an element window is padded
  int slot = 0;
  bool enter = false;  // the block differs from the previous step's: inputs are fetched, outputs start afresh
  bool leave = false;  // the block differs at the next step, or this is the last: outputs are written back
  bool first = false;  // the block is entered for the first time in this part
};

// Walks a part of the grid with one step of look-ahead, in O(windows) memory plus one bit per block. Index
// maps of step s + 1 are evaluated by the advance() to s, that is before body s (machine-rules 6).
class PlanCursor {
 public:
  // `spec` must outlive the cursor; its grid must be concrete. `prefetch` may be null when no map reads it.
  PlanCursor(const KernelSpec& spec, const GridPart& part, const PrefetchReader* prefetch);

  // To the first or next step; false when there is none.
  bool advance();
  int64_t number() const { return number_; }  // 0-based in this part
  const Dims& step() const { return current_.step; }
  bool has_next() const { return number_ + 1 < count_; }
  const Dims& next_step() const { return next_.step; }
  // Windows in order: inputs, then outputs.
  std::span<const Visit> visits() const { return current_.visits; }
  // Of the next step (has_next()): block, origin, slot and enter are known; leave is not.
  std::span<const Visit> next_visits() const { return next_.visits; }

 private:
  struct Step {
    Dims step;
    std::vector<Visit> visits;
  };
  void evaluate(int64_t k, const Step* previous, Step& out);
  bool see(size_t window, const Dims& block);

  const KernelSpec& spec_;
  GridPart part_;
  const PrefetchReader* prefetch_;
  int64_t count_;
  int64_t number_ = -1;
  Step current_, next_;
  std::vector<const Window*> windows_;
  std::vector<Dependence> dependences_;
  std::vector<int> slots_;
  std::vector<int64_t> changes_;
  std::vector<Dims> block_counts_;           // blocks per dimension
  std::vector<std::vector<uint64_t>> seen_;  // a bit per block
};

// The part of the array that a visit covers: origin and extents clipped to the array. Elements, not bytes.
struct Coverage {
  Dims lo, extents;  // extents may be 0
};
Coverage coverage(const Window& window, const Visit& visit);

}  // namespace tilecheck
