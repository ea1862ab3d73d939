// Multi-head attention, backward: the gradients of k and v.
//
// The mirror image of mha_dq: a key's gradient needs all queries that see it, so the grid goes over key blocks and the
// loop inside over query blocks. With the weights p and ds as there, dv = p^T d_out and dk = ds^T q * scale. Causal:
// the first query that sees a key is the one at its own place, so the loop begins at that query's block.
//
// Queries beyond q_len are undefined in the last block, and here they are summed over: q, d_out, logsumexp and delta
// are zeroed there, which makes their ds and their share of dv 0, whatever the mask says of them.
#include "kernels/list.h"
#include "kernels/mha.h"
#include "kernels/tiling.h"
#include "kernels/twins.h"

namespace tilecheck {
namespace {

struct Refs {
  Ref q, d_out;                 // [q_len rounded up, heads, head_dim]
  Ref k, v, dk, dv;             // [block_kv_dkv, heads, head_dim]
  Ref logsumexp, delta;         // [q_len rounded up, 1]
  Ref q_segments, kv_segments;  // [q_len rounded up, 1], [1, block_kv_dkv]
  Refs(const Mha& p, std::span<const Ref> refs) {
    auto next = refs.begin();
    q = *next++, k = *next++, v = *next++, d_out = *next++, logsumexp = *next++, delta = *next++;
    if (p.segment_ids) q_segments = *next++, kv_segments = *next++;
    dk = *next++, dv = *next++;
  }
};

// [m, k] x [m, n], summed over m: lhs^T rhs without transposing.
DotDims transposed_lhs() { return {{0}, {0}, {1}, {1}, {}, {}, {}}; }

void body(const Mha& p, Core& core, const Refs& refs) {
  const int64_t first_key = core.program_id(0) * p.block_kv_dkv, head = core.program_id(2);
  const Tile k = core.load(refs.k({all(), head})), v = core.load(refs.v({all(), head}));
  const Tile kv_segments = p.segment_ids ? core.load(refs.kv_segments) : Tile();
  Tile dk = core.full(DType::f32, {p.block_kv_dkv, p.head_dim}, 0);
  Tile dv = core.full(DType::f32, {p.block_kv_dkv, p.head_dim}, 0);

  const int64_t first_block = p.causal ? first_key / p.block_q_dkv : 0;
  core.loop(first_block, block_count(p.q_len, p.block_q_dkv), [&](int64_t i) {
    const MhaBlock block{i * p.block_q_dkv, p.block_q_dkv, first_key, p.block_kv_dkv};
    const Slice rows = ds(block.first_query, block.rows);
    const int64_t real = p.q_len - block.first_query;
    const Tile q = load_first_rows(core, refs.q({rows, head}), real);
    const Tile d_out = load_first_rows(core, refs.d_out({rows, head}), real);
    const Tile logsumexp = load_first_rows(core, refs.logsumexp({rows}), real);
    const Tile delta = load_first_rows(core, refs.delta({rows}), real);
    const Tile s = matmul(q, k, DotDims::transposed_rhs()) * p.sm_scale;
    Tile weights = exp(s - logsumexp);
    const Tile q_segments = p.segment_ids ? load_first_rows(core, refs.q_segments({rows}), real) : Tile();
    const Tile mask = mha_mask(p, core, block, q_segments, kv_segments);
    if (mask.has_value()) weights = keep_where(mask, weights, 0);
    const Tile ds_tile = weights * (matmul(d_out, v, DotDims::transposed_rhs()) - delta);
    dv = matmul(convert(weights, d_out.dtype()), d_out, transposed_lhs(), dv);
    dk = matmul(convert(ds_tile, q.dtype()), q, transposed_lhs(), dk);
  });
  core.store(refs.dk({all(), head}), convert(dk * p.sm_scale, refs.dk.dtype));
  core.store(refs.dv({all(), head}), convert(dv, refs.dv.dtype));
}

}  // namespace

KernelCase mha_dkv_case(const Mha& p) {
  const int64_t q = p.block_q_dkv, kv = p.block_kv_dkv;
  KernelCase c;
  c.spec.name = "mha_dkv";
  c.spec.at = here();
  c.spec.grid = {block_count(p.kv_len, kv), p.batch, p.heads};
  c.spec.semantics = {Semantics::parallel, Semantics::parallel, Semantics::arbitrary};  // heads share dk's and dv's
  c.spec.in = {mha_window("q", p, p.q_shape(), q, Shown::all, here()),
               mha_window("k", p, p.kv_shape(), kv, Shown::block, here()),
               mha_window("v", p, p.kv_shape(), kv, Shown::block, here()),
               mha_window("d_out", p, p.q_shape(), q, Shown::all, here()),
               mha_rows_window("logsumexp", p, q, Shown::all, here()),
               mha_rows_window("delta", p, q, Shown::all, here())};
  if (p.segment_ids) {
    c.spec.in.push_back(mha_q_segments_window(p, q, Shown::all, here()));
    c.spec.in.push_back(mha_kv_segments_window(p, kv, Shown::block, here()));
  }
  c.spec.out = {mha_window("dk", p, p.kv_shape(), kv, Shown::block, here()),
                mha_window("dv", p, p.kv_shape(), kv, Shown::block, here())};
  c.body = [p](Core& core, std::span<const Ref> refs) { body(p, core, Refs(p, refs)); };
  c.hints = mha_backward_hints(p);
  const auto last_two = [](const Arrays& all) { return Arrays{all[1], all[2]}; };
  c.is_inexact_on_integers = true;
  c.reference = [p, last_two](std::span<const HostArray> in) { return last_two(mha_backward_reference(p, in)); };
  c.naive = [p, last_two](std::span<const HostArray> in, Numerics numerics) {
    return last_two(mha_backward_naive(p, in, numerics));
  };
  c.rules = {{.naive_factor = 3}, {.naive_factor = 3}};
  c.headline = p.headline();
  return c;
}

Kernel mha_dkv_kernel() {
  return {.name = "mha_dkv",
          .summary = "multi-head attention, backward: the gradients of k and v",
          .params = Mha::params(),
          .make = [](const ParamValues& values) { return mha_dkv_case(Mha(values)); },
          .broken = mha_dkv_twins()};
}

}  // namespace tilecheck
