// Multi-head attention's problem, shared by the forward kernel, the two backward kernels and their broken twins.
#pragma once

#include "harness/kernel.h"
#include "reference/attention.h"
#include "sim/machine/core.h"

namespace tilecheck {

// Queries and keys are arrays of (batch, length, heads, head_dim), as models keep them.
struct Mha {
  DType dtype;
  int64_t batch, heads, q_len, kv_len, head_dim;
  int64_t block_q, block_k;           // forward
  int64_t block_q_dkv, block_kv_dkv;  // gradients of k and v
  int64_t block_q_dq, block_kv_dq;    // gradient of q
  bool causal;                        // query i sees keys 0 .. i
  bool segment_ids;                   // a query sees the keys that have its segment id
  double sm_scale;                    // logits are multiplied by it
  bool return_residuals;              // forward: each query's log of its sum of exp(logits) is a result too

  static std::vector<Param> params();
  explicit Mha(const ParamValues& values);

  Shape q_shape() const { return {batch, q_len, heads, head_dim}; }
  Shape kv_shape() const { return {batch, kv_len, heads, head_dim}; }
  Shape row_shape() const { return {batch, heads, q_len, 1}; }  // one number for each query of each head
  std::string headline() const;
};

// The kernel made from these values.
KernelCase mha_case(const Mha& p);      // q, k, v [, segment ids] -> o [, logsumexp]
KernelCase mha_dq_case(const Mha& p);   // q, k, v, d_out, logsumexp, delta [, segment ids] -> dq
KernelCase mha_dkv_case(const Mha& p);  // the same -> dk, dv

// ---- What the three kernels share (mha_shared.cc).

// How much of an array a window shows: block number program_id(0), or everything, rounded up to whole blocks, for a
// kernel that goes through the blocks in a loop.
enum class Shown : uint8_t { block, all };
// Rows of q, k, v or a gradient, all heads: [rows, heads, head_dim] in the body.
Window mha_window(const char* name, const Mha& p, const Shape& array, int64_t block, Shown shown, Loc at);
// One number per query of the step's head: [rows, 1] in the body.
Window mha_rows_window(const char* name, const Mha& p, int64_t block, Shown shown, Loc at);
// Segment ids, as a column for queries ([rows, 1] in the body) and a row for keys ([1, columns]).
Window mha_q_segments_window(const Mha& p, int64_t block, Shown shown, Loc at);
Window mha_kv_segments_window(const Mha& p, int64_t block, Shown shown, Loc at);

// A block of logits: `rows` queries from `first_query` on, `columns` keys from `first_key` on.
struct MhaBlock {
  int64_t first_query, rows, first_key, columns;
};
// Which of the block's logits count; without value where all do. Segment ids: [rows, 1] and [1, columns], or no value.
Tile mha_mask(const Mha& p, Core& core, const MhaBlock& block, const Tile& q_segments, const Tile& kv_segments);

// The backward kernels' inputs, in their order, and how they are made up: consistent with each other.
std::vector<InputHint> mha_backward_hints(const Mha& p);
std::vector<InputHint> mha_forward_hints(const Mha& p);
// Gradients in f64 and naively in the kernel's types, as (dq, dk, dv) of the inputs' shapes.
Arrays mha_backward_reference(const Mha& p, std::span<const HostArray> in);
Arrays mha_backward_naive(const Mha& p, std::span<const HostArray> in, Numerics numerics);
Arrays mha_forward_reference(const Mha& p, std::span<const HostArray> in);
Arrays mha_forward_naive(const Mha& p, std::span<const HostArray> in, Numerics numerics);

}  // namespace tilecheck
