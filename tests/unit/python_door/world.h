// Kernel calls as they come from Python, made in C++.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "sim/io/npy.h"
#include "sim/mosaic/backend_config.h"
#include "sim/mosaic/builder.h"
#include "sim/mosaic/bytecode_writer.h"
#include "sim/mosaic/stablehlo_scan.h"
#include "tools/python/native/device_call.h"

namespace tilecheck::python {

// A kernel with its operands and what it must make of them, device by device.
struct KnownKernel {
  std::string name, config;
  std::vector<mosaic::ArrayType> operand_types, result_types;
  Dims mesh;
  std::vector<std::vector<HostArray>> operands, results;

  CallSignature signature(std::string_view options) const {
    CallSignature s{.config = config, .name = name, .options = options};
    s.operands = operand_types;
    s.results = result_types;
    s.mesh = mesh;
    s.devices = static_cast<int>(operands.size());
    return s;
  }
};

// One of tests/fixtures, with one kernel. A broken one may have no result.
inline KnownKernel fixture(const std::string& name, int devices = 1) {
  const std::string folder = std::string(TILECHECK_SOURCE_DIR) + "/tests/fixtures/" + name;
  std::ifstream in(folder + "/module.mlir", std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(in), {});
  const mosaic::CustomCall call = mosaic::tpu_calls(mosaic::scan_stablehlo(text, name), name).at(0);
  KnownKernel k{name, call.backend_config, call.operands, call.results, {}, {}, {}};
  if (devices > 1) k.mesh = {devices};
  for (int d = 0; d < devices; ++d) {
    const std::string end = devices > 1 ? ".dev" + std::to_string(d) + ".npy" : ".npy";
    auto& operands = k.operands.emplace_back();
    for (size_t i = 0; i < call.operands.size(); ++i)
      operands.push_back(read_npy(folder + "/operand_" + std::to_string(i) + end));
    const std::string result = folder + "/result_0" + end;
    if (std::filesystem::exists(result)) k.results.push_back({read_npy(result)});
  }
  return k;
}

// x + 1 in one block of 8x128, again and again: over `grid`, and `turns` times in a loop in each step.
inline KnownKernel long_kernel(int64_t grid, int64_t turns, std::string_view semantics) {
  mosaic::ModuleBuilder m;
  const mosaic::Type* block = m.memref(DType::f32, {8, 128});
  const mosaic::Type* value = m.vector(DType::f32, {8, 128});
  m.kernel("long", {.grid = {grid}, .windows = {{block, "in"}, {block, "out"}}, .semantics = {semantics}},
           [&](mosaic::BlockBuilder& b) {
             const mosaic::ValueId c0 = b.index(0);
             b.loop(b.i32(0), b.i32(turns), b.i32(1), {}, [&](mosaic::BlockBuilder& in) {
               in.store(in.binary("arith.addf", in.load(b.arg(1), {c0, c0}), in.splat(value, 1.0)), b.arg(2), {c0, c0});
               return std::vector<mosaic::ValueId>{};
             });
           });
  const bool apart = semantics == "parallel";
  m.index_map("in", 1, [](mosaic::BlockBuilder& b) { return std::vector{b.i32(0), b.i32(0)}; });
  m.index_map("out", 1, [&](mosaic::BlockBuilder& b) { return std::vector{apart ? b.arg(0) : b.i32(0), b.i32(0)}; });
  mosaic::BackendConfig config;
  config.body = mosaic::write_bytecode(m.finish());
  const Shape rows{apart ? 8 * grid : 8, 128};
  KnownKernel k{"long", mosaic::to_json(config), {{DType::f32, {8, 128}}}, {{DType::f32, rows}}, {}, {}, {}};
  k.operands.push_back({HostArray(DType::f32, {8, 128})});
  return k;
}

// One device's call. The result arrays are kept in `results`.
inline CallStatus call(const KnownKernel& k, std::string_view options, std::vector<HostArray>& results,
                       const Caller& caller = {}, std::chrono::milliseconds patience = kPatience) {
  DeviceArrays arrays;
  const auto device = static_cast<size_t>(caller.device);
  for (size_t i = 0; i < k.operand_types.size(); ++i)
    arrays.operands.push_back({k.operand_types[i], const_cast<std::byte*>(k.operands[device][i].data())});
  results.clear();
  for (const mosaic::ArrayType& type : k.result_types) results.emplace_back(type.dtype, type.shape);
  for (size_t i = 0; i < results.size(); ++i) arrays.results.push_back({k.result_types[i], results[i].data()});
  return call_on_device(k.signature(options), std::move(arrays), caller, patience);
}

}  // namespace tilecheck::python
