// What listing and applying edits share: finding operations and the views that operands are made of.
#pragma once

#include <optional>
#include <vector>

#include "sim/mosaic/ir.h"

namespace tilecheck::mosaic {

// One operation's place in its function.
struct Place {
  Block* block;
  size_t index;
  Op& op() const { return block->ops[index]; }
};

// Every operation of a function, outer before inner.
std::vector<Place> places_of(Function& function);

// The operation that defines each value; null for block arguments.
std::vector<const Op*> definitions(const Function& function, const std::vector<Place>& places);

// The operand's position in op.operands, of a segment with one operand.
std::optional<uint32_t> segment_position(const Op& op, int segment);

bool is_view(const Op& op);         // memref_slice, memref_squeeze, ...: shows a part of operand 0
bool is_start(const Op& op);        // tpu.enqueue_dma
bool is_copy_wait(const Op& op);    // tpu.wait_dma2, tpu.wait_dma
bool is_signal(const Op& op);       // tpu.sem_signal
bool is_signal_wait(const Op& op);  // tpu.sem_wait
bool is_ordering(const Op& op);     // any of them
bool has_effect(const Op& op);      // a read, write, synchronisation, allocation, or something that holds some
// Positions of the operands that are semaphores.
std::vector<uint32_t> semaphore_operands(const Op& op);
// Positions of source and target of a start or copy wait.
std::vector<uint32_t> copied_operands(const Op& op);

}  // namespace tilecheck::mosaic
