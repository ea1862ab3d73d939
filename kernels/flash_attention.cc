// Flash attention: softmax(q k^T * scale) v without ever holding a row of logits.
//
// Grid (batch, heads, q blocks, kv blocks), kv innermost. For one q block the kernel sees the keys block by block and
// keeps, in VMEM scratch, what softmax needs of the past: the running maximum m and sum l of each row, and the
// unnormalised result acc. A new block that raises the maximum rescales the old sum and result by exp(m_old - m_new).
// The result is divided by l once, after the last block.
//
// Tiling. A larger block_q reads k and v fewer times (once per q block); a larger block_kv makes fewer, longer steps
// with fewer rescalings; the logits, block_q x block_kv in f32, are what fills VMEM first. Windows keep the whole head
// dimension. Segment ids are a column for queries and a row for keys, so that comparing them broadcasts to the logits'
// shape without moving data between sublanes and lanes.
//
// Causal. Blocks wholly above the diagonal are skipped by the body, and their index map says block 0, the block with
// which the next q block begins: nothing is fetched for a skipped step, and the next q block finds its first keys
// there.
//
// Edges. Keys beyond kv_len are undefined in the last block: their logits are masked like any other forbidden key, and
// v's rows are zeroed, as 0 times undefined would still be undefined. Queries beyond q_len are computed and never
// written back.
#include "kernels/flash_attention.h"

#include <cmath>
#include <limits>

#include "harness/format.h"
#include "harness/reference_array.h"
#include "kernels/list.h"
#include "kernels/naive.h"
#include "kernels/segments.h"
#include "kernels/tiling.h"
#include "kernels/twins.h"
#include "reference/attention.h"

