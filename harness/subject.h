// Subject: one kernel ready to be filled with operands and run, whichever door it came through.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/compare.h"
#include "harness/kernel.h"
#include "sim/fit/body.h"

namespace tilecheck {

struct Operand {
  enum class Role : uint8_t { grid_bound, prefetch, input };
  std::string name;
  DType dtype{};
  Shape shape;
  Role role = Role::input;
  InputHint hint;
};

struct ResultInfo {
  std::string name;
  DType dtype{};
  Shape shape;
};

// What is launched once the operands are known (a payload's grid may depend on them).
struct Launchable {
  KernelSpec spec;
  Body body;
  std::vector<DeviceArgs> args;  // per device
};

// Expected values given with a subject (a capture's goldens). `valid`: elements that count; without value: all.
struct Expected {
  HostArray array, valid;
  CompareRule rule;
  std::string source;  // the file
};

struct Subject {
  std::string name;               // "flash_attention", "module.mlir", "captures/dma_in_out"
  std::string headline;           // "q,k,v bf16[1,8,2048,128]   causal"
  std::vector<Operand> operands;  // as --in counts them
  std::vector<ResultInfo> results;
  int devices = 1;
  Dims mesh;
  int cores = 1;
  bool asks_for_core = true;  // its body may depend on the core it runs on
  std::string target;         // what a capture says it is for; empty: it does not say
  bool is_payload = false;
  std::string not_modelled;   // why its body cannot be run, known before: an operation by name; empty: it can
  std::string source_folder;  // of a payload: its own; Python sources may lie there

  KernelSpec spec;  // grid extents of a payload may be fit::kDynamicGrid here
  // operands: one entry per device, in the order of `operands`.
  std::function<Launchable(std::span<const Arrays> operands)> bind;
  // A result as the caller declared it (a payload's u32 may be i32 inside); unset: as it is.
  std::function<HostArray(int result, const HostArray& array)> declared_result;
  // The body's facts, made at the first call; null when there are none (then only blocks are counted).
  std::function<const fit::Body*()> facts;

  // What the results should be; all may be unset.
  std::function<std::vector<Arrays>(std::span<const Arrays> operands)> reference;  // per device, per result
  std::function<std::vector<Arrays>(std::span<const Arrays> operands, Numerics)> naive;
  bool is_inexact_on_integers = false;  // see KernelCase
  std::vector<ResultRule> rules;
  std::function<std::optional<Expected>(int device, int result)> expected;
  std::map<std::pair<int, int>, std::string> operand_files;  // (device, operand): where a capture keeps it
};

// A C++ kernel. `set` as --set has it.
Subject subject_of(const KernelChoice& choice, const std::map<std::string, std::string>& set);
Subject subject_of(const KernelCase& kernel_case, std::string name);

}  // namespace tilecheck
