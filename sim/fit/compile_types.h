// Element types that an operation does not have on a generation.
#pragma once

#include <optional>
#include <string>

#include "sim/fit/body.h"
#include "sim/fit/compile_rules.h"
#include "sim/report/kinds.h"
#include "sim/target/target.h"

namespace tilecheck::fit {

struct Refusal {
  Kind kind;
  std::string message, help;
};

// Elementwise functions, comparisons, iota, reductions, conversions and matmul over `body`'s values; nothing when the
// compiler takes it. Scalars are the scalar core's and refused only where it has no such type.
std::optional<Refusal> refuse_type(const Op& op, const Body& body, const Target& target, const CompileOptions& options);
std::optional<Refusal> refuse_matmul(const Op& op, const Body& body, const Target& target,
                                     const CompileOptions& options);
std::optional<Refusal> refuse_reshape(const TileType& from, const TileType& to, bool lanes_alike, const Target& target);

}  // namespace tilecheck::fit