namespace tilecheck {
namespace {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

// Which logits of q block i and kv block j count; without a value where all do.
Tile mask_of(const FlashAttention& p, Core& core, const FlashAttentionRefs& refs, int64_t i, int64_t j) {
  Tile mask;
  const auto require = [&](Tile more) {
    mask = mask.has_value() ? std::move(mask) & std::move(more) : std::move(more);
  };
  const int64_t first_query = i * p.block_q, first_key = j * p.block_kv;
  if (p.causal && first_key + p.block_kv - 1 > first_query) {  // the diagonal cuts the block
    const Tile queries = core.iota(DType::i32, {p.block_q, 1}, 0) + static_cast<double>(first_query - first_key);
    require(ge(queries, core.iota(DType::i32, {1, p.block_kv}, 1)));
  }
  if (p.segments) require(eq(core.load(refs.q_segments), core.load(refs.kv_segments)));
  if (first_key + p.block_kv > p.kv_len) require(first_columns(core, p.block_kv, p.kv_len - first_key));
  return mask;
}

void accumulate(const FlashAttention& p, Core& core, const FlashAttentionRefs& refs, int64_t i, int64_t j) {
  Tile s = matmul(core.load(refs.q), core.load(refs.k), DotDims::transposed_rhs()) * p.sm_scale;
  if (p.soft_cap != 0) s = tanh(s / p.soft_cap) * p.soft_cap;
  if (Tile mask = mask_of(p, core, refs, i, j); mask.has_value()) s = keep_where(mask, s, kMinusInfinity);

  const Tile m_old = core.load(refs.m);
  const Tile m_new = maximum(m_old, reduce_max(s, {1}, true));
  // A row that has seen no key yet has m = -infinity, and -infinity less itself would be NaN: such rows subtract 0.
  const Tile shift = keep_where(gt(m_new, kMinusInfinity), m_new, 0);
  const Tile weights = exp(std::move(s) - shift);
  const Tile rescale = exp(m_old - shift);
  core.store(refs.m, m_new);
  core.store(refs.l, core.load(refs.l) * rescale + reduce_sum(weights, {1}, true));

  const Tile v = load_first_rows(core, refs.v, p.kv_len - j * p.block_kv);
  core.store(refs.acc, matmul(convert(weights, v.dtype()), v, DotDims::plain(), core.load(refs.acc) * rescale));
}

void finish(const FlashAttention& p, Core& core, const FlashAttentionRefs& refs) {
  const Tile l = core.load(refs.l);
  // A row that sees no key has acc = 0 and l = 0, and its result is 0.
  const Tile divisor = keep_where(ne(l, 0), l, 1);
  core.store(refs.o, convert(core.load(refs.acc) / divisor, refs.o.dtype));
  if (!p.residuals) return;
  core.store(refs.l_result, l);
  core.store(refs.m_result, core.load(refs.m));
}

Body body_for(const FlashAttention& p) {
  return [p](Core& core, std::span<const Ref> all) {
    const FlashAttentionRefs refs(p, all);
    const int64_t i = core.program_id(2), j = core.program_id(3);
    core.when(j == 0, [&] {
      core.store(refs.m, kMinusInfinity);
      core.store(refs.l, 0);
      core.store(refs.acc, 0);
    });
    core.when(p.sees(i, j), [&] { accumulate(p, core, refs, i, j); });
    core.when(j == core.num_programs(3) - 1, [&] { finish(p, core, refs); });
  };
}

KernelSpec spec_for(const FlashAttention& p) {
  const BlockDim one = BlockDim::squeezed();
  const IndexMap q_map = [](Index b, Index h, Index i, Index) { return Indices{b, h, i, 0}; };
  // The kv block that step (i, j) looks at: 0 where it looks at none.
  const auto kv_block = [p](Index i, Index j) {
    return p.causal ? select(less(j * p.block_kv, (i + 1) * p.block_q), j, 0) : j;
  };
  const IndexMap kv_map = [kv_block](Index b, Index h, Index i, Index j) { return Indices{b, h, kv_block(i, j), 0}; };
  const auto window = [&](const char* name, DType dtype, Shape array, BlockShape block, const IndexMap& map, Loc at) {
    return Window{.name = name, .dtype = dtype, .array = array, .block = std::move(block), .index = map, .at = at};
  };
  const Shape q_shape{p.batch, p.heads, p.q_len, p.head_dim}, kv_shape{p.batch, p.heads, p.kv_len, p.head_dim};
  const BlockShape q_block{one, one, p.block_q, p.head_dim}, kv_block_shape{one, one, p.block_kv, p.head_dim};

  KernelSpec spec;
  spec.name = "flash_attention";
  spec.at = here();
  spec.grid = {p.batch, p.heads, block_count(p.q_len, p.block_q), block_count(p.kv_len, p.block_kv)};
  spec.semantics = {Semantics::parallel, Semantics::parallel, Semantics::parallel, Semantics::arbitrary};
  spec.in = {window("q", p.dtype, q_shape, q_block, q_map, here()),
             window("k", p.dtype, kv_shape, kv_block_shape, kv_map, here()),
             window("v", p.dtype, kv_shape, kv_block_shape, kv_map, here())};
  if (p.segments) {
    spec.in.push_back(window(
        "q_segments", DType::i32, {p.batch, p.q_len, 1}, {one, p.block_q, 1},
        [](Index b, Index, Index i, Index) {
          return Indices{b, i, 0};
        },
        here()));
    spec.in.push_back(window(
        "kv_segments", DType::i32, {p.batch, 1, p.kv_len}, {one, 1, p.block_kv},
        [kv_block](Index b, Index, Index i, Index j) {
          return Indices{b, 0, kv_block(i, j)};
        },
        here()));
  }
  spec.out = {window("o", p.dtype, q_shape, q_block, q_map, here())};
  if (p.residuals)
    for (const char* name : {"l", "m"})
      spec.out.push_back(
          window(name, DType::f32, {p.batch, p.heads, p.q_len, 1}, {one, one, p.block_q, 1}, q_map, here()));
  spec.scratch = {{.name = "running m", .shape = {p.block_q, 1}},
                  {.name = "running l", .shape = {p.block_q, 1}},
                  {.name = "acc", .shape = {p.block_q, p.head_dim}}};
  return spec;
}

Arrays reference_of(const FlashAttention& p, std::span<const HostArray> in) {
  reference::AttentionOptions options{.scale = p.sm_scale, .causal = p.causal, .soft_cap = p.soft_cap};
  reference::Array q_segments, kv_segments;
  if (p.segments) {
    q_segments = {{p.batch, p.q_len}, to_reference(in[3]).values};
    kv_segments = {{p.batch, p.kv_len}, to_reference(in[4]).values};
    options.q_segment_ids = &q_segments;
    options.kv_segment_ids = &kv_segments;
  }
  const reference::AttentionResult r =
      reference::attention(to_reference(in[0]), to_reference(in[1]), to_reference(in[2]), options);
  Arrays results{from_reference(r.out)};
  if (p.residuals)
    for (const reference::Array* a : {&r.l, &r.m})
      results.push_back(from_reference({{p.batch, p.heads, p.q_len, 1}, a->values}));
  return results;
}

// All keys of some queries of one head at once: softmax as the textbook has it, in the kernel's types.
struct NaiveRows {
  Tile o, l, m;
};
NaiveRows naive_rows(const FlashAttention& p, const Tile& q, const Tile& k, const Tile& v, const Tile& mask) {
  Tile s = matmul(q, k, DotDims::transposed_rhs()) * p.sm_scale;
  if (p.soft_cap != 0) s = tanh(s / p.soft_cap) * p.soft_cap;
  if (mask.has_value()) s = keep_where(mask, s, kMinusInfinity);
  const Tile m = reduce_max(s, {1}, true);
  const Tile weights = exp(s - keep_where(gt(m, kMinusInfinity), m, 0));
  const Tile l = reduce_sum(weights, {1}, true);
  const Tile probabilities = convert(weights / keep_where(ne(l, 0), l, 1), p.dtype);
  return {convert(matmul(probabilities, v), p.dtype), l, m};
}

Arrays naive_of(const FlashAttention& p, std::span<const HostArray> in, Numerics numerics) {
  constexpr int64_t kQueries = 256;  // handled together
  Arrays results{HostArray(p.dtype, in[0].shape()), HostArray(DType::f32, {p.batch, p.heads, p.q_len, 1}),
                 HostArray(DType::f32, {p.batch, p.heads, p.q_len, 1})};
  Naive naive(numerics);
  for (int64_t b = 0; b < p.batch; ++b)
    for (int64_t h = 0; h < p.heads; ++h) {
      const Tile k = naive.tile(in[1], {b, h}), v = naive.tile(in[2], {b, h});
      for (int64_t first = 0; first < p.q_len; first += kQueries) {
        const int64_t rows = std::min(kQueries, p.q_len - first);
        const Tile q = slice(naive.tile(in[0], {b, h}), {first, 0}, {rows, p.head_dim});
        Tile mask;
        if (p.causal) {
          const Tile queries = naive.iota({rows, 1}, 0) + static_cast<double>(first);
          mask = ge(queries, naive.iota({1, p.kv_len}, 1));
        }
        if (p.segments) {
          const Tile same = eq(slice(naive.tile(in[3], {b}), {first, 0}, {rows, 1}), naive.tile(in[4], {b}));
          mask = mask.has_value() ? mask & same : same;
        }
        const NaiveRows r = naive_rows(p, q, k, v, mask);
        const int64_t row = (b * p.heads + h) * p.q_len + first;
        Naive::write(r.o, results[0], row * p.head_dim);
        Naive::write(r.l, results[1], row);
        Naive::write(r.m, results[2], row);
      }
    }
  if (!p.residuals) results.resize(1);
  return results;
}

}  // namespace

FlashAttentionRefs::FlashAttentionRefs(const FlashAttention& p, std::span<const Ref> refs) {
  auto next = refs.begin();
  q = *next++, k = *next++, v = *next++;
  if (p.segments) q_segments = *next++, kv_segments = *next++;
  o = *next++;
  if (p.residuals) l_result = *next++, m_result = *next++;
  m = *next++, l = *next++, acc = *next++;
}

FlashAttention::FlashAttention(const ParamValues& values)
    : dtype(values.dtype("dtype")),
      batch(values.integer("batch")),
      heads(values.integer("heads")),
      q_len(values.integer("len")),
      kv_len(values.integer("kv_len") == 0 ? q_len : values.integer("kv_len")),
      head_dim(values.integer("head_dim")),
      block_q(values.integer("block_q")),
      block_kv(values.integer("block_kv")),
      causal(values.flag("causal")),
      segments(values.flag("segments")),
      soft_cap(values.number("soft_cap")),
      sm_scale(values.number("sm_scale") == 0 ? 1 / std::sqrt(static_cast<double>(head_dim))
                                              : values.number("sm_scale")),
      residuals(values.flag("residuals")) {}

std::vector<Param> FlashAttention::params() {
  return {dtype_param("dtype", DType::f32, {DType::f32, DType::bf16, DType::f16}, "element type of q, k, v and o"),
          int_param("batch", 1, "sequences", {1, 2}),
          int_param("heads", 2, "heads", {1, 3}),
          int_param("len", 1024, "queries, and keys too unless kv_len says otherwise", {1, 8, 65, 128, 200}),
          int_param("kv_len", 0, "keys; 0: as many as queries", {0, 1, 100, 128}, 0),
          int_param("head_dim", 128, "elements of a query or key", {64, 80, 128, 256}),
          int_param("block_q", 256, "queries in a block", {8, 64, 128}),
          int_param("block_kv", 256, "keys in a block", {32, 128}),
          bool_param("causal", false, "query i sees keys 0 to i only"),
          bool_param("segments", false, "segment ids as operands: a query sees keys of its own segment"),
          number_param("soft_cap", 0, "logits become soft_cap tanh(logits / soft_cap); 0: they stay", {0, 2}),
          number_param("sm_scale", 0, "logits are multiplied by it; 0: 1 / sqrt(head_dim)", {0, 0.5}),
          bool_param("residuals", false, "l and m of each query are results too")};
}

KernelCase flash_attention_case(const FlashAttention& p) {
  KernelCase c;
  c.spec = spec_for(p);
  c.body = body_for(p);
  if (p.segments) {
    c.hints.resize(5);
    c.hints[3].values = [p](uint64_t seed, int) { return packed_segments({p.batch, p.q_len, 1}, seed); };
    c.hints[4].values = [p](uint64_t seed, int) { return packed_segments({p.batch, 1, p.kv_len}, seed); };
  }
  c.is_inexact_on_integers = true;
  c.reference = [p](std::span<const HostArray> in) { return reference_of(p, in); };
  c.naive = [p](std::span<const HostArray> in, Numerics numerics) { return naive_of(p, in, numerics); };
  const Shape q_shape{p.batch, p.heads, p.q_len, p.head_dim}, kv_shape{p.batch, p.heads, p.kv_len, p.head_dim};
  c.headline = q_shape == kv_shape ? "q,k,v " + array_text(p.dtype, q_shape)
                                   : "q " + array_text(p.dtype, q_shape) + ", k,v " + array_text(p.dtype, kv_shape);
  if (p.causal) c.headline += "   causal";
  if (p.segments) c.headline += "   segments";
  return c;
}

Kernel flash_attention_kernel() {
  return {.name = "flash_attention",
          .summary = "softmax(q k^T * scale) v, keys block by block with a running maximum and sum",
          .params = FlashAttention::params(),
          .make = [](const ParamValues& values) { return flash_attention_case(FlashAttention(values)); },
          .broken = flash_attention_twins()};
}

}  // namespace tilecheck
