#include "kernels/list.h"

namespace tilecheck {

std::vector<Kernel> built_in_kernels() {
  return {relu_2x_plus_1_kernel(),
          add_matrices_kernel(),
          transpose_kernel(),
          matmul_kernel(),
          softmax_rows_kernel(),
          layer_norm_kernel(),
          flash_attention_kernel(),
          mha_kernel(),
          mha_dq_kernel(),
          mha_dkv_kernel(),
          double_buffered_copy_kernel(),
          nested_pipeline_kernel(),
          paged_attention_kernel(),
          ring_permute_kernel(),
          all_gather_kernel(),
          reduce_scatter_kernel(),
          all_reduce_kernel()};
}

}  // namespace tilecheck
