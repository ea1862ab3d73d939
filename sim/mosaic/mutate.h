// Single edits of a kernel's ordering: each leaves out, moves or changes one start, wait, signal, semaphore or slot, as
// a mistake would. A checker that misses none of them on a correct kernel can be trusted with kernels that it has not
// seen.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/mosaic/kernel_module.h"

namespace tilecheck::mosaic {

enum class EditKind : uint8_t {
  drop,              // a start, wait or signal is left out
  repeat,            // ... done twice
  half_wait,         // a wait for half of the bytes
  more,              // a signal of, or wait for, one more
  half,              // ... for half
  other_semaphore,   // another semaphore of the same type
  swap_semaphores,   // a remote copy's two semaphores exchanged
  next_slot,         // a slot's index off by one, of a copy, load, store or semaphore; wraps
  next_device,       // the neighbour of the device that is meant
  start_after_wait,  // a start moved behind the wait on its semaphore
  wait_before_start,
  later,    // a wait moved behind the next operation that does something
  earlier,  // a start or signal moved before the one before it
  always,   // a branch that holds any of them taken always
  never,    // ... never
};
std::string_view name(EditKind kind);  // "drop", "half-wait"

struct Edit {
  EditKind kind = EditKind::drop;
  std::string what;  // "leave out the wait on sem[0]"
  Loc at;
  // Where, for apply_edit.
  uint32_t function = 0;
  uint32_t op = 0;        // in the order of a walk through the function, outer before inner
  uint32_t other_op = 0;  // start_after_wait, wait_before_start: the other of the two
  uint32_t operand = 0;
  // next_slot: the slice that is meant is so many views behind the operand; kDirect: the operand is the index itself.
  uint32_t view = 0;
  uint32_t dimension = 0;
  int64_t slots = 0;  // of the dimension
  ValueId value = 0;  // other_semaphore
  static constexpr uint32_t kDirect = ~0u;
};

// All edits of the kernel's functions, index maps left out. devices: how many it runs on.
std::vector<Edit> single_edits(const KernelModule& kernel, int devices);

// Applies an edit of an equal kernel. False when what comes out is not well-formed (a value used before it is defined):
// then it is no mutant.
bool apply_edit(KernelModule& kernel, const Edit& edit, int devices);

}  // namespace tilecheck::mosaic
