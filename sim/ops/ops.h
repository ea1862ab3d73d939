// The operation table: every tile operation of both doors, once.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "sim/ops/tile.h"
#include "sim/types/dtype.h"
#include "sim/types/shape.h"

namespace tilecheck {

// How float operations round.
enum class Numerics : uint8_t {
  exact,  // each operation in its own type, rounded per operation; matmul accumulates in f32. Equals JAX's interpreters
  mxu,    // as exact, but a matmul of f32 at default precision rounds its operands to bf16, as the MXU does
  f64,    // floats are kept in f64, rounded to the declared type only at bitcasts
};

// f = float, s = signed, u = unsigned; no suffix: any integer (or bool where it makes sense).
// clang-format off
enum class OpId : uint8_t {
  // elementwise, float
  addf, subf, mulf, divf, remf, maximumf, minimumf, maxnumf, minnumf, negf, absf,
  exp, exp2, log, log2, log1p, expm1, sqrt, rsqrt, cbrt, tanh, sin, cos, tan, asin, acos, atan, sinh, cosh, erf, erfc,
  logistic, ceil, floor, round /* half away from zero */, roundeven, trunc, powf, atan2, copysign, fma,
  reciprocal /* attr approx */, is_weird /* inf or NaN -> b1 */,
  // elementwise, integer
  addi, subi, muli, divsi, divui, remsi, remui, ceildivsi, floordivsi, maxsi, maxui, minsi, minui, andi, ori, xori,
  shli, shrsi, shrui, absi, ctlz, ctpop, cttz, mulsi_high, mului_high,
  // elementwise, comparing and choosing
  cmpf /* attr predicate */, cmpi /* attr predicate */, select /* condition b1 (same shape or rank 0), then, else */,
  // conversions (result type: call.dtype)
  extf, truncf, fptosi, fptoui, sitofp, uitofp, extsi, extui, trunci,
  stochastic_convert /* f32, random 32-bit words: the bits dropped from the mantissa are rounded up with the
                        probability that the words' high bits give */,
  bitcast /* of equal width: elementwise; else the second-minor dimension takes the ratio (rows pack, row 2r in the low
             half) */,
  pack_elementwise /* n tiles -> words, source 0 in the low bits */, unpack_elementwise /* attr index */,
  // shape
  broadcast /* numpy rules to call.shape */, reshape, transpose /* call.dims: permutation */,
  concatenate /* attr axis */, slice /* call.dims: offsets, call.strides, call.shape: result shape */,
  iota /* call.dims: collapsed row-major dimensions */,
  rotate /* tile, scalar amount; attr axis, stride, stride_axis: numpy.roll */, repeat /* attr axis, amount */,
  gather /* source, indices; call.dims: axis: take_along_axis, index modulo extent */,
  insert_slice /* tile, into, call.dims offsets */,
  // reductions (call.dims: axes, removed from the shape; operand 1, optional: the accumulator)
  reduce_add, reduce_mul, reduce_max, reduce_min, reduce_maxu, reduce_minu, reduce_and, reduce_or, reduce_xor,
  argmax /* attr axis, result i32: first of equals */, argmin,
  // contraction
  matmul /* lhs, rhs, accumulator (optional); attrs dot, precision */,
};
// clang-format on
inline constexpr int kOpCount = static_cast<int>(OpId::matmul) + 1;

// cmpf predicates are the ordered/unordered ones of MLIR; `one` is executed as `une` (machine-rules 24).
// clang-format off
enum class Predicate : uint8_t {
  false_, oeq, ogt, oge, olt, ole, one, ord, ueq, ugt, uge, ult, ule, une, uno, true_,  // cmpf, in MLIR's order
  eq, ne, slt, sle, sgt, sge, iult, iule, iugt, iuge,                                   // cmpi, in MLIR's order
};
// clang-format on
enum class Precision : uint8_t { default_, bf16, bf16x3, highest };
enum class CostClass : uint8_t { free, vpu, eup, xlu, mxu, convert, shape, reduce };

// Which dimensions of lhs and rhs are contracted, kept and batched, and where they land in the result: out_order holds
// pairs (0 = lhs | 1 = rhs, dimension). Empty out_order: batch, lhs kept, rhs kept.
struct DotDims {
  Dims lhs_contract, rhs_contract, lhs_keep, rhs_keep, lhs_batch, rhs_batch;
  Dims out_order;
  static DotDims plain() { return {{1}, {0}, {0}, {1}, {}, {}, {}}; }           // [m,k] x [k,n]
  static DotDims transposed_rhs() { return {{1}, {1}, {0}, {0}, {}, {}, {}}; }  // [m,k] x [n,k]
};

// One operation with its attributes. Only the fields that the operation reads (see OpId) matter.
struct OpCall {
  OpId op;
  DType dtype = DType::f32;  // result element type: conversions, iota, argmax, matmul's accumulator
  Predicate predicate = Predicate::eq;
  Precision precision = Precision::default_;
  bool approx = false;
  bool is_signed = true;  // matmul and conversions of signless integers
  int axis = 0;
  int64_t amount = 0;  // repeat count, unpack index, rotate's static stride
  int stride_axis = -1;
  DType source_dtype = DType::f32;  // pack/unpack: the narrow type
  Shape shape;
  Dims dims, strides;
  DotDims dot;
};

// Sees every operation: counters, and the recording run.
class OpObserver {
 public:
  virtual ~OpObserver() = default;
  virtual void on_op(const OpCall& call, std::span<const Tile> operands, const Tile& result) = 0;
};

// What the operations of one core share. Reached through Tile::context(), so that `a + b` needs no core in sight.
struct OpContext {
  TilePool* pool = nullptr;
  Numerics numerics = Numerics::exact;
  bool record_only = false;  // tiles are shape_only; operations apply their type rule alone
  OpObserver* observer = nullptr;
  // The storage type of a declared type under `numerics`.
  DType repr_of(DType dtype) const { return numerics == Numerics::f64 && is_floating(dtype) ? DType::f64 : dtype; }
};

// ---- The table.

// Elementwise work on n consecutive elements (any n >= 0). operands[i] points at elements in the operand's repr;
// splat operands have stride 0 (bit i of splat_mask set: operands[i] points at one element). out may equal an operand.
struct StripArgs {
  const void* const* operands;
  uint32_t splat_mask;
  void* out;
  int64_t n;
  const OpCall* call;
};
using StripFn = void (*)(const StripArgs&);

struct OpInfo {
  OpId op;
  std::string_view name;  // "addf"; equals the MLIR mnemonic where there is one
  int min_operands, max_operands;
  bool elementwise;
  CostClass cost;
};
const OpInfo& info(OpId op);

// The strip function of an elementwise operation on operands of this repr (select: of the two sides) with results of
// repr `result`; null when the table has none. Bitcasts have one for equal widths, where no float is kept in f64 (under
// Numerics::f64 use apply). Chains of them over strips give the same bits as whole-tile calls, since each rounds to its
// own type.
StripFn strip_fn(OpId op, DType operand, DType result);

// Result type and shape of a call; throws InputError when operands or attributes do not fit the operation ("addf:
// operand shapes 8x128 and 8x64 differ"). Elementwise operands must have equal shapes here, except that rank-0 tiles
// stretch.
struct TypeAndShape {
  DType dtype;
  Shape shape;
};
struct OperandType {
  DType dtype;
  const Shape* shape;
};
TypeAndShape result_type(const OpCall& call, std::span<const OperandType> operands);

// Runs one operation; throws what result_type throws. Operands are used up: the result takes over the block of one that
// nobody else owns, so a caller that needs an operand again passes a copy. Afterwards only operands' types and shapes
// are to be relied on. Under record_only scalars and splats are computed, everything else is shape_only.
Tile apply(OpContext& context, const OpCall& call, std::span<Tile> operands);

// Integer and float scalars without tiles, for address arithmetic in payload bodies: bits in the encoding of `dtype`'s
// storage, sign- or zero-extended to 64 bits (floats: their bit pattern). Same results as apply on rank-0 tiles.
// `operand` is the operands' type (select: of the two sides); under Numerics::f64 it and call.dtype say f64 for floats.
uint64_t apply_scalar(const OpCall& call, DType operand, std::span<const uint64_t> operands);

// ---- The vector instructions in use; results do not depend on them.

enum class VectorIsa : uint8_t { best, avx2 };
// For tests and measurements: from now on, in all threads. Strip functions already looked up keep theirs.
void use_vector_isa(VectorIsa isa);
// "avx512" or "avx2": what is in use.
std::string_view vector_isa();

// ---- Sugar for the C++ door. Binary operations broadcast by numpy's rules; the operand types must be equal.
Tile operator+(Tile a, Tile b);
Tile operator-(Tile a, Tile b);
Tile operator*(Tile a, Tile b);
Tile operator/(Tile a, Tile b);  // integers: as C++, but nothing traps (machine-rules 25)
Tile operator%(Tile a, Tile b);
Tile operator-(Tile a);
Tile operator&(Tile a, Tile b);
Tile operator|(Tile a, Tile b);
Tile operator^(Tile a, Tile b);
Tile operator~(Tile a);
Tile operator<<(Tile a, Tile b);
Tile operator>>(Tile a, Tile b);
Tile operator+(Tile a, double b);
Tile operator-(Tile a, double b);
Tile operator*(Tile a, double b);
Tile operator/(Tile a, double b);
Tile operator+(double a, Tile b);
Tile operator-(double a, Tile b);
Tile operator*(double a, Tile b);
Tile operator/(double a, Tile b);
// Comparisons give bool tiles; named, because == on values is for tests.
Tile eq(Tile a, Tile b);
Tile ne(Tile a, Tile b);
Tile lt(Tile a, Tile b);
Tile le(Tile a, Tile b);
Tile gt(Tile a, Tile b);
Tile ge(Tile a, Tile b);
Tile eq(Tile a, double b);
Tile ne(Tile a, double b);
Tile lt(Tile a, double b);
Tile le(Tile a, double b);
Tile gt(Tile a, double b);
Tile ge(Tile a, double b);
Tile maximum(Tile a, Tile b);
Tile minimum(Tile a, Tile b);
Tile maximum(Tile a, double b);
Tile minimum(Tile a, double b);
Tile select(Tile condition, Tile then_tile, Tile else_tile);
Tile exp(Tile a);
Tile exp2(Tile a);
Tile log(Tile a);
Tile log1p(Tile a);
Tile tanh(Tile a);
Tile sqrt(Tile a);
Tile rsqrt(Tile a);
Tile erf(Tile a);
Tile sin(Tile a);
Tile cos(Tile a);
Tile abs(Tile a);
Tile logistic(Tile a);
Tile floor(Tile a);
Tile ceil(Tile a);
Tile pow(Tile a, Tile b);
Tile reciprocal(Tile a, bool approx = false);
Tile is_finite(Tile a);
Tile convert(Tile a, DType to);  // picks extf, truncf, sitofp, ... by the two types
Tile bitcast(Tile a, DType to);
Tile broadcast_to(Tile a, const Shape& shape);
Tile reshape(Tile a, const Shape& shape);
Tile transpose(Tile a, const Dims& permutation);
Tile transpose(Tile a);  // of a rank-2 tile
Tile concatenate(std::span<const Tile> tiles, int axis);
Tile slice(Tile a, const Dims& offsets, const Shape& shape, const Dims& strides = {});
Tile iota(OpContext& context, DType dtype, const Shape& shape, int dimension);
Tile rotate(Tile a, int64_t amount, int axis);
Tile rotate(Tile a, Tile amount, int axis);
Tile repeat(Tile a, int64_t count, int axis);
Tile take_along_axis(Tile a, Tile indices, int axis);
// keep_dims keeps reduced dimensions with extent 1.
Tile reduce_sum(Tile a, const Dims& axes, bool keep_dims = false);
Tile reduce_max(Tile a, const Dims& axes, bool keep_dims = false);
Tile reduce_min(Tile a, const Dims& axes, bool keep_dims = false);
Tile argmax(Tile a, int axis);
Tile argmin(Tile a, int axis);
// accumulator dtype: f32 for float operands, i32 for integers, unless said. `accumulator` may be a valueless Tile.
Tile matmul(Tile lhs, Tile rhs, const DotDims& dims = DotDims::plain(), Tile accumulator = {},
            Precision precision = Precision::default_);

}  // namespace tilecheck
