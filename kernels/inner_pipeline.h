// A pipeline inside a kernel body, as emit_pipeline makes one: blocks of arrays in HBM go through two VMEM slots each,
// so that the copies of the next step and of the last run beside the work of this one.
#pragma once

#include <functional>
#include <span>

#include "sim/machine/core.h"

namespace tilecheck {

struct InnerWindow {
  Ref array;                                    // in HBM
  Shape block;                                  // of the array's rank
  std::function<Dims(const Dims& step)> index;  // of the block that a step works on
  bool output = false;                          // an output's steps on one block follow each other
  Ref block_at(const Dims& block_index) const;  // as much of the block as exists
};

// Calls body(step, slots) for all steps of the grid, the last axis fastest. slots: one Ref per window, of its block's
// shape; what of an edge block lies outside the array is undefined, and not written back.
void inner_pipeline(Core& core, const Dims& grid, std::span<const InnerWindow> windows,
                    const std::function<void(const Dims& step, std::span<const Ref> slots)>& body,
                    Loc at = std::source_location::current());

// For pipelines that are spelled out elsewhere: the linear step's coordinates, and whether it is the first on its
// block.
Dims inner_step(const Dims& grid, int64_t linear);
bool enters_block(const InnerWindow& window, const Dims& grid, int64_t linear);
// Two slots and two DMA semaphores for each window, in turn.
std::vector<Scratch> inner_slots(std::span<const InnerWindow> windows);
// The part of a slot that a copy of `block` fills.
Ref filled_part(const Ref& slot, const Ref& block);

}  // namespace tilecheck
