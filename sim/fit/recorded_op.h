// An operation of the tile table as the fit model knows it.
#pragma once

#include <optional>
#include <span>

#include "sim/fit/body.h"
#include "sim/ops/ops.h"

namespace tilecheck::fit {

// What an operation is, where that needs no more than its name.
struct NamedKind {
  OpKind kind = OpKind::opaque;
  Fn fn = Fn::none;
  bool is_unsigned = false;
};
// None for operations that the fit model has no kind for. Payloads' operations that do the same are the same
// (fit_ops.h).
std::optional<NamedKind> named_kind(OpId op);

// Unordered float comparisons count as ordered.
Fn compare_fn(Predicate predicate);
inline bool is_unsigned(Predicate predicate) { return predicate >= Predicate::iult; }

// Kind, function and attributes; operands and results are the caller's. `operands`: as the operation got them.
Op recorded_op(const OpCall& call, std::span<const Tile> operands);

// Whether scalar operands are stretched to the result's shape, which a payload does by an operation of its own.
bool stretches_scalars(OpKind kind);

}  // namespace tilecheck::fit
