#include "kernels/flash_attention_twins.h"

#include <limits>

#include "kernels/list.h"
#include "kernels/tiling.h"
#include "kernels/twins.h"

namespace tilecheck {
namespace {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

// flash_attention.cc's body, with the flaws.
class Flawed {
 public:
  Flawed(FlashFlaw flaw, const FlashAttention& p) : flaw_(flaw), p_(p) {}

  void operator()(Core& core, std::span<const Ref> all) const {
    const FlashAttentionRefs refs(p_, all);
    const int64_t i = core.program_id(2), j = core.program_id(3);
    bool reset = j == 0;
    if (is(FlashFlaw::scratch_not_reset)) reset = false;
    if (is(FlashFlaw::scratch_reset_once)) reset = j == 0 && i == 0;
    if (reset) {
      core.store(refs.m, is(FlashFlaw::m_starts_at_zero) ? 0 : kMinusInfinity);
      core.store(refs.l, 0);
      core.store(refs.acc, 0);
    }
    bool visible = p_.sees(i, j);
    if (is(FlashFlaw::diagonal_blocks_skipped)) visible = j * p_.block_kv < i * p_.block_q;
    if (visible) accumulate(core, refs, i, j);
    if (j == core.num_programs(3) - (is(FlashFlaw::never_stored) ? 0 : 1)) finish(core, refs);
  }

 private:
  bool is(FlashFlaw flaw) const { return flaw_ == flaw; }

  Tile mask(Core& core, const FlashAttentionRefs& refs, int64_t i, int64_t j) const {
    Tile mask = core.full(DType::b1, {p_.block_q, p_.block_kv}, 1);
    const int64_t first_query = i * p_.block_q, first_key = j * p_.block_kv;
    if (p_.causal) {
      const int64_t ahead = is(FlashFlaw::causal_off_by_one) ? 1 : 0;
      const Tile queries =
          core.iota(DType::i32, {p_.block_q, 1}, 0) + static_cast<double>(first_query - first_key + ahead);
      mask = mask & ge(queries, core.iota(DType::i32, {1, p_.block_kv}, 1));
    }
    if (p_.segments && !is(FlashFlaw::segments_ignored))
      mask = mask & eq(core.load(refs.q_segments), core.load(refs.kv_segments));
    if (first_key + p_.block_kv > p_.kv_len && !is(FlashFlaw::tail_not_masked))
      mask = mask & first_columns(core, p_.block_kv, p_.kv_len - first_key);
    return mask;
  }

  void accumulate(Core& core, const FlashAttentionRefs& refs, int64_t i, int64_t j) const {
    Tile s = matmul(core.load(refs.q), core.load(refs.k), DotDims::transposed_rhs());
    if (is(FlashFlaw::cap_before_scale) && p_.soft_cap != 0) s = tanh(s / p_.soft_cap) * p_.soft_cap;
    if (!is(FlashFlaw::scale_forgotten)) s = s * p_.sm_scale;
    if (!is(FlashFlaw::cap_before_scale) && p_.soft_cap != 0) s = tanh(s / p_.soft_cap) * p_.soft_cap;
    const Tile mask_tile = mask(core, refs, i, j);
    if (!is(FlashFlaw::mask_after_max)) s = keep_where(mask_tile, s, kMinusInfinity);

    const Tile m_old = core.load(refs.m);
    const Tile m_new = maximum(m_old, reduce_max(s, {1}, true));
    if (is(FlashFlaw::mask_after_max)) s = keep_where(mask_tile, s, kMinusInfinity);
    const Tile shift = is(FlashFlaw::masked_rows_not_guarded) ? m_new : keep_where(gt(m_new, kMinusInfinity), m_new, 0);
    const Tile weights = exp(s - shift);
    const Tile rescale = exp(m_old - shift);
    core.store(refs.m, m_new);
    const Tile l_old = core.load(refs.l);
    Tile l = (is(FlashFlaw::l_not_rescaled) ? l_old : l_old * rescale) + reduce_sum(weights, {1}, true);
    if (is(FlashFlaw::l_in_bf16)) l = convert(convert(l, DType::bf16), DType::f32);
    core.store(refs.l, l);

    const int64_t keys = p_.kv_len - j * p_.block_kv;
    const Tile v = is(FlashFlaw::v_tail_not_zeroed) ? core.load(refs.v) : load_first_rows(core, refs.v, keys);
    const Tile acc_old = core.load(refs.acc);
    Tile acc = matmul(convert(weights, v.dtype()), v, DotDims::plain(),
                      is(FlashFlaw::acc_not_rescaled) ? acc_old : acc_old * rescale);
    if (is(FlashFlaw::divided_at_every_step)) acc = acc / l;
    core.store(refs.acc, acc);
  }

