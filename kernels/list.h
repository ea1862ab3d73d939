// The kernels that come with Tilecheck, in one explicit list.
#pragma once

#include <vector>

#include "harness/kernel.h"

namespace tilecheck {

// What the command knows by name: give each to add_kernel.
std::vector<Kernel> built_in_kernels();

// One file each, named after the kernel.
Kernel relu_2x_plus_1_kernel();
Kernel add_matrices_kernel();
Kernel transpose_kernel();
Kernel matmul_kernel();
Kernel softmax_rows_kernel();
Kernel layer_norm_kernel();
Kernel flash_attention_kernel();
Kernel mha_kernel();
Kernel mha_dq_kernel();
Kernel mha_dkv_kernel();
Kernel double_buffered_copy_kernel();
Kernel nested_pipeline_kernel();
Kernel paged_attention_kernel();
Kernel ring_permute_kernel();
Kernel all_gather_kernel();
Kernel reduce_scatter_kernel();
Kernel all_reduce_kernel();

}  // namespace tilecheck
