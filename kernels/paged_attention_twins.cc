// Broken twins of paged_attention.
#include <algorithm>

#include "kernels/list.h"
#include "kernels/paged_attention.h"
#include "kernels/tiling.h"
#include "kernels/twins.h"

namespace tilecheck {
namespace {

enum class Flaw : uint8_t {
  v_not_awaited,
  one_page_awaited,
  k_and_v_share_semaphore,
  fetches_into_current_slot,
  awaits_whole_blocks,
  fetches_whole_blocks,
  next_sequence_fetched,
  table_off_by_one,
  length_ignored,
};

// paged_attention.cc's body, with the flaws.
class Flawed {
 public:
  Flawed(Flaw flaw, const PagedAttention& p) : flaw_(flaw), p_(p) {}

  void operator()(Core& core, std::span<const Ref> all) const {
    const PagedAttentionRefs refs(all);
    const int64_t b = core.program_id(0), h = core.program_id(1);
    const int64_t length = length_of(core, refs, b), blocks = block_count(length, p_.block_keys());
    paged_begin(core, refs);
    const bool fetched_before = is(Flaw::next_sequence_fetched) && (b > 0 || h > 0);
    if (blocks > 0 && !fetched_before) fetch(core, refs, b, h, 0);
    for (int64_t j = 0; j < blocks; ++j) {
      if (j + 1 < blocks) fetch(core, refs, b, h, j + 1);
      const int64_t keys = length - j * p_.block_keys();
      wait(core, refs.k_done, refs.k_slots, length, j);
      const Tile logits = paged_logits(p_, core, refs, j % 2, is(Flaw::length_ignored) ? p_.block_keys() : keys);
      const Ref v_done = is(Flaw::k_and_v_share_semaphore) ? refs.k_done : refs.v_done;
      if (!is(Flaw::v_not_awaited)) wait(core, v_done, refs.v_slots, length, j);
      paged_add(p_, core, refs, j % 2, keys, logits);
    }
    paged_finish(core, refs);
    if (!is(Flaw::next_sequence_fetched)) return;
    // Whether the next sequence has any keys is not asked.
    const bool next_head = h + 1 < p_.kv_heads;
    if (next_head || b + 1 < p_.batch) fetch(core, refs, next_head ? b : b + 1, next_head ? h + 1 : 0, 0);
  }

 private:
  bool is(Flaw flaw) const { return flaw_ == flaw; }

  static int64_t length_of(Core& core, const PagedAttentionRefs& refs, int64_t b) {
    return core.load_index(refs.lengths({b}));
  }
  int64_t pages_of(int64_t length, int64_t block) const {
    return std::min(p_.block_pages, block_count(length, p_.page_size) - block * p_.block_pages);
  }

  void fetch(Core& core, const PagedAttentionRefs& refs, int64_t b, int64_t h, int64_t block) const {
    int64_t pages = pages_of(length_of(core, refs, b), block);
    if (is(Flaw::fetches_whole_blocks)) pages = p_.block_pages;
    if (is(Flaw::next_sequence_fetched)) pages = std::max<int64_t>(1, pages);
    const int64_t slot = is(Flaw::fetches_into_current_slot) ? 0 : block % 2;
    for (int64_t i = 0; i < pages; ++i) {
      const int64_t entry = block * p_.block_pages + i + (is(Flaw::table_off_by_one) ? 1 : 0);
      const int64_t page = core.load_index(refs.page_table({b, entry % p_.pages_per_sequence}));
      const Ref v_done = is(Flaw::k_and_v_share_semaphore) ? refs.k_done : refs.v_done;
      core.start_copy(refs.k_pages({h, page}), refs.k_slots({slot, i}), refs.k_done({block % 2}));
      core.start_copy(refs.v_pages({h, page}), refs.v_slots({slot, i}), v_done({block % 2}));
    }
  }

  void wait(Core& core, const Ref& done, const Ref& slots, int64_t length, int64_t block) const {
    int64_t pages = pages_of(length, block);
    if (is(Flaw::one_page_awaited)) pages = 1;
    if (is(Flaw::awaits_whole_blocks)) pages = p_.block_pages;
    core.wait_bytes_of(done({block % 2}), slots({block % 2, ds(0, pages)}));
  }

  Flaw flaw_;
  PagedAttention p_;
};

// The last of three sequences has five pages and a half; the second has none.
BrokenTwin flawed(std::string name, std::string what, Kind kind, Flaw flaw) {
  return edited(std::move(name), std::move(what), kind,
                {{"batch", "3"}, {"kv_heads", "1"}, {"page_size", "8"}, {"pages_per_sequence", "7"}},
                paged_attention_kernel,
                [flaw](KernelCase& c, const ParamValues& values) { c.body = Flawed(flaw, PagedAttention(values)); });
}

}  // namespace

std::vector<BrokenTwin> paged_attention_twins() {
  return {
      flawed("v_not_awaited", "the pages of values are used without waiting for them", Kind::race, Flaw::v_not_awaited),
      flawed("one_page_awaited", "the bytes of one page are awaited, and all pages of the block are used", Kind::race,
             Flaw::one_page_awaited),
      flawed("k_and_v_share_semaphore", "the wait for the bytes of the keys may be satisfied by the values", Kind::race,
             Flaw::k_and_v_share_semaphore),
      flawed("fetches_into_current_slot", "the next block's pages go to the slot that is worked on", Kind::race,
             Flaw::fetches_into_current_slot),
      flawed("awaits_whole_blocks", "a short block is awaited as if it had all its pages", Kind::wait_without_start,
             Flaw::awaits_whole_blocks),
      flawed("fetches_whole_blocks",
             "pages beyond the sequence's length are fetched: the wait may be satisfied by them", Kind::race,
             Flaw::fetches_whole_blocks),
      flawed("next_sequence_fetched", "a step fetches ahead for the next sequence, which may have no keys to wait for",
             Kind::race, Flaw::next_sequence_fetched),
      flawed("table_off_by_one", "pages are those of the next entry of the table", Kind::result_mismatch,
             Flaw::table_off_by_one),
      flawed("length_ignored", "keys beyond the sequence's length take part", Kind::undefined_output,
             Flaw::length_ignored),
  };
}

}  // namespace tilecheck
