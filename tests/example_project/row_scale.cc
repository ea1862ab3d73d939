// A kernel of somebody who uses Tilecheck: y = x with each row multiplied by a factor of its own.
#include "harness/cli.h"
#include "harness/kernel.h"

using namespace tilecheck;

namespace {

KernelCase row_scale(const ParamValues& params, bool forget_scale) {
  const int64_t rows = params.integer("rows"), columns = params.integer("columns"),
                block = params.integer("block_rows");
  const auto window = [&](const char* name, int64_t width) {
    Window w;
    w.name = name;
    w.array = {rows, width};
    w.block = {block, width};
    w.index = [](Index i) { return Indices{i, 0}; };
    return w;
  };
  KernelCase c;
  c.spec.name = "row_scale";
  c.spec.grid = {(rows + block - 1) / block};
  c.spec.in = {window("x", columns), window("factor", 1)};
  c.spec.out = {window("y", columns)};
  c.body = [forget_scale](Core& core, std::span<const Ref> refs) {
    const Tile x = core.load(refs[0]);
    const Tile factor = core.load(refs[1]);  // one column: spread over the block's
    core.store(refs[2], forget_scale ? x : x * broadcast_to(factor, x.shape()));
  };
  c.reference = [](std::span<const HostArray> in) {
    const HostArray &x = in[0], &factor = in[1];
    HostArray y(DType::f64, x.shape());
    for (int64_t i = 0; i < y.size(); ++i) y.set(i, x.at(i) * factor.at(i / x.shape()[1]));
    return Arrays{y};
  };
  return c;
}

}  // namespace

int main(int argc, char** argv) {
  Kernel kernel;
  kernel.name = "row_scale";
  kernel.summary = "each row times a factor of its own";
  kernel.params = {int_param("rows", 64, "rows"), int_param("columns", 256, "columns"),
                   int_param("block_rows", 16, "rows in a block")};
  kernel.make = [](const ParamValues& v) { return row_scale(v, false); };
  kernel.broken = {{.name = "forgotten_scale",
                    .what = "the factor is loaded but not used",
                    .kind = Kind::result_mismatch,
                    .set = {},
                    .make = [](const ParamValues& v) { return row_scale(v, true); }}};
  add_kernel(std::move(kernel));
  return cli(argc, argv);
}
