// The attribute names that some operation, function or window gives a meaning to, resolved once when a module is read.
#pragma once

#include <cstdint>
#include <string_view>

namespace tilecheck::mosaic {

// In the order of kAttrNames (attr_names.cc).
enum class AttrName : uint8_t {
  add,
  approx,
  axis,
  callee,
  cases,
  core_type,  // tpu.core_type
  core_type_plain,
  descending,
  dim,
  dimension,
  dimension_numbers,
  dimension_semantics,
  dimensions,
  fastmath,
  formatted,
  full_range,
  function_type,
  index,
  indexing_maps,
  iteration_bounds,
  iterator_types,
  kind,
  late_unroll,  // tpu.late_unroll
  level,
  mask,
  message,
  mode,
  msg,
  multiple,
  offsets,
  operand_segment_sizes,
  overflow_flags,
  pattern,
  permutation,
  pipeline_mode,
  position,
  precision,
  predicate,
  priority,
  reduction_dims,
  result_segment_sizes,
  revisit_mode,
  rounding_mode,
  scalar_prefetch,
  scratch_operands,
  shape,
  sizes,
  source_type,
  stable_mosaic_version,  // stable_mosaic.version
  static_position,
  stride,
  stride_dimension,
  strict_ordering,
  strides,
  sublane_mask,
  sublane_stride,
  sym_name,
  sym_visibility,
  tag,
  target_type,
  times,
  to_type,
  transform_indices,
  transpose_lhs,
  transpose_lhs_hint,
  transpose_rhs,
  unroll_factor,
  value,
  vmem_limit_bytes,
  wait_target,
  window_bounds,
  window_kind,
  window_params,
  other,  // anything else: NamedAttr::name tells
};

AttrName find_attr_name(std::string_view text);
// As written in a payload; not for `other`.
std::string_view name(AttrName id);

}  // namespace tilecheck::mosaic
