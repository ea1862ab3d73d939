#include "tools/python/native/kernel_cache.h"

#include "harness/fit.h"
#include "sim/machine/not_modelled.h"
#include "sim/mosaic/fit_body.h"
#include "sim/mosaic/kernel_module.h"
#include "tools/python/native/runner.h"

namespace tilecheck::python {
namespace {

// What makes two calls the same kernel.
std::string key_of(const CallSignature& s) {
  std::string key;
  key.reserve(s.config.size() + s.options.size() + 256);
  const auto types = [&](const std::vector<mosaic::ArrayType>& list) {
    for (const auto& t : list) {
      key += static_cast<char>(t.dtype);
      for (int d = 0; d < t.shape.rank(); ++d) key += std::to_string(t.shape[d]) + ",";
    }
    key += '|';
  };
  types(s.operands);
  types(s.results);
  for (const Alias& a : s.aliases) key += std::to_string(a.input) + ":" + std::to_string(a.output) + ",";
  for (const int64_t d : s.mesh) key += "x" + std::to_string(d);
  key += '|';
  key += s.name;
  key += '|';
  key += s.options;
  key += s.config;
  return key;
}

Kernel decode(const CallSignature& s, int number) {
  Kernel kernel;
  kernel.number = number;
  kernel.options = parse_options(s.options);
  mosaic::KernelCall call;
  call.source = "kernel " + std::string(s.name);
  call.call.target = "tpu_custom_call";
  call.call.kernel_name = s.name;
  call.call.backend_config = s.config;
  call.call.operands = s.operands;
  call.call.results = s.results;
  call.call.aliases = s.aliases;
  call.config = mosaic::parse_backend_config(s.config, call.source);
  kernel.payload = mosaic::Payload::make(mosaic::open_kernel(call));
  kernel.spec = kernel.payload->spec();
  if (kernel.payload->not_modelled().empty()) kernel.body = kernel.payload->body();
  for (const std::string& why :
       {kernel.payload->not_modelled(),
        why_not_modelled(kernel.spec, kernel.options.launch.target, kernel.options.launch.cores)})
    if (!why.empty()) kernel.analysis.report.incomplete.push_back(why);
  kernel.devices = s.devices;
  kernel.mesh = s.mesh;
  const mosaic::KernelModule& module = kernel.payload->kernel();
  kernel.analysis.subject = module.name;
  kernel.analysis.report.kernel = module.name;
  kernel.analysis.report.target = kernel.options.launch.target->name;
  const fit::Body facts = mosaic::fit_body(module.module, *module.main);
  for (const mosaic::LocNode& node : module.module.locs)
    if (node.kind == mosaic::LocNode::Kind::file) suppressions().add_file(std::string(node.text));
  analyse_fit(kernel.spec, &facts, {.target = kernel.options.launch.target, .is_payload = true}, kernel.analysis);
  return kernel;
}

}  // namespace

std::shared_ptr<const Kernel> KernelCache::find(const CallSignature& signature) {
  std::string key = key_of(signature);
  int number;
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = kernels_.find(key); found != kernels_.end()) {
      ++hits_;
      return found->second;
    }
    ++misses_;
    number = next_number_++;
  }
  // Two threads may decode the same kernel at once; the first one in stays.
  auto kernel = std::make_shared<const Kernel>(decode(signature, number));
  const std::lock_guard lock(mutex_);
  return kernels_.emplace(std::move(key), std::move(kernel)).first->second;
}

KernelCache::Stats KernelCache::stats() const {
  const std::lock_guard lock(mutex_);
  return {hits_, misses_, kernels_.size()};
}

void KernelCache::clear() {
  const std::lock_guard lock(mutex_);
  kernels_.clear();
}

}  // namespace tilecheck::python
