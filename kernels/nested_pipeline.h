// nested_pipeline: a product of matrices, whose grid runs over rows and whose body is a pipeline over the rest.
#pragma once

#include "harness/kernel.h"
#include "kernels/inner_pipeline.h"

namespace tilecheck {

struct NestedPipeline {
  explicit NestedPipeline(const ParamValues& values);

  DType dtype;
  int64_t m, n, k, block_m, block_n, block_k;
  int cores;

  Dims inner_grid() const;
  // a, b and c as the pipeline inside outer step i sees them.
  std::vector<InnerWindow> windows(int64_t i, std::span<const Ref> refs) const;
  // One inner step. slots: of a, b, c; sum: the f32 scratch.
  void work(Core& core, const Dims& step, std::span<const Ref> slots, const Ref& sum) const;
};

KernelCase nested_pipeline_case(const NestedPipeline& p);

}  // namespace tilecheck
