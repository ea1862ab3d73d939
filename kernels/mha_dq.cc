// Multi-head attention, backward: the gradient of q.
//
// With logits s = q k^T * scale, weights p = exp(s - logsumexp) and o = p v, the gradient by the logits is
// ds = p * (d_out v^T - delta), where delta is each query's sum of o * d_out, and dq = ds k * scale. Each query's row
// needs all its keys and nothing of other queries: grid (q blocks, batch, heads) as in the forward kernel, a loop over
// key blocks inside, and dq summed in registers. The weights are made anew from q, k and logsumexp: reading them back
// would cost q_len x kv_len elements of HBM traffic, which is what this family of kernels avoids.
#include "kernels/list.h"
#include "kernels/mha.h"
#include "kernels/tiling.h"
#include "kernels/twins.h"

namespace tilecheck {
namespace {

struct Refs {
  Ref q, d_out, dq;             // [block_q_dq, heads, head_dim]
  Ref k, v;                     // [kv_len rounded up, heads, head_dim]
  Ref logsumexp, delta;         // [block_q_dq, 1]
  Ref q_segments, kv_segments;  // [block_q_dq, 1], [1, kv_len rounded up]
  Refs(const Mha& p, std::span<const Ref> refs) {
    auto next = refs.begin();
    q = *next++, k = *next++, v = *next++, d_out = *next++, logsumexp = *next++, delta = *next++;
    if (p.segment_ids) q_segments = *next++, kv_segments = *next++;
    dq = *next++;
  }
};

void body(const Mha& p, Core& core, const Refs& refs) {
  const int64_t first_query = core.program_id(0) * p.block_q_dq, head = core.program_id(2);
  const Tile q = core.load(refs.q({all(), head})), d_out = core.load(refs.d_out({all(), head}));
  const Tile logsumexp = core.load(refs.logsumexp), delta = core.load(refs.delta);
  const Tile q_segments = p.segment_ids ? core.load(refs.q_segments) : Tile();
  Tile dq = core.full(DType::f32, {p.block_q_dq, p.head_dim}, 0);

  const int64_t keys = p.causal ? std::min(p.kv_len, first_query + p.block_q_dq) : p.kv_len;
  core.loop(0, block_count(keys, p.block_kv_dq), [&](int64_t j) {
    const MhaBlock block{first_query, p.block_q_dq, j * p.block_kv_dq, p.block_kv_dq};
    const Slice rows = ds(block.first_key, block.columns);
    // Keys that do not exist are 0: they add nothing to dq.
    const int64_t real = p.kv_len - block.first_key;
    const Tile k = load_first_rows(core, refs.k({rows, head}), real);
    const Tile v = load_first_rows(core, refs.v({rows, head}), real);
    const Tile s = matmul(q, k, DotDims::transposed_rhs()) * p.sm_scale;
    Tile weights = exp(s - logsumexp);
    const Tile kv_segments = p.segment_ids ? core.load(refs.kv_segments({all(), rows})) : Tile();
    const Tile mask = mha_mask(p, core, block, q_segments, kv_segments);
    if (mask.has_value()) weights = keep_where(mask, weights, 0);
    const Tile ds_tile = weights * (matmul(d_out, v, DotDims::transposed_rhs()) - delta);
    dq = matmul(convert(ds_tile, k.dtype()), k, DotDims::plain(), dq);
  });
  core.store(refs.dq({all(), head}), convert(dq * p.sm_scale, refs.dq.dtype));
}

}  // namespace

KernelCase mha_dq_case(const Mha& p) {
  const int64_t q = p.block_q_dq, kv = p.block_kv_dq;
  KernelCase c;
  c.spec.name = "mha_dq";
  c.spec.at = here();
  c.spec.grid = {block_count(p.q_len, q), p.batch, p.heads};
  c.spec.semantics = {Semantics::parallel, Semantics::parallel, Semantics::arbitrary};  // heads share the block of dq
  c.spec.in = {mha_window("q", p, p.q_shape(), q, Shown::block, here()),
               mha_window("k", p, p.kv_shape(), kv, Shown::all, here()),
               mha_window("v", p, p.kv_shape(), kv, Shown::all, here()),
               mha_window("d_out", p, p.q_shape(), q, Shown::block, here()),
               mha_rows_window("logsumexp", p, q, Shown::block, here()),
               mha_rows_window("delta", p, q, Shown::block, here())};
  if (p.segment_ids) {
    c.spec.in.push_back(mha_q_segments_window(p, q, Shown::block, here()));
    c.spec.in.push_back(mha_kv_segments_window(p, kv, Shown::all, here()));
  }
  c.spec.out = {mha_window("dq", p, p.q_shape(), q, Shown::block, here())};
  c.body = [p](Core& core, std::span<const Ref> refs) { body(p, core, Refs(p, refs)); };
  c.hints = mha_backward_hints(p);
  c.is_inexact_on_integers = true;
  c.reference = [p](std::span<const HostArray> in) { return Arrays{mha_backward_reference(p, in)[0]}; };
  c.naive = [p](std::span<const HostArray> in, Numerics numerics) {
    return Arrays{mha_backward_naive(p, in, numerics)[0]};
  };
  c.rules = {{.naive_factor = 3}};
  c.headline = p.headline();
  return c;
}

Kernel mha_dq_kernel() {
  return {.name = "mha_dq",
          .summary = "multi-head attention, backward: the gradient of q",
          .params = Mha::params(),
          .make = [](const ParamValues& values) { return mha_dq_case(Mha(values)); },
          .broken = mha_dq_twins()};
}

}  // namespace tilecheck
