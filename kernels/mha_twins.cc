// Broken twins of multi-head attention's kernels: their bodies at one block of heads and keys, with the flaws.
#include <limits>

#include "kernels/list.h"
#include "kernels/mha.h"
#include "kernels/tiling.h"
#include "kernels/twins.h"

namespace tilecheck {
namespace {

const std::map<std::string, std::string> kSmall{
    {"dtype", "f32"},  {"batch", "1"},        {"heads", "2"},         {"len", "64"},        {"block_q", "32"},
    {"block_k", "32"}, {"block_q_dkv", "32"}, {"block_kv_dkv", "32"}, {"block_q_dq", "32"}, {"block_kv_dq", "32"}};
std::map<std::string, std::string> small(const std::map<std::string, std::string>& more) {
  auto set = kSmall;
  for (const auto& [name, value] : more) set[name] = value;
  return set;
}

using Flaw = std::function<void(KernelCase&, const Mha&)>;
BrokenTwin twin(std::string name, std::string what, Kind kind, Kernel (*kernel)(), Flaw flaw,
                const std::map<std::string, std::string>& more = {}) {
  return edited(std::move(name), std::move(what), kind, small(more), kernel,
                [flaw = std::move(flaw)](KernelCase& c, const ParamValues& values) { flaw(c, Mha(values)); });
}

// A problem that is not the one asked for: what a kernel does that forgot a part.
Flaw as_if(void (*change)(Mha&), KernelCase (*make)(const Mha&)) {
  return [change, make](KernelCase& c, const Mha& p) {
    Mha other = p;
    change(other);
    c.body = make(other).body;
  };
}

}  // namespace

std::vector<BrokenTwin> mha_twins() {
  return {
      twin("last_keys_forgotten", "the loop over keys ends one block early", Kind::result_mismatch, mha_kernel,
           as_if([](Mha& p) { p.kv_len -= p.block_k; }, mha_case)),
      twin("heads_from_one", "reads head h + 1", Kind::out_of_bounds_read, mha_kernel,
           [](KernelCase& c, const Mha&) {
             c.body = [](Core& core, std::span<const Ref> refs) {
               const int64_t head = core.program_id(2);
               core.store(refs[3]({all(), head}), core.load(refs[0]({all(), head + 1})));
             };
           }),
      twin("logsumexp_without_log", "the sum is added to the maximum, not its logarithm", Kind::result_mismatch,
           mha_kernel,
           [](KernelCase& c, const Mha&) {
             c.body = [right = c.body](Core& core, std::span<const Ref> refs) {
               right(core, refs);
               core.store(refs[4], exp(core.load(refs[4])));
             };
           },
           {{"return_residuals", "1"}}),
      twin("one_head_written", "o's heads are not told apart", Kind::undefined_output, mha_kernel,
           [](KernelCase& c, const Mha&) {
             c.body = [](Core& core, std::span<const Ref> refs) {
               core.store(refs[3]({all(), 0}), core.load(refs[0]({all(), core.program_id(2)})));
             };
           }),
      twin("not_causal", "the causal mask is forgotten", Kind::result_mismatch, mha_kernel,
           as_if([](Mha& p) { p.causal = false; }, mha_case), {{"causal", "1"}}),
  };
}

std::vector<BrokenTwin> mha_dq_twins() {
  return {
      twin("scale_forgotten", "dq is not multiplied by sm_scale", Kind::result_mismatch, mha_dq_kernel,
           [](KernelCase& c, const Mha& p) {
             c.body = [right = c.body, p](Core& core, std::span<const Ref> refs) {
               right(core, refs);
               const Ref dq = refs[6]({all(), core.program_id(2)});
               core.store(dq, core.load(dq) / p.sm_scale);
             };
           }),
      twin("delta_of_another_head", "delta's index map forgets the head", Kind::result_mismatch, mha_dq_kernel,
           [](KernelCase& c, const Mha&) {
             c.spec.in[5].index = [](Index i, Index b, Index) { return Indices{b, 0, i, 0}; };
           }),
  };
}

std::vector<BrokenTwin> mha_dkv_twins() {
  return {
      twin("first_queries_forgotten", "causal: the loop begins one block of queries too late", Kind::result_mismatch,
           mha_dkv_kernel,
           [](KernelCase& c, const Mha&) {
             // Key block i shows what key block i + 1 should: its loop begins there.
             c.spec.in[1].index = [](Index i, Index b, Index) { return Indices{b, 1 - i, 0, 0}; };
           },
           {{"causal", "1"}}),
      twin("query_tail_summed", "queries beyond the end take part", Kind::undefined_output, mha_dkv_kernel,
           as_if([](Mha& p) { p.q_len = round_up(p.q_len, p.block_q_dkv); }, mha_dkv_case),
           {{"len", "50"}, {"kv_len", "64"}}),
      twin("dk_and_dv_swapped", "the results change places", Kind::result_mismatch, mha_dkv_kernel,
           [](KernelCase& c, const Mha&) {
             c.body = [right = c.body](Core& core, std::span<const Ref> refs) {
               std::vector<Ref> swapped(refs.begin(), refs.end());
               std::swap(swapped[swapped.size() - 2], swapped.back());
               right(core, swapped);
             };
           }),
  };
}

}  // namespace tilecheck
