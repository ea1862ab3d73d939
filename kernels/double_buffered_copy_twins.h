// The flaws that double_buffered_copy can be given.
#pragma once

#include "kernels/double_buffered_copy.h"

namespace tilecheck {

enum class CopyFlaw : uint8_t {
  none,
  load_not_awaited,
  load_awaited_late,
  other_slot_awaited,
  half_awaited,
  loads_share_semaphore,
  load_into_used_slot,
  loads_into_one_slot,
  store_slot_overwritten,
  store_source_changed,
  last_store_not_awaited,
  load_not_started,
  awaited_twice,
  scope_left_in_flight,
  loads_into_left_scope,
  signal_leaked,
  never_signalled,
  own_signal_too_late,
  count_overflows,
  signals_dma_semaphore,
};

KernelCase double_buffered_copy_with(CopyFlaw flaw, const DoubleBufferedCopy& p);

}  // namespace tilecheck
