// Small kernels for the machine's tests.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/machine/launch.h"

namespace tilecheck {

inline HostArray iota_array(DType dtype, const Shape& shape, double from = 0) {
  HostArray a(dtype, shape);
  for (int64_t i = 0; i < a.size(); ++i) a.set(i, from + static_cast<double>(i));
  return a;
}

inline Window window(std::string name, Shape array, BlockShape block, IndexMap map) {
  Window w;
  w.name = std::move(name);
  w.array = array;
  w.block = std::move(block);
  w.index = std::move(map);
  return w;
}

// x -> o in blocks of one row of 128.
inline KernelSpec row_kernel(int64_t rows) {
  KernelSpec s;
  s.name = "rows";
  s.grid = {rows};
  s.in.push_back(window("x", {rows, 128}, {1, 128}, [](Index i) { return Indices{i, 0}; }));
  s.out.push_back(window("o", {rows, 128}, {1, 128}, [](Index i) { return Indices{i, 0}; }));
  return s;
}

inline LaunchResult run(const KernelSpec& spec, const Body& body, std::vector<HostArray> in,
                        LaunchOptions options = {}) {
  const DeviceArgs args{{}, std::move(in)};
  return launch(spec, body, {&args, 1}, options);
}

// "race, undefined-output": the kinds found, in order, notes left out.
inline std::string kinds(const LaunchResult& r, Severity at_least = Severity::warning) {
  std::string text;
  for (const Finding& f : r.report.findings)
    if (f.severity >= at_least) text += (text.empty() ? "" : ", ") + std::string(name(f.kind));
  return text;
}

}  // namespace tilecheck
