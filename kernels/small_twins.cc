// Broken twins of the kernels whose bodies are a line or two.
#include "kernels/list.h"
#include "kernels/tiling.h"
#include "kernels/twins.h"

namespace tilecheck {

std::vector<BrokenTwin> relu_2x_plus_1_twins() {
  const std::map<std::string, std::string> small{{"n", "64"}, {"block", "16"}};
  return {
      edited("map_off_by_one", "x's index map says i + 1", Kind::out_of_bounds_block, small, relu_2x_plus_1_kernel,
             [](KernelCase& c, const ParamValues&) { c.spec.in[0].index = [](Index i) { return Indices{i + 1}; }; }),
      edited("half_written", "the second half of each block is never stored", Kind::undefined_output, small,
             relu_2x_plus_1_kernel,
             [](KernelCase& c, const ParamValues& values) {
               c.body = [half = values.integer("block") / 2](Core& core, std::span<const Ref> refs) {
                 const Slice first = ds(0, half);
                 core.store(refs[1]({first}), maximum(core.load(refs[0]({first})) * 2 + 1, 0));
               };
             }),
      edited("same_block", "every step writes block 0", Kind::undefined_output, small, relu_2x_plus_1_kernel,
             [](KernelCase& c, const ParamValues&) { c.spec.out[0].index = [](Index) { return Indices{0}; }; }),
      edited("not_clamped", "negative values stay", Kind::result_mismatch, small, relu_2x_plus_1_kernel,
             [](KernelCase& c, const ParamValues&) {
               c.body = [](Core& core, std::span<const Ref> refs) { core.store(refs[1], core.load(refs[0]) * 2 + 1); };
             }),
      edited("all_zero", "stores zeros: a comparison of zeros with zeros says nothing", Kind::nothing_compared, small,
             relu_2x_plus_1_kernel,
             [](KernelCase& c, const ParamValues&) {
               c.hints = {{.low = -4, .high = -1}};  // all results are 0
               c.body = [](Core& core, std::span<const Ref> refs) { core.store(refs[1], 0); };
             }),
  };
}

std::vector<BrokenTwin> add_twins() {
  const std::map<std::string, std::string> small{{"rows", "64"}, {"columns", "128"}, {"block_rows", "16"}};
  std::map<std::string, std::string> in_place = small;
  in_place["in_place"] = "1";
  // x's block of `behind` steps ago, which is one that z has written since.
  const auto x_behind = [](int64_t behind) {
    return [behind](KernelCase& c, const ParamValues&) {
      c.spec.in[0].index = [behind](Index i, Index j) { return Indices{max(i - behind, 0), j}; };
    };
  };
  return {
      edited("next_block", "adds what the next step will need", Kind::out_of_bounds_block, small, add_matrices_kernel,
             [](KernelCase& c, const ParamValues&) {
               c.spec.in[1].index = [](Index i, Index j) { return Indices{i + 1, j}; };
             }),
      edited("load_from_hbm", "loads an operand that was left in HBM", Kind::memory_space, small, add_matrices_kernel,
             [](KernelCase& c, const ParamValues& values) {
               c.spec.in[1].space = Space::hbm;
               c.spec.in[1].block.clear();
               c.spec.in[1].index = {};
               c.body = [rows = values.integer("block_rows")](Core& core, std::span<const Ref> refs) {
                 const Ref y = refs[1]({ds(core.program_id(0) * rows, rows)});
                 core.store(refs[2], core.load(refs[0]) + core.load(y));
               };
             }),
      edited("scope_left", "keeps the Ref of scoped memory beyond its scope", Kind::use_after_scope, small,
             add_matrices_kernel,
             [](KernelCase& c, const ParamValues&) {
               c.body = [](Core& core, std::span<const Ref> refs) {
                 const Scratch sum{.name = "sum", .dtype = refs[2].dtype, .shape = refs[2].shape()};
                 Ref kept;
                 core.scope(std::span(&sum, 1), [&](std::span<const Ref> scoped) {
                   core.store(scoped[0], core.load(refs[0]) + core.load(refs[1]));
                   kept = scoped[0];
                 });
                 core.store(refs[2], core.load(kept));
               };
             }),
      edited("fetched_a_step_too_early", "in place, x is fetched ahead of the step that writes it as z", Kind::race,
             in_place, add_matrices_kernel, x_behind(1)),
      edited("read_during_write_back", "in place, x is fetched while the write-back of z to it is in flight",
             Kind::race, in_place, add_matrices_kernel, x_behind(2)),
  };
}

std::vector<BrokenTwin> transpose_twins() {
  return {
      edited("block_not_transposed", "blocks change places, their elements do not", Kind::result_mismatch,
             {{"rows", "256"}, {"columns", "128"}}, transpose_kernel,
             [](KernelCase& c, const ParamValues&) {
               c.body = [](Core& core, std::span<const Ref> refs) { core.store(refs[1], core.load(refs[0])); };
             }),
      edited("map_not_swapped", "elements change places, blocks do not", Kind::out_of_bounds_block,
             {{"rows", "256"}, {"columns", "128"}}, transpose_kernel,
             [](KernelCase& c, const ParamValues&) {
               c.spec.out[0].index = [](Index i, Index j) { return Indices{i, j}; };
             }),
  };
}

std::vector<BrokenTwin> softmax_rows_twins() {
  const std::map<std::string, std::string> small{{"rows", "32"}, {"columns", "100"}, {"block_rows", "16"}};
  return {
      edited("wrong_axis", "sums columns, not rows", Kind::result_mismatch, small, softmax_rows_kernel,
             [](KernelCase& c, const ParamValues&) {
               c.body = [](Core& core, std::span<const Ref> refs) {
                 const Tile x = core.load(refs[0]);
                 const Tile e = exp(x - reduce_max(x, {1}, true));
                 core.store(refs[1], e / reduce_sum(e, {0}, true));
               };
             }),
      edited("padding_summed", "blocks are rounded up to 128 columns, and all of them are summed",
             Kind::undefined_output, small, softmax_rows_kernel,
             [](KernelCase& c, const ParamValues&) {
               for (Window* w : {&c.spec.in[0], &c.spec.out[0]}) w->block[1] = 128;
             }),
  };
}

std::vector<BrokenTwin> layer_norm_twins() {
  const std::map<std::string, std::string> small{{"rows", "32"}, {"columns", "128"}, {"block_rows", "16"}};
  return {
      edited("variance_not_centred", "the mean square stands in for the variance", Kind::result_mismatch, small,
             layer_norm_kernel,
             [](KernelCase& c, const ParamValues& values) {
               c.body = [epsilon = values.number("epsilon")](Core& core, std::span<const Ref> refs) {
                 const Tile x = core.load(refs[0]);
                 const double columns = static_cast<double>(x.shape()[1]);
                 const Tile mean = reduce_sum(x, {1}, true) / columns;
                 const Tile square = reduce_sum(x * x, {1}, true) / columns;
                 core.store(refs[3], (x - mean) * rsqrt(square + epsilon) * core.load(refs[1]) + core.load(refs[2]));
               };
             }),
      edited("row_loop_too_long", "goes through a block's rows 8 by 8, once too often", Kind::out_of_bounds_read, small,
             layer_norm_kernel,
             [](KernelCase& c, const ParamValues&) {
               c.body = [](Core& core, std::span<const Ref> refs) {
                 const int64_t rows = refs[0].shape()[0];
                 core.loop(0, rows / 8 + 1, [&](int64_t r) {
                   const Slice chunk = ds(8 * r, 8);
                   core.store(refs[3]({chunk}), core.load(refs[0]({chunk})));
                 });
               };
             }),
  };
}

}  // namespace tilecheck
