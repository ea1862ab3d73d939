// Payloads on the machine, all checks on, decoding excluded: the modules named in $TILECHECK_MODULES (parted by ':'),
// else this project's own fixtures. Beside them kernels of the C++ door, under the names that
// tests/benchmark/against_jax.py gives payloads of the same tiles. Operands are random. That script sets JAX's
// interpreters beside both.
#include "sim/mosaic/payload.h"

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "harness/fill.h"
#include "kernels/list.h"
#include "sim/io/file.h"

namespace tilecheck {
namespace {

struct Prepared {
  std::shared_ptr<const mosaic::Payload> payload;
  KernelSpec spec;
  Body body;
  DeviceArgs args;
};

HostArray random_operand(DType dtype, const Shape& shape, uint64_t stream) {
  Fill how;
  how.kind = FillKind::random;
  how.stream = stream;
  return filled(dtype, shape, how);
}

Prepared prepare(const std::string& path) {
  Prepared p;
  p.payload = mosaic::Payload::make(mosaic::open_kernel(mosaic::read_kernel_calls(read_file(path), path).front()));
  std::vector<HostArray> operands;
  for (const mosaic::ArrayType& type : p.payload->kernel().call.operands)
    operands.push_back(random_operand(type.dtype, type.shape, operands.size()));
  p.spec = p.payload->spec(p.payload->bounds(operands));
  p.body = p.payload->body();
  p.args = p.payload->arguments(operands);
  return p;
}

// A kernel of the C++ door at fixed parameters.
struct SameTiles {
  const char* name;
  Kernel (*kernel)();
  std::map<std::string, std::string> set;
};

std::map<std::string, std::string> flash(const char* dtype, const char* heads, const char* len, const char* block) {
  return {{"dtype", dtype}, {"heads", heads}, {"len", len}, {"block_q", block}, {"block_kv", block}};
}

const SameTiles kSameTiles[] = {
    {"flash f32 1x2x512x128 in 128s", flash_attention_kernel, flash("f32", "2", "512", "128")},
    {"flash f32 1x1x2048x128 in 128s", flash_attention_kernel, flash("f32", "1", "2048", "128")},
    {"flash bf16 1x2x512x128 in 128s", flash_attention_kernel, flash("bf16", "2", "512", "128")},
    {"flash bf16 1x1x2048x128 in 128s", flash_attention_kernel, flash("bf16", "1", "2048", "128")},
    {"flash f32 1x2x512x128 in 512s", flash_attention_kernel, flash("f32", "2", "512", "512")},
    {"flash f32 1x1x2048x128 in 512s", flash_attention_kernel, flash("f32", "1", "2048", "512")},
    {"flash bf16 1x2x512x128 in 512s", flash_attention_kernel, flash("bf16", "2", "512", "512")},
    {"flash bf16 1x1x2048x128 in 512s", flash_attention_kernel, flash("bf16", "1", "2048", "512")},
    {"matmul f32 1024 in 256s",
     matmul_kernel,
     {{"m", "1024"}, {"n", "1024"}, {"k", "1024"}, {"block_m", "256"}, {"block_n", "256"}, {"block_k", "256"}}},
    {"relu f32 1024 in 256s", relu_2x_plus_1_kernel, {{"n", "1024"}, {"block", "256"}}},
};

Prepared prepare(const SameTiles& tiles) {
  const Kernel kernel = tiles.kernel();
  const KernelCase c = kernel.make(ParamValues(kernel.params, tiles.set));
  Prepared p;
  p.spec = c.spec;
  p.body = c.body;
  for (const Window& w : c.spec.in) p.args.in.push_back(random_operand(w.dtype, w.array, p.args.in.size()));
  return p;
}

void run(benchmark::State& state, const Prepared& p) {
  LaunchOptions options;
  options.threads = static_cast<int>(state.range(0));
  for (auto _ : state) {
    const LaunchResult r = launch(p.spec, p.body, {&p.args, 1}, options);
    benchmark::DoNotOptimize(r.devices.front().out.front().data());
    if (!r.report.incomplete.empty()) state.SkipWithError(r.report.incomplete.front().c_str());
  }
}

std::vector<std::string> modules() {
  std::vector<std::string> paths;
  if (const char* list = std::getenv("TILECHECK_MODULES")) {
    std::string text = list;
    for (size_t at = 0; at <= text.size();) {
      const size_t end = std::min(text.find(':', at), text.size());
      if (end > at) paths.push_back(text.substr(at, end - at));
      at = end + 1;
    }
    return paths;
  }
  for (const char* name : {"relu_2x_plus_1", "matmul", "flash_attention", "flash_attention_bf16", "dma_double_buffer"})
    paths.push_back("tests/fixtures/" + std::string(name) + "/module.mlir");
  return paths;
}

template <typename Source>
void add(const std::string& name, const Source& source) {
  benchmark::RegisterBenchmark(name.c_str(), [source](benchmark::State& state) { run(state, prepare(source)); })
      ->Arg(1)
      ->Arg(2)
      ->UseRealTime()
      ->Unit(benchmark::kMillisecond);
}

const int kRegistered = [] {
  for (const std::string& path : modules()) add(path, path);
  for (const SameTiles& tiles : kSameTiles) add(tiles.name, tiles);
  return 0;
}();

}  // namespace
}  // namespace tilecheck
