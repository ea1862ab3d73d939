#include "sim/mosaic/attr_names.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace tilecheck::mosaic {
namespace {

constexpr std::array<std::string_view, static_cast<size_t>(AttrName::other) + 1> kAttrNames{
    "add",
    "approx",
    "axis",
    "callee",
    "cases",
    "tpu.core_type",
    "core_type",
    "descending",
    "dim",
    "dimension",
    "dimension_numbers",
    "dimension_semantics",
    "dimensions",
    "fastmath",
    "formatted",
    "full_range",
    "function_type",
    "index",
    "indexing_maps",
    "iteration_bounds",
    "iterator_types",
    "kind",
    "tpu.late_unroll",
    "level",
    "mask",
    "message",
    "mode",
    "msg",
    "multiple",
    "offsets",
    "operandSegmentSizes",
    "overflowFlags",
    "pattern",
    "permutation",
    "pipeline_mode",
    "position",
    "precision",
    "predicate",
    "priority",
    "reduction_dims",
    "resultSegmentSizes",
    "revisit_mode",
    "rounding_mode",
    "scalar_prefetch",
    "scratch_operands",
    "shape",
    "sizes",
    "source_type",
    "stable_mosaic.version",
    "static_position",
    "stride",
    "stride_dimension",
    "strict_ordering",
    "strides",
    "sublane_mask",
    "sublane_stride",
    "sym_name",
    "sym_visibility",
    "tag",
    "target_type",
    "times",
    "to_type",
    "transform_indices",
    "transpose_lhs",
    "transpose_lhs_hint",
    "transpose_rhs",
    "unroll_factor",
    "value",
    "vmem_limit_bytes",
    "wait_target",
    "window_bounds",
    "window_kind",
    "window_params",
    "",
};

constexpr auto kByName = [] {
  std::array<uint8_t, kAttrNames.size() - 1> order{};  // not the empty name of `other`
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<uint8_t>(i);
  std::sort(order.begin(), order.end(), [](uint8_t a, uint8_t b) { return kAttrNames[a] < kAttrNames[b]; });
  return order;
}();

}  // namespace

AttrName find_attr_name(std::string_view text) {
  const auto at = std::lower_bound(kByName.begin(), kByName.end(), text,
                                   [](uint8_t i, std::string_view t) { return kAttrNames[i] < t; });
  return at != kByName.end() && kAttrNames[*at] == text ? static_cast<AttrName>(*at) : AttrName::other;
}

std::string_view name(AttrName id) { return kAttrNames[static_cast<size_t>(id)]; }

}  // namespace tilecheck::mosaic
