// Small kernels built in C++, shared by the tests of payloads.
#pragma once

#include <string>
#include <vector>

#include "sim/mosaic/builder.h"
#include "sim/mosaic/bytecode_writer.h"
#include "sim/mosaic/kernel_module.h"

namespace tilecheck::mosaic {

// out = max(2 x + 1, 0) over blocks of 8x128 of a 32x128 array, as Pallas emits it: with a dead load before the store.
inline Module relu_module(int ir_version = kNewestIrVersion) {
  ModuleBuilder m(ir_version);
  const Type* block = m.memref(DType::f32, {8, 128});
  const Type* value = m.vector(DType::f32, {8, 128});
  m.kernel("relu", {.grid = {4}, .windows = {{block, "transform_0"}, {block, "transform_0"}}}, [&](BlockBuilder& b) {
    m.at("relu.py", 10, 5);
    const ValueId c0 = b.index(0);
    const ValueId x = b.load(b.arg(1), {c0, c0});
    m.at("relu.py", 11, 7);
    const ValueId doubled = b.binary("arith.mulf", x, b.splat(value, 2.0));
    const ValueId shifted = b.binary("arith.addf", doubled, b.splat(value, 1.0));
    m.at("relu.py", 12, 3);
    const ValueId positive = b.binary("arith.maximumf", shifted, b.splat(value, 0.0));
    b.load(b.arg(2), {c0, c0});
    b.store(positive, b.arg(2), {c0, c0});
  });
  m.index_map("transform_0", 1, [](BlockBuilder& b) { return std::vector<ValueId>{b.arg(0), b.i32(0)}; });
  return m.finish();
}

// A call of a module's kernel with these arrays.
inline KernelCall call_of(const Module& module, std::vector<ArrayType> operands, std::vector<ArrayType> results) {
  KernelCall call;
  call.source = "test";
  call.call.target = "tpu_custom_call";
  call.call.operands = std::move(operands);
  call.call.results = std::move(results);
  call.config.body = write_bytecode(module);
  return call;
}

inline KernelCall relu_call() { return call_of(relu_module(), {{DType::f32, {32, 128}}}, {{DType::f32, {32, 128}}}); }

// A module whose only function is made by `body`, with these arguments.
inline Module function_of(const std::function<std::vector<const Type*>(ModuleBuilder&)>& inputs,
                          const std::function<void(ModuleBuilder&, BlockBuilder&)>& body,
                          int ir_version = kNewestIrVersion) {
  ModuleBuilder m(ir_version);
  const std::vector<const Type*> types = inputs(m);
  m.function("f", types, {}, {}, [&](BlockBuilder& b) {
    body(m, b);
    return std::vector<ValueId>{};
  });
  return m.finish();
}

// The message of what `action` throws (InputError or Incomplete); empty if it throws nothing.
template <typename Fn>
std::string message_of(Fn&& action) {
  try {
    action();
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

inline std::string as_string(const std::vector<uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

}  // namespace tilecheck::mosaic
