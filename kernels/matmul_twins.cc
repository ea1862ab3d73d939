// Broken twins of matmul.
#include "kernels/list.h"
#include "kernels/tiling.h"
#include "kernels/twins.h"

namespace tilecheck {
namespace {

enum class Flaw : uint8_t {
  sum_not_zeroed,
  sum_zeroed_every_step,
  only_a_masked,
  flag_never_set,
  sum_in_bf16,
  slice_past_end,
  stores_past_end,
};

// matmul.cc's body, with the flaws.
Body flawed_body(Flaw flaw, int64_t k, int64_t block_k) {
  return [=](Core& core, std::span<const Ref> refs) {
    const auto is = [&](Flaw f) { return flaw == f; };
    const Ref &a = refs[0], &b = refs[1], &c = refs[2], &sum = refs[3];
    const int64_t step = core.program_id(2), last = core.num_programs(2) - 1;
    if (is(Flaw::flag_never_set)) {
      core.when(ne(core.load(refs[4]({0})), 0), [&] { core.store(sum, 0); });
    } else if (!is(Flaw::sum_not_zeroed) && (step == 0 || is(Flaw::sum_zeroed_every_step))) {
      core.store(sum, 0);
    }
    const int64_t left = k - step * block_k;
    const int64_t rows = b.shape()[0];
    Tile a_tile = core.load(a);
    Tile b_tile = core.load(is(Flaw::slice_past_end) ? b({ds(step * block_k, rows)}) : b);
    if (left < block_k) {
      a_tile = keep_where(first_columns(core, block_k, left), a_tile, 0);
      if (!is(Flaw::only_a_masked)) b_tile = keep_where(first_rows(core, block_k, left), b_tile, 0);
    }
    Tile total = matmul(a_tile, b_tile, DotDims::plain(), core.load(sum));
    if (is(Flaw::sum_in_bf16)) total = convert(convert(total, DType::bf16), DType::f32);
    core.store(sum, total);
    if (step != last) return;
    const Ref target = is(Flaw::stores_past_end) ? c({ds(1, c.shape()[0])}) : c;
    core.store(target, convert(core.load(sum), c.dtype));
  };
}

const std::map<std::string, std::string> kSmall{{"m", "64"},       {"n", "128"},       {"k", "96"},
                                                {"block_m", "32"}, {"block_n", "128"}, {"block_k", "32"}};
std::map<std::string, std::string> uneven() {
  auto set = kSmall;
  set["k"] = "80";
  return set;
}

BrokenTwin flawed(std::string name, std::string what, Kind kind, Flaw flaw,
                  std::map<std::string, std::string> set = kSmall) {
  return edited(
      std::move(name), std::move(what), kind, std::move(set), matmul_kernel,
      [flaw](KernelCase& c, const ParamValues& values) {
        c.body = flawed_body(flaw, values.integer("k"), values.integer("block_k"));
        if (flaw == Flaw::flag_never_set)
          c.spec.scratch.push_back({.name = "first", .dtype = DType::i32, .shape = {1}, .space = Space::smem});
      });
}

}  // namespace

std::vector<BrokenTwin> matmul_twins() {
  return {
      flawed("sum_not_zeroed", "the accumulator starts with what is there", Kind::undefined_output,
             Flaw::sum_not_zeroed),
      flawed("sum_zeroed_every_step", "only the last k block counts", Kind::result_mismatch,
             Flaw::sum_zeroed_every_step),
      flawed("only_a_masked", "a's zeros meet undefined rows of b", Kind::undefined_output, Flaw::only_a_masked,
             uneven()),
      flawed("flag_never_set", "whether to zero the sum hangs on a scalar that nobody writes", Kind::undefined_use,
             Flaw::flag_never_set),
      flawed("sum_in_bf16", "the sum is rounded to bf16 at every step", Kind::result_mismatch, Flaw::sum_in_bf16),
      flawed("slice_past_end", "indexes a block as if it were the array", Kind::out_of_bounds_read,
             Flaw::slice_past_end),
      flawed("stores_past_end", "stores one row too low", Kind::out_of_bounds_write, Flaw::stores_past_end),
      edited("wrong_k_order", "b's blocks come in another order than a's", Kind::result_mismatch, kSmall, matmul_kernel,
             [](KernelCase& c, const ParamValues&) {
               const int64_t last = c.spec.grid[2] - 1;
               c.spec.in[1].index = [last](Index, Index j, Index p) { return Indices{last - p, j}; };
             }),
      edited("k_not_innermost", "each block of c is visited once for every k block", Kind::output_revisited,
             {{"m", "64"}, {"n", "256"}, {"k", "64"}, {"block_m", "32"}, {"block_n", "128"}, {"block_k", "32"}},
             matmul_kernel,
             [](KernelCase& c, const ParamValues&) {
               // The grid as (m, k, n): the same blocks in another order.
               std::swap(c.spec.grid[1], c.spec.grid[2]);
               c.spec.in[0].index = [](Index i, Index p, Index) { return Indices{i, p}; };
               c.spec.in[1].index = [](Index, Index p, Index j) { return Indices{p, j}; };
               c.spec.out[0].index = [](Index i, Index, Index j) { return Indices{i, j}; };
             }),
      edited("map_in_elements", "a's index map says i * block_m: elements, not blocks", Kind::out_of_bounds_block,
             kSmall, matmul_kernel,
             [](KernelCase& c, const ParamValues& values) {
               c.spec.in[0].index = [n = values.integer("block_m")](Index i, Index, Index p) {
                 return Indices{i * n, p};
               };
             }),
      edited("c_in_hbm", "stores to an output that was left in HBM", Kind::memory_space, kSmall, matmul_kernel,
             [](KernelCase& c, const ParamValues&) {
               c.spec.out[0].space = Space::hbm;
               c.spec.out[0].block.clear();
               c.spec.out[0].index = {};
               c.spec.grid = {1, 1, c.spec.grid[2]};
               c.body = [](Core& core, std::span<const Ref> refs) {
                 core.store(refs[2], core.full(DType::f32, refs[2].shape(), 0));
               };
             }),
  };
}

}  // namespace tilecheck
