// Broken twins: each kernel with one thing wrong, and the kind of finding that must name it. The kernel itself is clean
// at the same parameter values; one test runs both.
//
// Most bugs in a spec are edits of the kernel's own case. Bugs in a body need a body: a second copy of the kernel's, in
// KERNEL_twins.cc, with every flaw spelled out where it sits. Without a flaw that copy gives the kernel's own bits,
// which a test checks, so that it cannot drift.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "harness/kernel.h"

namespace tilecheck {

// The kernel with one edit to its case.
inline BrokenTwin edited(std::string name, std::string what, Kind kind, std::map<std::string, std::string> set,
                         Kernel (*kernel)(), std::function<void(KernelCase&, const ParamValues&)> edit) {
  return {.name = std::move(name),
          .what = std::move(what),
          .kind = kind,
          .set = std::move(set),
          .make = [kernel, edit = std::move(edit)](const ParamValues& values) {
            KernelCase c = kernel().make(values);
            edit(c, values);
            return c;
          }};
}

std::vector<BrokenTwin> relu_2x_plus_1_twins();
std::vector<BrokenTwin> add_twins();
std::vector<BrokenTwin> transpose_twins();
std::vector<BrokenTwin> matmul_twins();
std::vector<BrokenTwin> softmax_rows_twins();
std::vector<BrokenTwin> layer_norm_twins();
std::vector<BrokenTwin> flash_attention_twins();
std::vector<BrokenTwin> mha_twins();
std::vector<BrokenTwin> mha_dq_twins();
std::vector<BrokenTwin> mha_dkv_twins();
std::vector<BrokenTwin> double_buffered_copy_twins();
std::vector<BrokenTwin> nested_pipeline_twins();
std::vector<BrokenTwin> paged_attention_twins();
std::vector<BrokenTwin> ring_permute_twins();
std::vector<BrokenTwin> all_gather_twins();
std::vector<BrokenTwin> reduce_scatter_twins();
std::vector<BrokenTwin> all_reduce_twins();

}  // namespace tilecheck
