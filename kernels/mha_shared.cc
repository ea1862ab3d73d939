// Parameters, windows, masks, made-up operands and expected results of multi-head attention's three kernels.
#include <cmath>
#include <limits>

#include "harness/fill.h"
#include "harness/format.h"
#include "harness/reference_array.h"
#include "kernels/mha.h"
#include "kernels/naive.h"
#include "kernels/segments.h"
#include "kernels/tiling.h"

namespace tilecheck {

std::vector<Param> Mha::params() {
  return {dtype_param("dtype", DType::f32, {DType::f32, DType::bf16, DType::f16}, "element type of the arrays"),
          int_param("batch", 2, "sequences", {1, 2}),
          int_param("heads", 4, "heads", {1, 3}),
          int_param("len", 512, "queries, and keys too unless kv_len says otherwise", {1, 8, 65, 130}),
          int_param("kv_len", 0, "keys; 0: as many as queries", {0, 1, 100}, 0),
          int_param("head_dim", 64, "elements of a query or key", {64, 80, 128}),
          int_param("block_q", 128, "forward: queries in a block", {8, 64}),
          int_param("block_k", 128, "forward: keys in a block", {32, 128}),
          int_param("block_q_dkv", 128, "gradients of k and v: queries in a block", {16, 128}),
          int_param("block_kv_dkv", 128, "gradients of k and v: keys in a block", {16, 64}),
          int_param("block_q_dq", 128, "gradient of q: queries in a block", {16, 64}),
          int_param("block_kv_dq", 128, "gradient of q: keys in a block", {16, 128}),
          bool_param("causal", false, "query i sees keys 0 to i only"),
          bool_param("segment_ids", false, "segment ids as operands: a query sees keys of its own segment"),
          number_param("sm_scale", 0, "logits are multiplied by it; 0: 1 / sqrt(head_dim)", {0, 0.5}),
          bool_param("return_residuals", false, "forward: the log of each query's sum of exp(logits) is a result too")};
}

Mha::Mha(const ParamValues& values)
    : dtype(values.dtype("dtype")),
      batch(values.integer("batch")),
      heads(values.integer("heads")),
      q_len(values.integer("len")),
      kv_len(values.integer("kv_len") == 0 ? q_len : values.integer("kv_len")),
      head_dim(values.integer("head_dim")),
      block_q(values.integer("block_q")),
      block_k(values.integer("block_k")),
      block_q_dkv(values.integer("block_q_dkv")),
      block_kv_dkv(values.integer("block_kv_dkv")),
      block_q_dq(values.integer("block_q_dq")),
      block_kv_dq(values.integer("block_kv_dq")),
      causal(values.flag("causal")),
      segment_ids(values.flag("segment_ids")),
      sm_scale(values.number("sm_scale") == 0 ? 1 / std::sqrt(static_cast<double>(head_dim))
                                              : values.number("sm_scale")),
      return_residuals(values.flag("return_residuals")) {}

std::string Mha::headline() const {
  std::string text = q_shape() == kv_shape()
                         ? "q,k,v " + array_text(dtype, q_shape())
                         : "q " + array_text(dtype, q_shape()) + ", k,v " + array_text(dtype, kv_shape());
  if (causal) text += "   causal";
  if (segment_ids) text += "   segments";
  return text;
}

// ---- Windows. Grid axes are (blocks, batch, heads).

Window mha_window(const char* name, const Mha& p, const Shape& array, int64_t block, Shown shown, Loc at) {
  const bool all = shown == Shown::all;
  return {.name = name,
          .dtype = p.dtype,
          .array = array,
          .block = {BlockDim::squeezed(), all ? round_up(array[1], block) : block, p.heads, p.head_dim},
          .index =
              [all](Index i, Index b, Index) {
                return Indices{b, all ? 0 : i, 0, 0};
              },
          .at = at};
}

Window mha_rows_window(const char* name, const Mha& p, int64_t block, Shown shown, Loc at) {
  const bool all = shown == Shown::all;
  return {.name = name,
          .dtype = DType::f32,
          .array = p.row_shape(),
          .block = {BlockDim::squeezed(), BlockDim::squeezed(), all ? round_up(p.q_len, block) : block, 1},
          .index =
              [all](Index i, Index b, Index h) {
                return Indices{b, h, all ? 0 : i, 0};
              },
          .at = at};
}

Window mha_q_segments_window(const Mha& p, int64_t block, Shown shown, Loc at) {
  const bool all = shown == Shown::all;
  return {.name = "q_segments",
          .dtype = DType::i32,
          .array = {p.batch, p.q_len, 1},
          .block = {BlockDim::squeezed(), all ? round_up(p.q_len, block) : block, 1},
          .index =
              [all](Index i, Index b, Index) {
                return Indices{b, all ? 0 : i, 0};
              },
          .at = at};
}

Window mha_kv_segments_window(const Mha& p, int64_t block, Shown shown, Loc at) {
  const bool all = shown == Shown::all;
  return {.name = "kv_segments",
          .dtype = DType::i32,
          .array = {p.batch, 1, p.kv_len},
          .block = {BlockDim::squeezed(), 1, all ? round_up(p.kv_len, block) : block},
          .index =
              [all](Index i, Index b, Index) {
                return Indices{b, 0, all ? 0 : i};
              },
          .at = at};
}

Tile mha_mask(const Mha& p, Core& core, const MhaBlock& block, const Tile& q_segments, const Tile& kv_segments) {
  Tile mask;
  const auto require = [&](Tile more) {
    mask = mask.has_value() ? std::move(mask) & std::move(more) : std::move(more);
  };
  if (p.causal && block.first_key + block.columns - 1 > block.first_query) {  // the diagonal cuts the block
    const Tile queries =
        core.iota(DType::i32, {block.rows, 1}, 0) + static_cast<double>(block.first_query - block.first_key);
    require(ge(queries, core.iota(DType::i32, {1, block.columns}, 1)));
  }
  if (p.segment_ids) require(eq(q_segments, kv_segments));
  const int64_t keys = p.kv_len - block.first_key;
  if (keys < block.columns) require(first_columns(core, block.columns, keys));
  return mask;
}

// ---- Operands made up.

namespace {

// References are (batch, heads, length, head_dim); kernels (batch, length, heads, head_dim).
reference::Array heads_first(const HostArray& array) { return permute(to_reference(array), {0, 2, 1, 3}); }
HostArray length_first(const reference::Array& array) { return from_reference(permute(array, {0, 2, 1, 3})); }

// The options of a reference, and the ids they point to. ids: q's, then kv's; empty without them.
struct ReferenceOptions {
  reference::Array q_segments, kv_segments;
  reference::AttentionOptions options;
  ReferenceOptions(const Mha& p, std::span<const HostArray> ids) : options{.scale = p.sm_scale, .causal = p.causal} {
    if (ids.empty()) return;
    q_segments = {{p.batch, p.q_len}, to_reference(ids[0]).values};
    kv_segments = {{p.batch, p.kv_len}, to_reference(ids[1]).values};
    options.q_segment_ids = &q_segments;
    options.kv_segment_ids = &kv_segments;
  }
  ReferenceOptions(const ReferenceOptions&) = delete;
  ReferenceOptions& operator=(const ReferenceOptions&) = delete;
};

InputHint segments_hint(const Shape& shape) {
  return {.values = [shape](uint64_t seed, int) { return packed_segments(shape, seed); }};
}

// What the forward pass leaves for the backward one: logsumexp and delta, the sum of o * d_out.
struct Residuals {
  HostArray logsumexp, delta;
};
// in: the operands of the backward pass; logsumexp and delta themselves are not looked at.
Residuals residuals_of(const Mha& p, std::span<const HostArray> in) {
  const ReferenceOptions options(p, in.subspan(6));
  const reference::AttentionResult r =
      reference::attention(heads_first(in[0]), heads_first(in[1]), heads_first(in[2]), options.options);
  const reference::Array d_out = heads_first(in[3]);
  Residuals result{HostArray(DType::f32, p.row_shape()), HostArray(DType::f32, p.row_shape())};
  for (int64_t row = 0; row < result.delta.size(); ++row) {
    double sum = 0;
    for (int64_t c = 0; c < p.head_dim; ++c) {
      const auto at = static_cast<size_t>(row * p.head_dim + c);
      sum += r.out.values[at] * d_out.values[at];
    }
    result.delta.set(row, sum);
    result.logsumexp.set(row, r.logsumexp.values[static_cast<size_t>(row)]);
  }
  return result;
}

}  // namespace

std::vector<InputHint> mha_forward_hints(const Mha& p) {
  std::vector<InputHint> hints(3);
  if (p.segment_ids) {
    hints.push_back(segments_hint({p.batch, p.q_len, 1}));
    hints.push_back(segments_hint({p.batch, 1, p.kv_len}));
  }
  return hints;
}

std::vector<InputHint> mha_backward_hints(const Mha& p) {
  std::vector<InputHint> hints(4);
  hints.push_back({.derived = [p](std::span<const HostArray> in) { return residuals_of(p, in).logsumexp; }});
  hints.push_back({.derived = [p](std::span<const HostArray> in) { return residuals_of(p, in).delta; }});
  if (p.segment_ids) {
    hints.push_back(segments_hint({p.batch, p.q_len, 1}));
    hints.push_back(segments_hint({p.batch, 1, p.kv_len}));
  }
  return hints;
}

// ---- What the results should be.

Arrays mha_forward_reference(const Mha& p, std::span<const HostArray> in) {
  const ReferenceOptions options(p, in.subspan(3));
  const reference::AttentionResult r =
      reference::attention(heads_first(in[0]), heads_first(in[1]), heads_first(in[2]), options.options);
  Arrays results{length_first(r.out)};
  if (p.return_residuals) results.push_back(from_reference({{p.batch, p.heads, p.q_len, 1}, r.logsumexp.values}));
  return results;
}

Arrays mha_backward_reference(const Mha& p, std::span<const HostArray> in) {
  const ReferenceOptions options(p, in.subspan(6));
  const auto rows = [&](const HostArray& array) {
    return reference::Array({p.batch, p.heads, p.q_len}, to_reference(array).values);
  };
  const reference::AttentionGradients g =
      reference::attention_backward(heads_first(in[0]), heads_first(in[1]), heads_first(in[2]), heads_first(in[3]),
                                    {rows(in[4]), rows(in[5])}, options.options);
  return {length_first(g.dq), length_first(g.dk), length_first(g.dv)};
}

namespace {

// Head h of batch b of a (batch, length, heads, head_dim) array.
Tile head_of(Naive& naive, const HostArray& array, int64_t b, int64_t h) {
  const Tile all = naive.tile(array, {b});
  const Shape& shape = all.shape();
  return reshape(slice(all, {0, h, 0}, {shape[0], 1, shape[2]}), {shape[0], shape[2]});
}

void write_head(const Tile& tile, HostArray& array, int64_t b, int64_t h) {
  const int64_t heads = array.shape()[2], dim = array.shape()[3];
  for (int64_t t = 0; t < array.shape()[1]; ++t)
    Naive::write(slice(tile, {t, 0}, {1, dim}), array, ((b * array.shape()[1] + t) * heads + h) * dim);
}

Tile naive_mask(const Mha& p, Naive& naive, std::span<const HostArray> ids, int64_t b) {
  Tile mask;
  if (p.causal) mask = ge(naive.iota({p.q_len, 1}, 0), naive.iota({1, p.kv_len}, 1));
  if (p.segment_ids) {
    const Tile same = eq(naive.tile(ids[0], {b}), naive.tile(ids[1], {b}));
    mask = mask.has_value() ? mask & same : same;
  }
  return mask;
}

}  // namespace

Arrays mha_forward_naive(const Mha& p, std::span<const HostArray> in, Numerics numerics) {
  constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();
  Naive naive(numerics);
  Arrays results{HostArray(p.dtype, p.q_shape()), HostArray(DType::f32, p.row_shape())};
  for (int64_t b = 0; b < p.batch; ++b) {
    const Tile mask = naive_mask(p, naive, in.subspan(3), b);
    for (int64_t h = 0; h < p.heads; ++h) {
      const Tile q = head_of(naive, in[0], b, h), k = head_of(naive, in[1], b, h), v = head_of(naive, in[2], b, h);
      Tile s = matmul(q, k, DotDims::transposed_rhs()) * p.sm_scale;
      if (mask.has_value()) s = keep_where(mask, s, kMinusInfinity);
      const Tile m = reduce_max(s, {1}, true);
      const Tile weights = exp(s - keep_where(gt(m, kMinusInfinity), m, 0));
      const Tile l = reduce_sum(weights, {1}, true);
      const Tile probabilities = convert(weights / keep_where(ne(l, 0), l, 1), p.dtype);
      write_head(convert(matmul(probabilities, v), p.dtype), results[0], b, h);
      Naive::write(m + log(l), results[1], (b * p.heads + h) * p.q_len);
    }
  }
  if (!p.return_residuals) results.resize(1);
  return results;
}

Arrays mha_backward_naive(const Mha& p, std::span<const HostArray> in, Numerics numerics) {
  const DotDims transposed_lhs{{0}, {0}, {1}, {1}, {}, {}, {}};
  Naive naive(numerics);
  Arrays results{HostArray(p.dtype, p.q_shape()), HostArray(p.dtype, p.kv_shape()), HostArray(p.dtype, p.kv_shape())};
  for (int64_t b = 0; b < p.batch; ++b) {
    const Tile mask = naive_mask(p, naive, in.subspan(6), b);
    for (int64_t h = 0; h < p.heads; ++h) {
      const Tile q = head_of(naive, in[0], b, h), k = head_of(naive, in[1], b, h), v = head_of(naive, in[2], b, h);
      const Tile d_out = head_of(naive, in[3], b, h);
      const Tile logsumexp = naive.tile(in[4], {b, h}), delta = naive.tile(in[5], {b, h});
      Tile weights = exp(matmul(q, k, DotDims::transposed_rhs()) * p.sm_scale - logsumexp);
      if (mask.has_value()) weights = keep_where(mask, weights, 0);
      const Tile ds_tile = convert(weights * (matmul(d_out, v, DotDims::transposed_rhs()) - delta), p.dtype);
      write_head(convert(matmul(ds_tile, k) * p.sm_scale, p.dtype), results[0], b, h);
      write_head(convert(matmul(ds_tile, q, transposed_lhs) * p.sm_scale, p.dtype), results[1], b, h);
      write_head(convert(matmul(convert(weights, p.dtype), d_out, transposed_lhs), p.dtype), results[2], b, h);
    }
  }
  return results;
}

}  // namespace tilecheck
