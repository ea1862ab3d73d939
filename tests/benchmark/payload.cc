// Payloads on the machine, all checks on, decoding excluded: the modules named in $TILECHECK_MODULES (parted by ':'),
// else this project's own fixtures. Operands are random. tests/benchmark/against_jax.py sets JAX's interpreters beside
// it.
#include "sim/mosaic/payload.h"

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "harness/fill.h"
#include "sim/io/file.h"

namespace tilecheck {
namespace {

struct Prepared {
  std::shared_ptr<const mosaic::Payload> payload;
  KernelSpec spec;
  Body body;
  DeviceArgs args;
};

Prepared prepare(const std::string& path) {
  Prepared p;
  p.payload = mosaic::Payload::make(mosaic::open_kernel(mosaic::read_kernel_calls(read_file(path), path).front()));
  std::vector<HostArray> operands;
  uint64_t stream = 0;
  for (const mosaic::ArrayType& type : p.payload->kernel().call.operands) {
    Fill how;
    how.kind = FillKind::random;
    how.stream = stream++;
    operands.push_back(filled(type.dtype, type.shape, how));
  }
  p.spec = p.payload->spec(p.payload->bounds(operands));
  p.body = p.payload->body();
  p.args = p.payload->arguments(operands);
  return p;
}

void run(benchmark::State& state, const std::string& path) {
  const Prepared p = prepare(path);
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

const int kRegistered = [] {
  for (const std::string& path : modules())
    benchmark::RegisterBenchmark(path.c_str(), [path](benchmark::State& state) { run(state, path); })
        ->Arg(1)
        ->Arg(2)
        ->UseRealTime()
        ->Unit(benchmark::kMillisecond);
  return 0;
}();

}  // namespace
}  // namespace tilecheck
