// Multi-head attention, forward: the loop over keys runs inside the body.
//
// Grid (q blocks, batch, heads). Arrays are (batch, length, heads, head_dim), so a block of one head would be strided
// in HBM and illegal on the chip (the last two dimensions of a block are whole or multiples of 8 and 128): windows hold
// all heads, and the body takes its own, [rows, head h, :], by a sublane-strided load. Heads are the fastest axis: the
// blocks of q and o stay while it runs, each head filling its part of o, and k and v change only with the batch.
//
// k and v are whole in VMEM, rounded up to whole blocks of block_k so that the last block is read inside the window;
// what lies beyond kv_len is undefined and masked. The running maximum, sum and result live in registers across the
// loop, not in scratch: compare flash_attention, which keeps its keys in HBM and pays with scratch traffic.
#include "kernels/mha.h"

#include <limits>

#include "kernels/list.h"
#include "kernels/tiling.h"
#include "kernels/twins.h"

namespace tilecheck {
namespace {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

struct Refs {
  Ref q, o;                     // [block_q, heads, head_dim]
  Ref k, v;                     // [kv_len rounded up, heads, head_dim]
  Ref q_segments, kv_segments;  // [block_q, 1], [1, kv_len rounded up]
  Ref logsumexp;                // [block_q, 1]
  Refs(const Mha& p, std::span<const Ref> refs) {
    auto next = refs.begin();
    q = *next++, k = *next++, v = *next++;
    if (p.segment_ids) q_segments = *next++, kv_segments = *next++;
    o = *next++;
    if (p.return_residuals) logsumexp = *next++;
  }
};

void body(const Mha& p, Core& core, const Refs& refs) {
  const int64_t first_query = core.program_id(0) * p.block_q, head = core.program_id(2);
  const Tile q = core.load(refs.q({all(), head}));
  Tile m = core.full(DType::f32, {p.block_q, 1}, kMinusInfinity);  // each query's largest logit so far
  Tile l = core.full(DType::f32, {p.block_q, 1}, 0);               // its sum of exp(logit - m)
  Tile acc = core.full(DType::f32, {p.block_q, p.head_dim}, 0);    // its sum of exp(logit - m) v
  const Tile q_segments = p.segment_ids ? core.load(refs.q_segments) : Tile();

  // Causal: no query of this block sees a key beyond its last one.
  const int64_t keys = p.causal ? std::min(p.kv_len, first_query + p.block_q) : p.kv_len;
  core.loop(0, block_count(keys, p.block_k), [&](int64_t j) {
    const MhaBlock block{first_query, p.block_q, j * p.block_k, p.block_k};
    const Slice rows = ds(block.first_key, block.columns);
    Tile s = matmul(q, core.load(refs.k({rows, head})), DotDims::transposed_rhs()) * p.sm_scale;
    const Tile kv_segments = p.segment_ids ? core.load(refs.kv_segments({all(), rows})) : Tile();
    const Tile mask = mha_mask(p, core, block, q_segments, kv_segments);
    if (mask.has_value()) s = keep_where(mask, s, kMinusInfinity);

    const Tile m_new = maximum(m, reduce_max(s, {1}, true));
    const Tile shift = keep_where(gt(m_new, kMinusInfinity), m_new, 0);  // 0 while a row has seen no key
    const Tile weights = exp(std::move(s) - shift);
    const Tile rescale = exp(m - shift);
    m = m_new;
    l = l * rescale + reduce_sum(weights, {1}, true);
    const Tile v = load_first_rows(core, refs.v({rows, head}), p.kv_len - block.first_key);
    acc = matmul(convert(weights, v.dtype()), v, DotDims::plain(), acc * rescale);
  });

  const Tile divisor = keep_where(ne(l, 0), l, 1);  // rows that see no key: 0 / 1
  core.store(refs.o({all(), head}), convert(acc / divisor, refs.o.dtype));
  if (p.return_residuals) core.store(refs.logsumexp, m + log(l));
}

}  // namespace

KernelCase mha_case(const Mha& p) {
  KernelCase c;
  c.spec.name = "mha";
  c.spec.at = here();
  c.spec.grid = {block_count(p.q_len, p.block_q), p.batch, p.heads};
  c.spec.semantics = {Semantics::parallel, Semantics::parallel, Semantics::arbitrary};  // heads share the block of o
  c.spec.in = {mha_window("q", p, p.q_shape(), p.block_q, Shown::block, here()),
               mha_window("k", p, p.kv_shape(), p.block_k, Shown::all, here()),
               mha_window("v", p, p.kv_shape(), p.block_k, Shown::all, here())};
  if (p.segment_ids) {
    c.spec.in.push_back(mha_q_segments_window(p, p.block_q, Shown::block, here()));
    c.spec.in.push_back(mha_kv_segments_window(p, p.block_k, Shown::all, here()));
  }
  c.spec.out = {mha_window("o", p, p.q_shape(), p.block_q, Shown::block, here())};
  if (p.return_residuals) c.spec.out.push_back(mha_rows_window("logsumexp", p, p.block_q, Shown::block, here()));
  c.body = [p](Core& core, std::span<const Ref> refs) { body(p, core, Refs(p, refs)); };
  c.hints = mha_forward_hints(p);
  c.is_inexact_on_integers = true;
  c.reference = [p](std::span<const HostArray> in) { return mha_forward_reference(p, in); };
  c.naive = [p](std::span<const HostArray> in, Numerics numerics) { return mha_forward_naive(p, in, numerics); };
  c.headline = p.headline();
  return c;
}

Kernel mha_kernel() {
  return {.name = "mha",
          .summary = "multi-head attention, forward: q blocks x batch x heads, the loop over keys inside",
          .params = Mha::params(),
          .make = [](const ParamValues& values) { return mha_case(Mha(values)); },
          .broken = mha_twins()};
}

}  // namespace tilecheck
