// Every operation that a Pallas TensorCore kernel may hold: name, arity, effect and type rule, in one table.
//
// The executor and the fit model dispatch on OpCode; the verifier and dead-code removal read the table. Sources: JAX's
// Mosaic lowering and the `tpu` dialect as jaxlib 0.10.2 ships it, MLIR's arith, math, vector, memref, scf, cf, func.
#pragma once

#include <cstdint>
#include <string_view>

namespace tilecheck::mosaic {

// In the order of the table. `unknown` is last: Op::name tells what it was.
// clang-format off
enum class OpCode : uint8_t {
  builtin_module,
  func_func, func_return, func_call,
  arith_constant, arith_addf, arith_subf, arith_mulf, arith_divf, arith_remf, arith_maximumf, arith_minimumf,
  arith_maxnumf, arith_minnumf, arith_negf, arith_addi, arith_subi, arith_muli, arith_divsi, arith_divui,
  arith_remsi, arith_remui, arith_floordivsi, arith_ceildivsi, arith_ceildivui, arith_andi, arith_ori, arith_xori,
  arith_shli, arith_shrsi, arith_shrui, arith_maxsi, arith_maxui, arith_minsi, arith_minui, arith_addui_extended,
  arith_subui_extended, arith_mulsi_extended, arith_mului_extended, arith_cmpi, arith_cmpf, arith_select,
  arith_extf, arith_truncf, arith_convertf, arith_extsi, arith_extui, arith_trunci, arith_sitofp, arith_uitofp,
  arith_fptosi, arith_fptoui, arith_index_cast, arith_index_castui, arith_bitcast,
  math_absf, math_acos, math_acosh, math_asin, math_asinh, math_atan, math_atanh, math_cbrt, math_ceil, math_cos,
  math_cosh, math_erf, math_erfc, math_exp, math_exp2, math_expm1, math_floor, math_log, math_log10, math_log1p,
  math_log2, math_round, math_roundeven, math_rsqrt, math_sin, math_sinh, math_sqrt, math_tan, math_tanh,
  math_trunc, math_absi, math_ctlz, math_ctpop, math_cttz, math_atan2, math_copysign, math_powf, math_ipowi,
  math_fpowi, math_fma, math_clampf, math_sincos, math_isfinite, math_isinf, math_isnan, math_isnormal,
  vector_load, vector_store, vector_broadcast, vector_splat, vector_shape_cast, vector_multi_reduction,
  vector_reduction, vector_contract, vector_extract, vector_extractelement, vector_insert,
  vector_extract_strided_slice, vector_insert_strided_slice, vector_transpose, vector_bitcast, vector_step,
  vector_from_elements, vector_fma,
  memref_load, memref_store, memref_alloca, memref_cast, memref_dim,
  scf_for, scf_if, scf_while, scf_condition, scf_yield, scf_execute_region, scf_index_switch,
  cf_assert,
  tpu_vector_load, tpu_vector_store, tpu_strided_load, tpu_strided_store, tpu_load, tpu_store, tpu_iota,
  tpu_concatenate, tpu_repeat, tpu_bitcast, tpu_transpose, tpu_reshape, tpu_relayout, tpu_dynamic_rotate,
  tpu_dynamic_gather, tpu_reduce_index, tpu_all_reduce, tpu_matmul, tpu_matmul_push_rhs, tpu_matmul_acc_lhs,
  tpu_matmul_pop, tpu_reciprocal, tpu_logistic, tpu_weird, tpu_stochastic_convert,
  tpu_stochastic_convert_elementwise, tpu_pack_elementwise, tpu_unpack_elementwise, tpu_extf, tpu_truncf,
  tpu_sitofp, tpu_uitofp, tpu_fptosi, tpu_fptoui, tpu_assume_multiple, tpu_memref_slice, tpu_memref_squeeze,
  tpu_memref_reshape, tpu_memref_bitcast, tpu_reinterpret_cast, tpu_assume_layout, tpu_erase_memref_layout,
  tpu_device_id, tpu_core_id, tpu_subcore_id, tpu_iteration_bound, tpu_internal_scratch, tpu_sem_alloc,
  tpu_sem_barrier, tpu_sem_read, tpu_sem_wait, tpu_sem_signal, tpu_barrier, tpu_enqueue_dma, tpu_wait_dma2,
  tpu_wait_dma, tpu_region, tpu_yield, tpu_trace, tpu_trace_start, tpu_trace_stop, tpu_trace_value, tpu_delay,
  tpu_prng_set_seed_32, tpu_prng_random_bits, tpu_log, tpu_log_buffer,
  unknown,
};
// clang-format on
inline constexpr int kOpCodeCount = static_cast<int>(OpCode::unknown);

// What an operation does besides computing its results. Removable when unused: pure, read, allocate.
enum class Effect : uint8_t {
  pure,
  read,        // reads memory or a semaphore, changes nothing
  allocate,    // makes memory or semaphores that nothing refers to yet
  write,       // changes memory or other state
  sync,        // copies, waits, signals: orders other accesses
  annotation,  // changes no value; kept for traces
  control,     // holds regions or calls; its effect is theirs
  terminator,
};

// How the verifier checks operand and result types. `own`: rules of its own, by OpCode.
enum class TypeRule : uint8_t {
  own,
  float_unary,    // T -> T; scalars or vectors of equal shape throughout
  float_binary,   // T, T -> T
  float_ternary,  // T, T, T -> T
  float_test,     // T -> i1
  int_unary,
  int_binary,     // integers, i1 or index
  compare_int,    // T, T -> i1; predicate 0..9
  compare_float,  // predicate 0..15
  float_to_float,
  float_to_wider_float,
  float_to_narrower_float,
  int_to_wider_int,
  int_to_narrower_int,
  int_to_float,
  float_to_int,
  index_cast,       // between an integer and index
  same_width_cast,  // element types of equal width
};

struct OpInfo {
  OpCode code;
  std::string_view name;               // "tpu.vector_store"
  int16_t min_operands, max_operands;  // max -1: any number
  int16_t min_results, max_results;
  uint8_t min_regions, max_regions;
  uint8_t segments;  // entries of operandSegmentSizes; 0: the operation has none
  Effect effect;
  TypeRule rule;
};

// `code` must not be unknown.
const OpInfo& info(OpCode code);
// "tpu.vector_store" -> tpu_vector_store; unknown for a name that is not in the table.
OpCode find_op(std::string_view name);

// What the segments of operandSegmentSizes hold, in the newest form.
namespace segment {
// tpu.enqueue_dma, tpu.wait_dma
enum Dma : int { kDmaSource, kDmaSourceSemaphore, kDmaTarget, kDmaTargetSemaphore, kDmaDevice, kDmaCore, kDmaSubcore };
// tpu.wait_dma2: waits for the bytes of kWaitTarget
enum Wait : int { kWaitSemaphore, kWaitSource, kWaitTarget, kWaitDevice, kWaitCore };
// tpu.sem_signal
enum Signal : int { kSignalSemaphore, kSignalAmount, kSignalDevice, kSignalCore, kSignalSubcore };
// tpu.vector_store, tpu.store
enum Store : int { kStoreValue, kStoreBase, kStoreIndices, kStoreMask };
// tpu.vector_load
enum Load : int { kLoadBase, kLoadIndices, kLoadMask };
// tpu.memref_slice
enum Slice : int { kSliceBase, kSliceStart, kSliceSizes };
// tpu.reinterpret_cast
enum Reinterpret : int { kReinterpretBase, kReinterpretOffset, kReinterpretSizes };
}  // namespace segment

}  // namespace tilecheck::mosaic
