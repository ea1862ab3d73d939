// The structured attributes of operations and functions, read from their text once.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/mosaic/ir.h"
#include "sim/ops/ops.h"

namespace tilecheck::mosaic {

// What a tpu.matmul contracts: #tpu.dot_dimension_numbers, or transpose_lhs and transpose_rhs where there is none.
// None if the text is not of that form or its numbers do not cover the operands' dimensions exactly.
std::optional<DotDims> dot_dims(const Op& op, int lhs_rank, int rhs_rank);

// #tpu.contract_precision; default where absent. None if it is of a name we do not know.
std::optional<Precision> precision(const Op& op);

// Of vector.multi_reduction, vector.reduction (#vector.kind) and tpu.reduce_index, tpu.all_reduce
// (#tpu.reduction_kind).
enum class ReductionKind : uint8_t {
  add,
  mul,
  maximumf,
  minimumf,
  maxnumf,
  minnumf,
  maxsi,
  minsi,
  maxui,
  minui,
  and_,
  or_,
  xor_,
  arg_max,
  arg_min,
  find_first_set
};
std::optional<ReductionKind> reduction_kind(const Op& op);

// #tpu.element_window<[lo...], [hi...]>: padding in elements on either side of the array.
struct ElementWindow {
  std::vector<int64_t> pad_lo, pad_hi;
};
std::optional<ElementWindow> element_window(const Attr& attr);

// "[1, 2], [], [3]" as lists of integers; none if it is anything else.
std::optional<std::vector<std::vector<int64_t>>> integer_lists(std::string_view text);

}  // namespace tilecheck::mosaic
