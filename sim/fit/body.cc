// Names and effects of operation kinds, names of functions; lookups.
#include "sim/fit/body.h"

#include <algorithm>

namespace tilecheck::fit {
namespace {

constexpr std::string_view kOpKindNames[] = {
    "constant",    "grid_index", "grid_size",  "device_id", "elementwise", "compare",    "select",       "convert",
    "bitcast",     "iota",       "broadcast",  "reshape",   "transpose",   "reduce",     "reduce_index", "matmul",
    "concatenate", "slice",      "extract",    "rotate",    "gather",      "pack",       "unpack",       "random_bits",
    "load",        "store",      "alloc",      "dma_start", "dma_wait",    "sem_signal", "sem_wait",     "sem_read",
    "barrier",     "loop",       "while_loop", "branch",    "scope",       "lookup",     "marker",       "opaque"};
constexpr std::string_view kFnNames[] = {"none",
                                         "add",
                                         "sub",
                                         "mul",
                                         "div",
                                         "rem",
                                         "pow",
                                         "min",
                                         "max",
                                         "atan2",
                                         "bit_and",
                                         "bit_or",
                                         "bit_xor",
                                         "shift_left",
                                         "shift_right_logical",
                                         "shift_right_arithmetic",
                                         "neg",
                                         "abs",
                                         "floor",
                                         "ceil",
                                         "round",
                                         "round_even",
                                         "sign",
                                         "copy",
                                         "exp",
                                         "exp2",
                                         "log",
                                         "log1p",
                                         "sqrt",
                                         "rsqrt",
                                         "reciprocal",
                                         "approx_reciprocal",
                                         "tanh",
                                         "logistic",
                                         "erf",
                                         "sin",
                                         "cos",
                                         "tan",
                                         "popcount",
                                         "count_leading_zeros",
                                         "is_finite",
                                         "eq",
                                         "ne",
                                         "lt",
                                         "le",
                                         "gt",
                                         "ge",
                                         "argmax",
                                         "argmin",
                                         "other"};

static_assert(std::size(kOpKindNames) == static_cast<size_t>(OpKind::opaque) + 1);
static_assert(std::size(kFnNames) == static_cast<size_t>(Fn::other) + 1);

}  // namespace

int64_t look_up(const Lookup& lookup, std::span<const int64_t> inputs) {
  size_t at = 0;
  for (size_t i = 0; i < lookup.points.size(); ++i) {
    const std::vector<int64_t>& points = lookup.points[i];
    const auto above = std::upper_bound(points.begin(), points.end(), inputs[i]);
    const size_t k = above == points.begin() ? 0 : static_cast<size_t>(above - points.begin()) - 1;
    at = at * points.size() + k;
  }
  return lookup.numbers[at];
}

bool has_effect(OpKind kind) {
  switch (kind) {
    case OpKind::random_bits:
    case OpKind::store:
    case OpKind::alloc:
    case OpKind::dma_start:
    case OpKind::dma_wait:
    case OpKind::sem_signal:
    case OpKind::sem_wait:
    case OpKind::sem_read:
    case OpKind::barrier:
    case OpKind::loop:
    case OpKind::while_loop:
    case OpKind::branch:
    case OpKind::scope:
    case OpKind::opaque:
      return true;
    default:
      return false;
  }
}

std::string_view name(OpKind kind) { return kOpKindNames[static_cast<size_t>(kind)]; }
std::string_view name(Fn fn) { return kFnNames[static_cast<size_t>(fn)]; }

}  // namespace tilecheck::fit
