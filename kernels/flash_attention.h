// Flash attention's problem and memories, shared by the kernel and its broken twins.
#pragma once

#include "harness/kernel.h"
#include "sim/machine/core.h"

namespace tilecheck {

struct FlashAttention {
  DType dtype;
  int64_t batch, heads, q_len, kv_len, head_dim;
  int64_t block_q, block_kv;
  bool causal;      // query i sees keys 0 .. i
  bool segments;    // a query sees the keys that have its segment id
  double soft_cap;  // logits become soft_cap * tanh(logits / soft_cap); 0: they stay
  double sm_scale;
  bool residuals;  // l and m are results too

  static std::vector<Param> params();
  explicit FlashAttention(const ParamValues& values);

  // Whether any query of q block i sees any key of kv block j.
  bool sees(int64_t i, int64_t j) const { return !causal || j * block_kv < (i + 1) * block_q; }
};

// The body's Refs by name. Those of parts that are switched off have no value.
struct FlashAttentionRefs {
  Ref q;                        // [block_q, head_dim]
  Ref k, v;                     // [block_kv, head_dim]
  Ref q_segments, kv_segments;  // i32 [block_q, 1], [1, block_kv]
  Ref o;                        // [block_q, head_dim]
  Ref l_result, m_result;       // f32 [block_q, 1]
  Ref m, l, acc;                // scratch, f32 [block_q, 1], [block_q, 1], [block_q, head_dim]
  FlashAttentionRefs(const FlashAttention& p, std::span<const Ref> refs);
};

KernelCase flash_attention_case(const FlashAttention& p);

}  // namespace tilecheck
