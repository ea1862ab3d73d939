// Which kind of fit operation each payload operation is, where that needs no more than its name.
#pragma once

#include "sim/fit/body.h"
#include "sim/mosaic/ir.h"

namespace tilecheck::mosaic {

struct FitOp {
  OpCode code;
  fit::OpKind kind;
  fit::Fn fn = fit::Fn::none;
  bool is_unsigned = false;
};
// Null for operations with regions, memory operations and those the fit model has no kind for.
const FitOp* find_fit_op(OpCode code);

// The function of arith.cmpi and arith.cmpf; sets is_unsigned. Unordered float comparisons count as ordered.
fit::Fn compare_fn(const Op& op, bool& is_unsigned);
// The function of a reduction.
fit::Fn reduce_fn(const Op& op);

}  // namespace tilecheck::mosaic
