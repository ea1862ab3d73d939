// paged_attention: one query per sequence and head looks at keys that lie scattered in pages.
#pragma once

#include "harness/kernel.h"

namespace tilecheck {

struct PagedAttention {
  explicit PagedAttention(const ParamValues& values);
  static std::vector<Param> params();

  DType dtype;
  int64_t batch, kv_heads, group, dim, page_size, pages_per_sequence, block_pages;
  double scale;

  int64_t block_keys() const { return block_pages * page_size; }
  int64_t max_length() const { return pages_per_sequence * page_size; }
};

// A body's Refs by name. lengths: [batch]; page_table: [batch, pages per sequence]; pages: [kv_heads, pages, page_size,
// dim] in HBM; q, o: [group, dim]; slots: two of [block_pages, page_size, dim], with a DMA semaphore each.
struct PagedAttentionRefs {
  explicit PagedAttentionRefs(std::span<const Ref> refs);
  Ref lengths, page_table, q, k_pages, v_pages, o, k_slots, v_slots, k_done, v_done, m, l, acc;
};

KernelCase paged_attention_case(const PagedAttention& p);

// The softmax over blocks of keys, for bodies: m, l and acc before the first block, one block's share of them, and the
// result. keys: of the sequence, from the block's first on.
void paged_begin(Core& core, const PagedAttentionRefs& refs);
Tile paged_logits(const PagedAttention& p, Core& core, const PagedAttentionRefs& refs, int64_t slot, int64_t keys);
void paged_add(const PagedAttention& p, Core& core, const PagedAttentionRefs& refs, int64_t slot, int64_t keys,
               const Tile& logits);
void paged_finish(Core& core, const PagedAttentionRefs& refs);

}  // namespace tilecheck
