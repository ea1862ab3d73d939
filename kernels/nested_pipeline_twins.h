// The flaws that nested_pipeline can be given.
#pragma once

#include "kernels/nested_pipeline.h"

namespace tilecheck {

enum class NestedFlaw : uint8_t {
  none,
  fetches_into_current_slot,
  fetch_not_awaited,
  b_not_awaited,
  fetches_at_every_step,
  slot_not_free,
  stores_at_every_step,
  last_stores_not_awaited,
  stored_before_work,
  cores_share_rows,
};

KernelCase nested_pipeline_with(NestedFlaw flaw, const NestedPipeline& p);

}  // namespace tilecheck
