// What a kernel's body does in one grid step, without data: what need, compile-time rules and time are computed from.
//
// A Body is a list of operations over numbered values (SSA: each value is defined once, before its uses), with nested
// blocks for loops, branches and scopes. Two producers fill it: the payload IR and the recording run of a C++ kernel.
// Values of rank 0 are scalars (indices, conditions, loop bounds) and are part of the list: rules fold them when they
// depend only on constants and on grid axes of size 1.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/report/loc.h"
#include "sim/spec/kernel_spec.h"
#include "sim/types/dtype.h"
#include "sim/types/shape.h"

namespace tilecheck::fit {

using ValueId = int32_t;  // index into Body::values
using RefId = int32_t;    // index into Body::refs
inline constexpr int32_t kNone = -1;

struct TileType {
  DType dtype = DType::f32;
  Shape shape;  // rank 0: a scalar
};

enum class OpKind : uint8_t {
  // Values. `fn` says which function for elementwise, convert, reduce and scan-like operations.
  constant,    // no operands. A splat (or scalar) has `is_splat` and its value in `number`.
  grid_index,  // pl.program_id(axes[0])
  grid_size,   // pl.num_programs(axes[0])
  device_id,
  elementwise,   // fn over operands of one shape
  compare,       // fn eq..ge; result is b1
  select,        // in: condition, if_true, if_false
  convert,       // to the result's dtype
  bitcast,       // same bytes, other dtype; a width change acts on the second-minor dimension
  iota,          // axes: the dimensions counted
  broadcast,     // scalar or tile, to the result's shape (trailing dimensions aligned)
  reshape,       // shape_cast
  transpose,     // axes: the permutation
  reduce,        // in: tile, accumulator (a splat usually). axes: the reduced dimensions
  reduce_index,  // argmax, argmin over axes[0]
  matmul,        // in: lhs, rhs, accumulator. See MatmulDims
  concatenate,   // along axes[0]
  slice,         // a static box of in[0]: `starts` (constants) and the result's shape; `strides` when not 1
  extract,       // one element of in[0], as a scalar
  rotate,        // in: tile, amount; axes[0]
  gather,        // take_along_axis: in: tile, indices; axes[0]
  pack,          // several tiles into the bits of one
  unpack,
  random_bits,
  // Memory. `ref`, `starts`, `extent` (rank of the Ref; dimensions of the access), `strides`.
  load,       // out[0]; in[0] is the mask where there is one. `is_dead`: nothing uses it (each Pallas store emits one)
  store,      // in: value[, mask]
  alloc,      // `ref` comes to life; it dies with the enclosing block
  dma_start,  // `ref` source, `ref2` destination, `sem`; is_remote
  dma_wait,   // waits for the bytes of ref2
  sem_signal,
  sem_wait,
  sem_read,
  barrier,  // sem_barrier and other whole-device synchronisation
  // Control.
  loop,  // blocks[0] is the body: args = {induction variable, carries...}; in = {lo, hi, step, initial carries...};
         // out = final carries. `trips`: the number of iterations or kNone when not known
  while_loop,  // blocks[0] computes the condition (its first yield), blocks[1] is the body; in = initial carries
  branch,      // in[0] condition; blocks[0] then, blocks[1] (may be absent) else; out = what they yield
  scope,       // run_scoped: blocks[0]; its allocs die at its end; out = what it yields
  // Other.
  lookup,  // a scalar integer that is known at sampled places of its inputs: Body::lookups[lookup]
  marker,  // trace_start, assume_multiple and the like: no cost; out[0], if any, equals in[0]. assume_multiple:
           // `number`
  opaque,  // anything else; `name` says what
};

// clang-format off
enum class Fn : uint8_t {
  none,
  add, sub, mul, div, rem, pow, min, max, atan2,
  bit_and, bit_or, bit_xor, shift_left, shift_right_logical, shift_right_arithmetic,
  neg, abs, floor, ceil, round, round_even, sign, copy,
  exp, exp2, log, log1p, sqrt, rsqrt, reciprocal, approx_reciprocal, tanh, logistic, erf, sin, cos, tan,
  popcount, count_leading_zeros, is_finite,
  eq, ne, lt, le, gt, ge,
  argmax, argmin,
  other,
};
// clang-format on

// One index of an access or a view: a constant, or a scalar value with what is known of its divisibility.
struct Offset {
  ValueId value = kNone;  // kNone: `constant` is the index
  int64_t constant = 0;
  bool is_constant() const { return value == kNone; }
};

enum class Precision : uint8_t { normal, bf16x3, highest };

// m x k times k x n, `batch` times, whatever the layout; transposed operands are contracted over the other dimension.
struct MatmulDims {
  int64_t batch = 1, m = 0, k = 0, n = 0;
  bool lhs_transposed = false;  // lhs is k x m
  bool rhs_transposed = false;  // rhs is n x k
  Precision precision = Precision::normal;
};

struct Block;

struct Op {
  OpKind kind = OpKind::opaque;
  Fn fn = Fn::none;
  std::vector<ValueId> in, out;
  std::vector<Block> blocks;
  Dims axes;
  RefId ref = kNone, ref2 = kNone, sem = kNone;
  std::vector<Offset> starts;  // memory operations and slice: one per dimension of the Ref (or of in[0])
  Dims extent, strides;        // elements touched per dimension; strides empty: all 1
  MatmulDims matmul;
  double number = 0;         // constant; marker: the promised divisor, 0 for none
  bool is_splat = false;     // constant
  bool is_dead = false;      // load without users
  bool has_mask = false;     // load, store
  bool is_remote = false;    // dma_start, sem_signal
  bool is_unsigned = false;  // integer function, comparison or conversion of unsigned meaning
  int64_t trips = kNone;     // loop
  int32_t lookup = kNone;    // lookup
  Loc at;                    // in the user's source
  std::string name;          // the producer's own name of the operation: "tpu.matmul"; for messages and opaque
};

struct Block {
  std::vector<ValueId> args;  // a loop's induction variable and carries; else empty
  std::vector<Op> ops;
  std::vector<ValueId> yields;  // what the block hands to the operation that holds it
};

enum class RefRoot : uint8_t {
  window,    // root_index: KernelSpec's window (inputs first, then outputs)
  scratch,   // root_index: KernelSpec's scratch
  prefetch,  // root_index: scalar-prefetch operand
  alloc,     // made by an alloc operation of the body (run_scoped, empty_ref), semaphores included
  view,      // part of `base`
  other,     // barrier semaphore and the like
};

struct RefInfo {
  RefRoot root = RefRoot::other;
  int32_t root_index = kNone;
  DType dtype = DType::f32;
  Shape shape;
  Space space = Space::vmem;
  // Views. starts: where the view begins in `base`, one per dimension of base. A view that only reshapes, squeezes or
  // bitcasts has no starts and covers its whole base. extent: elements of `base` covered, per dimension of base.
  RefId base = kNone;
  std::vector<Offset> starts;
  Dims extent;
  // Of a view with dimensions that are as long as is only known at run time: the lengths, one per dimension of `base`
  // (shape and extent have 1 for these). Empty: shape says all.
  std::vector<Offset> sizes;
};

// What a recording run saw a scalar be, over its inputs (grid coordinates and induction variables): row-major over
// `points`, each ascending. Between two points the lower one holds.
struct Lookup {
  std::vector<std::vector<int64_t>> points;  // per input
  std::vector<int64_t> numbers;
};
int64_t look_up(const Lookup& lookup, std::span<const int64_t> inputs);

struct Body {
  std::vector<TileType> values;
  std::vector<RefInfo> refs;
  std::vector<Lookup> lookups;
  std::vector<std::string> notes;  // what the body does that no operation shows
  Dims grid;                       // sizes; kDynamicGrid where only known at run time
  Block top;
};
inline constexpr int64_t kDynamicGrid = -1;

// The Ref that `ref` is a view of, through all views.
inline RefId root_of(const Body& body, RefId ref) {
  while (body.refs[static_cast<size_t>(ref)].base != kNone) ref = body.refs[static_cast<size_t>(ref)].base;
  return ref;
}
inline const TileType& type_of(const Body& body, ValueId value) { return body.values[static_cast<size_t>(value)]; }

// Whether it may do more than compute its results: memory, semaphores, the random generator's state; loops, branches
// and scopes for what their blocks may hold.
bool has_effect(OpKind kind);

std::string_view name(OpKind kind);
std::string_view name(Fn fn);

}  // namespace tilecheck::fit
