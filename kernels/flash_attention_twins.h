// The flaws that flash attention can be given.
#pragma once

#include "kernels/flash_attention.h"

namespace tilecheck {

enum class FlashFlaw : uint8_t {
  none,
  acc_not_rescaled,
  l_not_rescaled,
  m_starts_at_zero,
  scratch_not_reset,
  scratch_reset_once,
  scale_forgotten,
  cap_before_scale,
  causal_off_by_one,
  diagonal_blocks_skipped,
  mask_after_max,
  tail_not_masked,
  v_tail_not_zeroed,
  masked_rows_not_guarded,
  l_in_bf16,
  divided_at_every_step,
  segments_ignored,
  never_stored,
};

KernelCase flash_attention_with(FlashFlaw flaw, const FlashAttention& p);

}  // namespace tilecheck