  void finish(Core& core, const FlashAttentionRefs& refs) const {
    const Tile l = core.load(refs.l);
    const Tile divisor = is(FlashFlaw::masked_rows_not_guarded) ? l : keep_where(ne(l, 0), l, 1);
    const Tile acc = core.load(refs.acc);
    core.store(refs.o, convert(is(FlashFlaw::divided_at_every_step) ? acc : acc / divisor, refs.o.dtype));
    if (!p_.residuals) return;
    core.store(refs.l_result, l);
    core.store(refs.m_result, core.load(refs.m));
  }

  FlashFlaw flaw_;
  FlashAttention p_;
};

BrokenTwin flawed(std::string name, std::string what, Kind kind, FlashFlaw flaw,
                  std::map<std::string, std::string> set) {
  return {.name = std::move(name),
          .what = std::move(what),
          .kind = kind,
          .set = std::move(set),
          .make = [flaw](const ParamValues& values) { return flash_attention_with(flaw, FlashAttention(values)); }};
}

// Small: a few blocks in each direction. `more` adds to it or overrides it.
std::map<std::string, std::string> small(std::map<std::string, std::string> more = {}) {
  std::map<std::string, std::string> set{
      {"heads", "1"}, {"len", "128"}, {"head_dim", "64"}, {"block_q", "32"}, {"block_kv", "32"}};
  for (const auto& [name, value] : more) set[name] = value;
  return set;
}

}  // namespace

KernelCase flash_attention_with(FlashFlaw flaw, const FlashAttention& p) {
  KernelCase c = flash_attention_case(p);
  c.body = Flawed(flaw, p);
  return c;
}

std::vector<BrokenTwin> flash_attention_twins() {
  const auto spec_edit = [](std::string name, std::string what, Kind kind,
                            std::function<void(KernelCase&, const FlashAttention&)> edit) {
    return edited(std::move(name), std::move(what), kind, small(), flash_attention_kernel,
                  [edit](KernelCase& c, const ParamValues& values) { edit(c, FlashAttention(values)); });
  };
  return {
      flawed("forgotten_rescale", "acc keeps the weights of an older, smaller maximum", Kind::result_mismatch,
             FlashFlaw::acc_not_rescaled, small()),
      flawed("forgotten_l_rescale", "l keeps the weights of an older, smaller maximum", Kind::result_mismatch,
             FlashFlaw::l_not_rescaled, small()),
      flawed("m_starts_at_zero", "the running maximum starts at 0, not at -infinity", Kind::result_mismatch,
             FlashFlaw::m_starts_at_zero, small({{"kv_len", "1"}, {"sm_scale", "200"}})),
      flawed("scratch_not_reset", "m, l and acc are never initialised", Kind::undefined_output,
             FlashFlaw::scratch_not_reset, small()),
      flawed("scratch_reset_once", "m, l and acc go on from one q block to the next", Kind::result_mismatch,
             FlashFlaw::scratch_reset_once, small()),
      flawed("forgotten_scale", "logits are not multiplied by sm_scale", Kind::result_mismatch,
             FlashFlaw::scale_forgotten, small()),
      flawed("cap_before_scale", "the soft cap is applied to unscaled logits", Kind::result_mismatch,
             FlashFlaw::cap_before_scale, small({{"soft_cap", "1"}})),
      flawed("causal_off_by_one", "a query sees the key after its own place", Kind::result_mismatch,
             FlashFlaw::causal_off_by_one, small({{"causal", "1"}})),
      flawed("diagonal_skipped", "blocks that the diagonal cuts are skipped", Kind::result_mismatch,
             FlashFlaw::diagonal_blocks_skipped, small({{"causal", "1"}})),
      flawed("mask_after_max", "the maximum is taken over forbidden keys too", Kind::result_mismatch,
             FlashFlaw::mask_after_max, small({{"causal", "1"}, {"residuals", "1"}})),
      flawed("tail_not_masked", "keys beyond the end take part", Kind::undefined_output, FlashFlaw::tail_not_masked,
             small({{"len", "100"}})),
      flawed("v_tail_not_zeroed", "weight 0 times an undefined value: a warning alone", Kind::undefined_output,
             FlashFlaw::v_tail_not_zeroed, small({{"len", "100"}})),
      flawed("masked_rows_not_guarded", "a query that sees no key computes -infinity less -infinity", Kind::non_finite,
             FlashFlaw::masked_rows_not_guarded, small({{"kv_len", "1"}, {"segments", "1"}})),
      flawed("l_in_bf16", "the running sum is kept in bf16", Kind::result_mismatch, FlashFlaw::l_in_bf16, small()),
      flawed("divided_at_every_step", "acc is normalised although later steps rescale it", Kind::result_mismatch,
             FlashFlaw::divided_at_every_step, small()),
      flawed("segments_ignored", "keys of other segments take part", Kind::result_mismatch, FlashFlaw::segments_ignored,
             small({{"segments", "1"}})),
      flawed("never_stored", "the last step is awaited one step too late", Kind::undefined_output,
             FlashFlaw::never_stored, small()),
      spec_edit("q_map_off_by_one", "q's index map says i + 1", Kind::out_of_bounds_block,
                [](KernelCase& c, const FlashAttention&) {
                  c.spec.in[0].index = [](Index b, Index h, Index i, Index) { return Indices{b, h, i + 1, 0}; };
                }),
      spec_edit(
          "kv_map_in_elements", "k's index map says j * block_kv: elements, not blocks", Kind::out_of_bounds_block,
          [](KernelCase& c, const FlashAttention& p) {
            c.spec.in[1].index = [n = p.block_kv](Index b, Index h, Index, Index j) { return Indices{b, h, j * n, 0}; };
          }),
      spec_edit("wrong_kv_order", "v's blocks come in another order than k's", Kind::result_mismatch,
                [](KernelCase& c, const FlashAttention& p) {
                  const int64_t last = block_count(p.kv_len, p.block_kv) - 1;
                  c.spec.in[2].index = [last](Index b, Index h, Index, Index j) { return Indices{b, h, last - j, 0}; };
                }),
      spec_edit("written_to_wrong_block", "o's index map counts q blocks from the end", Kind::result_mismatch,
                [](KernelCase& c, const FlashAttention& p) {
                  const int64_t last = block_count(p.q_len, p.block_q) - 1;
                  c.spec.out[0].index = [last](Index b, Index h, Index i, Index) { return Indices{b, h, last - i, 0}; };
                }),
      spec_edit("o_follows_the_keys", "o's index map follows j: every q block leaves and enters all blocks of o",
                Kind::output_revisited,
                [](KernelCase& c, const FlashAttention&) {
                  c.spec.out[0].index = [](Index b, Index h, Index, Index j) { return Indices{b, h, j, 0}; };
                }),
  };
}

}  // namespace tilecheck
