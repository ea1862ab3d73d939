#include "kernels/list.h"

namespace tilecheck {

void add_builtin_kernels() {
  add_kernel(relu_2x_plus_1_kernel());
  add_kernel(add_matrices_kernel());
  add_kernel(transpose_kernel());
  add_kernel(matmul_kernel());
  add_kernel(softmax_rows_kernel());
  add_kernel(layer_norm_kernel());
}

}  // namespace tilecheck
