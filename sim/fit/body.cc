// Names of operation kinds and functions.
#include "sim/fit/body.h"

namespace tilecheck::fit {
namespace {

constexpr std::string_view kOpKindNames[] = {
    "constant",    "grid_index", "grid_size",  "device_id", "elementwise", "compare",    "select",       "convert",
    "bitcast",     "iota",       "broadcast",  "reshape",   "transpose",   "reduce",     "reduce_index", "matmul",
    "concatenate", "slice",      "extract",    "rotate",    "gather",      "pack",       "unpack",       "random_bits",
    "load",        "store",      "alloc",      "dma_start", "dma_wait",    "sem_signal", "sem_wait",     "sem_read",
    "barrier",     "loop",       "while_loop", "branch",    "scope",       "marker",     "opaque"};
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

std::string_view name(OpKind kind) { return kOpKindNames[static_cast<size_t>(kind)]; }
std::string_view name(Fn fn) { return kFnNames[static_cast<size_t>(fn)]; }

}  // namespace tilecheck::fit
