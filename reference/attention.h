// References of attention, forward and backward.
//
//   logits = (q k^T + bias) * scale,   capped = cap * tanh(logits / cap) where a cap is set
//   p      = exp(capped - m) / l over the keys that may be seen, m their largest value, l their sum of exp(capped - m)
//   out    = p v
// A query that may see no key has out = 0, m = -infinity, l = 0, logsumexp = -infinity, and no gradient.
#pragma once

#include "reference/array.h"

namespace tilecheck::reference {

struct AttentionOptions {
  double scale = 1;
  bool causal = false;  // query i sees keys j <= i + causal_offset only
  int64_t causal_offset = 0;
  double soft_cap = 0;  // 0: none
  // Each null, or (all lengths as below):
  const Array* bias = nullptr;            // (batch, q_heads, q_len, kv_len)
  const Array* q_segment_ids = nullptr;   // (batch, q_len); both or neither: a query sees keys of its own segment
  const Array* kv_segment_ids = nullptr;  // (batch, kv_len)
  const Array* mask = nullptr;            // (q_len, kv_len), 0: may not be seen
};

struct AttentionResult {
  Array out;        // (batch, q_heads, q_len, v_dim)
  Array m;          // (batch, q_heads, q_len): the largest logit
  Array l;          // (batch, q_heads, q_len): sum of exp(logit - m)
  Array logsumexp;  // (batch, q_heads, q_len): m + log(l)
};

// q(batch, q_heads, q_len, dim), k(batch, kv_heads, kv_len, dim), v(batch, kv_heads, kv_len, v_dim). q_heads is a
// multiple of kv_heads: query head h reads key head h / (q_heads / kv_heads).
AttentionResult attention(const Array& q, const Array& k, const Array& v, const AttentionOptions& options = {});

struct AttentionGradients {
  Array dq, dk, dv;  // as q, k, v
  Array dbias;       // as bias; empty without one
};

// Gradients of sum(out * d_out), d_out(batch, q_heads, q_len, v_dim).
AttentionGradients attention_backward(const Array& q, const Array& k, const Array& v, const Array& d_out,
                                      const AttentionOptions& options = {});

// The same from what a forward pass has left, which is used as it is given: p = exp(capped - logsumexp).
struct ForwardResiduals {
  Array logsumexp;  // (batch, q_heads, q_len)
  Array delta;      // (batch, q_heads, q_len): each query's sum of out * d_out
};
AttentionGradients attention_backward(const Array& q, const Array& k, const Array& v, const Array& d_out,
                                      const ForwardResiduals& residuals, const AttentionOptions& options);

// Attention of one query per sequence over keys that lie in pages.
// q(batch, q_heads, dim); k_pages, v_pages(kv_heads, pages, page_size, dim); lengths(batch): keys of each sequence;
// page_table(batch, pages_per_sequence): key t of sequence b is row t % page_size of page page_table(b, t / page_size).
// Result: (batch, q_heads, dim); zeros for a sequence of length 0. Uses scale and soft_cap of the options.
Array paged_attention(const Array& q, const Array& k_pages, const Array& v_pages, const Array& lengths,
                      const Array& page_table, const AttentionOptions& options = {});

}  // namespace tilecheck::reference
