// Grid (sequences, key heads). Which page holds which keys stands in a table in scalar memory; a step copies the pages
// of its sequence to VMEM, block_pages at a time, and works on one block while the next is on its way.
//
// All pages of a block's keys share a semaphore, and so do those of its values: the wait is for all their bytes, of as
// many pages as the sequence has there. What lies beyond its length is masked, and in v zeroed, since 0 times undefined
// is undefined.
#include "kernels/paged_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/fill.h"
#include "harness/format.h"
#include "harness/reference_array.h"
#include "kernels/list.h"
#include "kernels/naive.h"
#include "kernels/tiling.h"
#include "kernels/twins.h"
#include "reference/attention.h"

namespace tilecheck {
namespace {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

// A head of a sequence on its way through blocks of pages.
struct Walk {
  const PagedAttention& p;
  const PagedAttentionRefs& refs;
  int64_t sequence, head, length;

  int64_t blocks() const { return block_count(length, p.block_keys()); }
  int64_t pages_of(int64_t block) const {
    return std::min(p.block_pages, block_count(length, p.page_size) - block * p.block_pages);
  }
  void fetch(Core& core, int64_t block) const {
    core.loop(0, pages_of(block), [&](int64_t i) {
      const int64_t page = core.load_index(refs.page_table({sequence, block * p.block_pages + i}));
      core.start_copy(refs.k_pages({head, page}), refs.k_slots({block % 2, i}), refs.k_done({block % 2}));
      core.start_copy(refs.v_pages({head, page}), refs.v_slots({block % 2, i}), refs.v_done({block % 2}));
    });
  }
  void wait(Core& core, const Ref& done, const Ref& slots, int64_t block) const {
    core.wait_bytes_of(done({block % 2}), slots({block % 2, ds(0, pages_of(block))}));
  }
};

Body body_for(const PagedAttention& p) {
  return [p](Core& core, std::span<const Ref> all) {
    const PagedAttentionRefs refs(all);
    const int64_t b = core.program_id(0);
    const Walk walk{p, refs, b, core.program_id(1), core.load_index(refs.lengths({b}))};
    paged_begin(core, refs);
    core.when(walk.blocks() > 0, [&] { walk.fetch(core, 0); });
    core.loop(0, walk.blocks(), [&](int64_t j) {
      core.when(j + 1 < walk.blocks(), [&] { walk.fetch(core, j + 1); });
      const int64_t keys = walk.length - j * p.block_keys();
      walk.wait(core, refs.k_done, refs.k_slots, j);
      const Tile logits = paged_logits(p, core, refs, j % 2, keys);
      walk.wait(core, refs.v_done, refs.v_slots, j);
      paged_add(p, core, refs, j % 2, keys, logits);
    });
    paged_finish(core, refs);
  };
}

KernelSpec spec_for(const PagedAttention& p) {
  const int64_t pages = p.batch * p.pages_per_sequence;
  const BlockDim one = BlockDim::squeezed();
  const Shape slots{2, p.block_pages, p.page_size, p.dim};
  const auto heads = [&](const char* name, Loc at) {
    return Window{.name = name,
                  .dtype = p.dtype,
                  .array = {p.batch, p.kv_heads, p.group, p.dim},
                  .block = {one, one, p.group, p.dim},
                  .index =
                      [](Index b, Index h) {
                        return Indices{b, h, 0, 0};
                      },
                  .at = at};
  };
  const auto paged = [&](const char* name, Loc at) {
    return Window{.name = name,
                  .dtype = p.dtype,
                  .array = {p.kv_heads, pages, p.page_size, p.dim},
                  .space = Space::any,
                  .at = at};
  };
  KernelSpec spec;
  spec.name = "paged_attention";
  spec.at = here();
  spec.grid = {p.batch, p.kv_heads};
  spec.semantics = {Semantics::parallel, Semantics::parallel};
  spec.prefetch = {{.name = "lengths", .shape = {p.batch}},
                   {.name = "page_table", .shape = {p.batch, p.pages_per_sequence}}};
  spec.in = {heads("q", here()), paged("k_pages", here()), paged("v_pages", here())};
  spec.out = {heads("o", here())};
  spec.scratch = {{.name = "k slots", .dtype = p.dtype, .shape = slots},
                  {.name = "v slots", .dtype = p.dtype, .shape = slots},
                  {.name = "k done", .dtype = DType::dma_semaphore, .shape = {2}, .space = Space::semaphore},
                  {.name = "v done", .dtype = DType::dma_semaphore, .shape = {2}, .space = Space::semaphore},
                  {.name = "running m", .shape = {p.group, 1}},
                  {.name = "running l", .shape = {p.group, 1}},
                  {.name = "acc", .shape = {p.group, p.dim}}};
  return spec;
}

// Lengths from 1 on, but 0 for sequence 1; tables that together hold each page once.
HostArray some_lengths(const PagedAttention& p, uint64_t seed) {
  HostArray lengths(DType::i32, {p.batch});
  for (int64_t b = 0; b < p.batch; ++b) {
    const uint64_t word = random_word(seed, 0, static_cast<uint64_t>(b)) % static_cast<uint64_t>(p.max_length());
    lengths.set(b, b == 1 ? 0 : 1 + static_cast<double>(word));
  }
  return lengths;
}
HostArray some_table(const PagedAttention& p, uint64_t seed) {
  HostArray table(DType::i32, {p.batch, p.pages_per_sequence});
  for (int64_t i = 0; i < table.size(); ++i) {
    const auto j = static_cast<int64_t>(random_word(seed, 1, static_cast<uint64_t>(i)) % static_cast<uint64_t>(i + 1));
    table.set(i, table.at(j));
    table.set(j, static_cast<double>(i));
  }
  return table;
}

// Whether lengths and page table name only what exists: given by the user, they may not.
bool is_valid(const PagedAttention& p, std::span<const HostArray> in) {
  const auto within = [](const HostArray& array, int64_t end) {
    for (int64_t i = 0; i < array.size(); ++i)
      if (array.at(i) < 0 || array.at(i) >= static_cast<double>(end)) return false;
    return true;
  };
  return within(in[0], p.max_length() + 1) && within(in[1], p.batch * p.pages_per_sequence);
}

Arrays reference_of(const PagedAttention& p, std::span<const HostArray> in) {
  if (!is_valid(p, in)) return {};
  const reference::Array q({p.batch, p.kv_heads * p.group, p.dim}, to_reference(in[2]).values);
  const reference::Array o = reference::paged_attention(q, to_reference(in[3]), to_reference(in[4]),
                                                        to_reference(in[0]), to_reference(in[1]), {.scale = p.scale});
  return {from_reference({{p.batch, p.kv_heads, p.group, p.dim}, o.values})};
}

// The keys, or values, of one sequence and head, one after another.
HostArray gathered(const PagedAttention& p, const HostArray& pages, const HostArray& table, int64_t b, int64_t h,
                   int64_t length) {
  HostArray rows(p.dtype, {length, p.dim});
  const int64_t all_pages = pages.shape()[1];
  for (int64_t t = 0; t < length; ++t) {
    const auto page = static_cast<int64_t>(table.at(b * p.pages_per_sequence + t / p.page_size));
    const int64_t row = (h * all_pages + page) * p.page_size + t % p.page_size;
    for (int64_t d = 0; d < p.dim; ++d) rows.set(t * p.dim + d, pages.at(row * p.dim + d));
  }
  return rows;
}

Arrays naive_of(const PagedAttention& p, std::span<const HostArray> in, Numerics numerics) {
  if (!is_valid(p, in)) return {};
  Arrays results{HostArray(p.dtype, in[2].shape())};
  Naive naive(numerics);
  for (int64_t b = 0; b < p.batch; ++b)
    for (int64_t h = 0; h < p.kv_heads; ++h) {
      const auto length = static_cast<int64_t>(in[0].at(b));
      if (length == 0) continue;
      const HostArray keys = gathered(p, in[3], in[1], b, h, length);
      const HostArray values = gathered(p, in[4], in[1], b, h, length);
      const Tile s = matmul(naive.tile(in[2], {b, h}), naive.tile(keys), DotDims::transposed_rhs()) * p.scale;
      const Tile weights = exp(s - reduce_max(s, {1}, true));
      const Tile probabilities = convert(weights / reduce_sum(weights, {1}, true), p.dtype);
      Naive::write(convert(matmul(probabilities, naive.tile(values)), p.dtype), results[0],
                   (b * p.kv_heads + h) * p.group * p.dim);
    }
  return results;
}

}  // namespace

PagedAttentionRefs::PagedAttentionRefs(std::span<const Ref> refs)
    : lengths(refs[0]),
      page_table(refs[1]),
      q(refs[2]),
      k_pages(refs[3]),
      v_pages(refs[4]),
      o(refs[5]),
      k_slots(refs[6]),
      v_slots(refs[7]),
      k_done(refs[8]),
      v_done(refs[9]),
      m(refs[10]),
      l(refs[11]),
      acc(refs[12]) {}

PagedAttention::PagedAttention(const ParamValues& values)
    : dtype(values.dtype("dtype")),
      batch(values.integer("batch")),
      kv_heads(values.integer("kv_heads")),
      group(values.integer("group")),
      dim(values.integer("head_dim")),
      page_size(values.integer("page_size")),
      pages_per_sequence(values.integer("pages_per_sequence")),
      block_pages(values.integer("block_pages")),
      scale(1 / std::sqrt(static_cast<double>(dim))) {}

std::vector<Param> PagedAttention::params() {
  return {dtype_param("dtype", DType::f32, {DType::f32, DType::bf16}, "element type of q, k, v and o"),
          int_param("batch", 4, "sequences", {1, 3}),
          int_param("kv_heads", 2, "heads of keys and values", {1, 2}),
          int_param("group", 8, "queries that look at one head of keys", {8, 1, 4}),
          int_param("head_dim", 128, "elements of a query or key", {128, 64}),
          int_param("page_size", 16, "keys in a page", {8, 16}),
          int_param("pages_per_sequence", 8, "pages that a sequence may have", {1, 4, 5}),
          int_param("block_pages", 2, "pages that are worked on together", {1, 2, 3})};
}

void paged_begin(Core& core, const PagedAttentionRefs& refs) {
  core.store(refs.m, kMinusInfinity);
  core.store(refs.l, 0);
  core.store(refs.acc, 0);
}

Tile paged_logits(const PagedAttention& p, Core& core, const PagedAttentionRefs& refs, int64_t slot, int64_t keys) {
  const Tile k = core.load(refs.k_slots({slot}).reshaped({p.block_keys(), p.dim}));
  Tile s = matmul(core.load(refs.q), k, DotDims::transposed_rhs()) * p.scale;
  return keys < p.block_keys() ? keep_where(first_columns(core, p.block_keys(), keys), std::move(s), kMinusInfinity)
                               : s;
}

void paged_add(const PagedAttention& p, Core& core, const PagedAttentionRefs& refs, int64_t slot, int64_t keys,
               const Tile& logits) {
  // A block has at least one key, so that the maximum is finite.
  const Tile m_old = core.load(refs.m), m_new = maximum(m_old, reduce_max(logits, {1}, true));
  const Tile weights = exp(logits - m_new), rescale = exp(m_old - m_new);
  core.store(refs.m, m_new);
  core.store(refs.l, core.load(refs.l) * rescale + reduce_sum(weights, {1}, true));
  const Tile v = load_first_rows(core, refs.v_slots({slot}).reshaped({p.block_keys(), p.dim}), keys);
  core.store(refs.acc, matmul(convert(weights, v.dtype()), v, DotDims::plain(), core.load(refs.acc) * rescale));
}

void paged_finish(Core& core, const PagedAttentionRefs& refs) {
  const Tile l = core.load(refs.l);
  // A sequence without keys has acc = 0 and l = 0, and its result is 0.
  core.store(refs.o, convert(core.load(refs.acc) / keep_where(ne(l, 0), l, 1), refs.o.dtype));
}

KernelCase paged_attention_case(const PagedAttention& p) {
  KernelCase c;
  c.spec = spec_for(p);
  c.body = body_for(p);
  c.hints.resize(2);
  c.hints[0].values = [p](uint64_t seed, int) { return some_lengths(p, seed); };
  c.hints[1].values = [p](uint64_t seed, int) { return some_table(p, seed); };
  c.is_inexact_on_integers = true;
  c.reference = [p](std::span<const HostArray> in) { return reference_of(p, in); };
  c.naive = [p](std::span<const HostArray> in, Numerics numerics) { return naive_of(p, in, numerics); };
  c.headline = "q " + array_text(p.dtype, c.spec.in[0].array) + ", k,v pages " +
               array_text(p.dtype, c.spec.in[1].array) + ", up to " + std::to_string(p.max_length()) + " keys";
  return c;
}

Kernel paged_attention_kernel() {
  return {.name = "paged_attention",
          .summary = "attention of one query per sequence over keys in pages, which are copied as a table says",
          .params = PagedAttention::params(),
          .make = [](const ParamValues& values) { return paged_attention_case(PagedAttention(values)); },
          .broken = paged_attention_twins()};
}

}  // namespace tilecheck
