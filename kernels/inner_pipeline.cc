#include "kernels/inner_pipeline.h"

#include <algorithm>

namespace tilecheck {
namespace {

struct State {
  const InnerWindow& window;
  Ref slots, done;
  int64_t entered = 0;  // blocks so far; the current one, of an input the one fetched last, has slot (entered - 1) % 2
  Dims in_slot[2] = {};
  bool in_flight[2] = {};

  Ref slot(int64_t block) const { return slots({block % 2}); }

  void fetch(Core& core, const Dims& step) {
    const Ref block = window.block_at(window.index(step));
    core.start_copy(block, filled_part(slot(entered), block), done({entered % 2}));
    ++entered;
  }
  void start_store(Core& core, const Dims& step) {
    const int64_t s = (entered - 1) % 2;
    in_slot[s] = window.index(step);
    in_flight[s] = true;
    const Ref block = window.block_at(in_slot[s]);
    core.start_copy(filled_part(slots({s}), block), block, done({s}));
  }
  void wait_stored(Core& core, int64_t s) {
    if (in_flight[s]) core.wait_bytes_of(done({s}), window.block_at(in_slot[s]));
    in_flight[s] = false;
  }
};

}  // namespace

Ref InnerWindow::block_at(const Dims& block_index) const {
  std::vector<Slice> slices;
  const Shape extents = array.shape();
  for (int d = 0; d < extents.rank(); ++d) {
    const int64_t first = block_index[d] * block[d];
    slices.push_back(ds(first, std::min(block[d], extents[d] - first)));
  }
  return array.slice(slices);
}

Dims inner_step(const Dims& grid, int64_t linear) {
  Dims step = grid;
  for (int d = grid.rank() - 1; d >= 0; --d) {
    step[d] = linear % grid[d];
    linear /= grid[d];
  }
  return step;
}

bool enters_block(const InnerWindow& window, const Dims& grid, int64_t linear) {
  return linear == 0 || !(window.index(inner_step(grid, linear)) == window.index(inner_step(grid, linear - 1)));
}

std::vector<Scratch> inner_slots(std::span<const InnerWindow> windows) {
  std::vector<Scratch> all;
  for (const InnerWindow& w : windows) {
    Shape slots = w.block;
    slots.insert(0, 2);
    all.push_back({.name = w.array.buffer->name + " slots", .dtype = w.array.dtype, .shape = slots});
    all.push_back({.name = w.array.buffer->name + (w.output ? " stored" : " fetched"),
                   .dtype = DType::dma_semaphore,
                   .shape = {2},
                   .space = Space::semaphore});
  }
  return all;
}

Ref filled_part(const Ref& slot, const Ref& block) {
  std::vector<Slice> slices;
  const Shape shape = block.shape();
  for (int d = 0; d < shape.rank(); ++d) slices.push_back(ds(0, shape[d]));
  return slot.slice(slices);
}

void inner_pipeline(Core& core, const Dims& grid, std::span<const InnerWindow> windows,
                    const std::function<void(const Dims& step, std::span<const Ref> slots)>& body, Loc at) {
  int64_t steps = 1;
  for (const int64_t extent : grid) steps *= extent;
  const auto run = [&](std::span<const Ref> scratch) {
    std::vector<State> states;
    for (size_t i = 0; i < windows.size(); ++i)
      states.push_back({.window = windows[i], .slots = scratch[2 * i], .done = scratch[2 * i + 1]});
    for (State& s : states)
      if (!s.window.output) s.fetch(core, inner_step(grid, 0));
    core.loop(0, steps, [&](int64_t i) {
      const Dims step = inner_step(grid, i);
      const bool last = i + 1 == steps;
      std::vector<Ref> slots;
      for (State& s : states) {
        const bool enters = enters_block(s.window, grid, i);
        if (s.window.output && enters) s.wait_stored(core, s.entered++ % 2);
        const int64_t current = s.entered - 1;
        slots.push_back(s.slot(current));
        if (s.window.output) continue;
        // The slot of the next block was worked on one block ago.
        if (!last && enters_block(s.window, grid, i + 1)) s.fetch(core, inner_step(grid, i + 1));
        if (enters) core.wait_bytes_of(s.done({current % 2}), s.window.block_at(s.window.index(step)));
      }
      body(step, slots);
      for (State& s : states)
        if (s.window.output && (last || enters_block(s.window, grid, i + 1))) s.start_store(core, step);
    });
    for (State& s : states)
      for (const int64_t slot : {0, 1}) s.wait_stored(core, slot);
  };
  core.scope(inner_slots(windows), run, at);
}

}  // namespace tilecheck
