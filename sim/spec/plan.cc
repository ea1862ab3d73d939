#include "sim/spec/plan.h"

#include <algorithm>

#include "sim/spec/place_block.h"

namespace tilecheck {

GridPart GridPart::whole(const Dims& grid) { return {Dims::filled(grid.rank(), 0), grid, 0, -1}; }

int64_t GridPart::step_count() const { return linear_count >= 0 ? linear_count : element_count(extents); }

Dims GridPart::at(int64_t k, const Dims& grid) const {
  const Dims& n = linear_count >= 0 ? grid : extents;
  if (linear_count >= 0) k = (linear_begin + k) % std::max<int64_t>(1, element_count(grid));
  Dims step = Dims::filled(n.rank(), 0);
  for (int i = n.rank() - 1; i >= 0; --i) {
    step[i] = k % n[i] + (linear_count >= 0 ? 0 : lo[i]);
    k /= n[i];
  }
  return step;
}

PlanCursor::PlanCursor(const KernelSpec& spec, const GridPart& part, const PrefetchReader* prefetch)
    : spec_(spec), part_(part), prefetch_(prefetch), count_(part.step_count()) {
  for (const Window& w : spec.in) windows_.push_back(&w);
  for (const Window& w : spec.out) windows_.push_back(&w);
  for (size_t i = 0; i < windows_.size(); ++i) {
    const Window& w = *windows_[i];
    dependences_.push_back(w.index ? w.index.dependence(spec.grid.rank()) : Dependence{});
    dependences_.back().grid_axes = w.index.moving_axes(spec.grid.rank());
    slots_.push_back(std::max(1, slot_count(spec, w).slots));
    changes_.push_back(-1);
    block_counts_.push_back(w.pipelined() ? block_counts(w) : Dims{});
    seen_.emplace_back();
  }
}

void PlanCursor::evaluate(int64_t k, const Step* previous, Step& out) {
  if (previous && part_.linear_count < 0) {  // increment: cheaper than division
    out.step = previous->step;
    for (int i = out.step.rank() - 1; i >= 0; --i) {
      if (++out.step[i] < part_.lo[i] + part_.extents[i]) break;
      out.step[i] = part_.lo[i];
    }
  } else {
    out.step = part_.at(k, spec_.grid);
  }
  uint32_t changed_axes = ~0u;
  if (previous) {
    changed_axes = 0;
    for (int i = 0; i < out.step.rank(); ++i)
      if (out.step[i] != previous->step[i]) changed_axes |= 1u << i;
  }
  out.visits.resize(windows_.size());
  std::array<Index, kMaxRank> grid;
  for (int i = 0; i < out.step.rank(); ++i) grid[static_cast<size_t>(i)] = Index::grid(i, out.step[i]);
  const std::span<const Index> grid_span(grid.data(), static_cast<size_t>(out.step.rank()));
  for (size_t i = 0; i < windows_.size(); ++i) {
    const Window& w = *windows_[i];
    Visit& v = out.visits[i];
    v.leave = v.first = false;
    if (previous && !dependences_[i].prefetch && !(dependences_[i].grid_axes & changed_axes)) {
      const Visit& p = previous->visits[i];
      v.block = p.block;
      v.origin = p.origin;
      v.slot = p.slot;
      v.enter = false;
      continue;
    }
    place_block(w, spec_.name, grid_span, prefetch_, v);
    v.enter = !previous || !(v.block == previous->visits[i].block);
    if (v.enter) ++changes_[i];
    v.slot = static_cast<int>(changes_[i] % slots_[i]);
    if (v.enter && w.pipelined()) v.first = see(i, v.block);
  }
}

// Whether the block had not been entered before; notes that it has. Arrays of absurdly many blocks are not tracked.
bool PlanCursor::see(size_t window, const Dims& block) {
  const int64_t total = element_count(block_counts_[window]);
  if (total > kMaxTrackedBlocks || total <= 0) return true;
  std::vector<uint64_t>& bits = seen_[window];
  if (bits.empty()) bits.resize(static_cast<size_t>((total + 63) / 64));
  const int64_t n = block_number(block, block_counts_[window]);
  if (n < 0) return true;
  uint64_t& word = bits[static_cast<size_t>(n / 64)];
  const uint64_t bit = uint64_t{1} << (n % 64);
  const bool first = !(word & bit);
  word |= bit;
  return first;
}

bool PlanCursor::advance() {
  if (number_ + 1 >= count_) return false;
  ++number_;
  if (number_ == 0) {
    evaluate(0, nullptr, current_);
  } else {
    std::swap(current_, next_);
  }
  if (!has_next()) {
    for (Visit& v : current_.visits) v.leave = true;
    return true;
  }
  evaluate(number_ + 1, &current_, next_);
  for (size_t i = 0; i < windows_.size(); ++i) current_.visits[i].leave = next_.visits[i].enter;
  return true;
}

Coverage coverage(const Window& window, const Visit& visit) {
  Coverage c;
  const Shape sizes = window.block_sizes();
  for (int d = 0; d < window.array.rank(); ++d) {
    const Interval part = covered(visit.origin[d], sizes[d], window.array[d]);
    c.lo.push_back(part.lo);
    c.extents.push_back(part.hi - part.lo);
  }
  return c;
}

}  // namespace tilecheck
