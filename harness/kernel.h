// A kernel of the C++ door as the command knows it: parameters, and how to make a runnable case from their values.
//
//   Kernel relu() {
//     return {.name = "relu", .summary = "max(x, 0)",
//             .params = {int_param("n", 1024, "elements"), dtype_param("dtype", DType::f32, {DType::f32,
//             DType::bf16})}, .make = [](const ParamValues& v) { KernelCase c; c.spec = ...; c.body = ...; c.reference
//             = ...; return c; }};
//   }
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/machine/launch.h"
#include "sim/report/kinds.h"
#include "sim/spec/kernel_spec.h"
#include "sim/types/host_array.h"

namespace tilecheck {

enum class ParamType : uint8_t { integer, number, boolean, dtype, choice };

struct Param {
  std::string name;
  ParamType type = ParamType::integer;
  std::string default_text;
  std::string help;
  std::vector<std::string> choices;         // dtype and choice: what is accepted
  int64_t min = 1, max = int64_t{1} << 40;  // integer: what is accepted
  std::vector<std::string> samples;         // what property tests draw from, simplest first; empty: the default alone
};
Param int_param(std::string name, int64_t default_value, std::string help, std::vector<int64_t> samples = {},
                int64_t min = 1);
Param number_param(std::string name, double default_value, std::string help, std::vector<double> samples = {});
Param bool_param(std::string name, bool default_value, std::string help);  // the property test draws both
Param dtype_param(std::string name, DType default_value, std::vector<DType> choices, std::string help = "element type");
Param choice_param(std::string name, std::string default_value, std::vector<std::string> choices, std::string help);

// Values for a kernel's parameters. Getters of a name or type that the kernel does not declare are programming errors.
class ParamValues {
 public:
  // Defaults, overridden by `set` ("block_q" -> "256"). InputError for an unknown name (says the nearest one) or a
  // value that does not parse or lies outside what the parameter accepts.
  ParamValues(std::span<const Param> params, const std::map<std::string, std::string>& set);

  int64_t integer(std::string_view name) const;
  double number(std::string_view name) const;
  bool flag(std::string_view name) const;
  DType dtype(std::string_view name) const;
  const std::string& choice(std::string_view name) const;
  // As text, in the parameters' order: what --set takes.
  const std::vector<std::pair<std::string, std::string>>& texts() const { return texts_; }

 private:
  struct Value {
    ParamType type;
    int64_t integer = 0;
    double number = 0;
    DType dtype = DType::f32;
    std::string text;
  };
  const Value& find(std::string_view name, ParamType type) const;
  std::vector<std::pair<std::string, std::string>> texts_;
  std::vector<Value> values_;
};

// How an operand is filled when the user gives none and asks for no fill by name.
struct InputHint {
  double low = -1, high = 1;                                   // floats: uniform in [low, high)
  int64_t int_low = 0, int_high = 8;                           // integers: uniform in [int_low, int_high)
  std::function<HostArray(uint64_t seed, int device)> values;  // instead: page tables, segment ids, lengths
  // Instead, whatever fill is asked for: what another kernel makes of the device's other operands (all of them are
  // given; derived ones may be empty).
  std::function<HostArray(std::span<const HostArray> operands)> derived;
};

// How a result is judged. With a naive computation: its error against the reference, times `naive_factor`, plus the
// floor. Without: the floor alone.
struct ResultRule {
  double naive_factor = 2;  // 3 for gradients
  double atol = -1;         // floor; negative: a few roundings of the result's own type
  double rtol = -1;
  bool bit_equal = false;  // integers and booleans are always judged so
};

using Arrays = std::vector<HostArray>;

// One kernel at fixed parameter values: what is launched and what its results should be.
struct KernelCase {
  KernelSpec spec;
  Body body;
  std::vector<InputHint> hints;  // scalar prefetch first, then inputs; missing ones are defaults

  // Both take one device's operands (scalar prefetch, then inputs) and give one array per result; an array without
  // value is not compared. reference: in f64 (or the result's own integer type). naive: the same computation done
  // plainly in the kernel's own types and numerics, so that its error says how much rounding is to be expected.
  std::function<Arrays(std::span<const HostArray> operands)> reference;
  std::function<Arrays(std::span<const HostArray> operands, Numerics numerics)> naive;
  // Exponentials, divisions and the like: --integers cannot ask for equal bits.
  bool is_inexact_on_integers = false;
  // Instead of `reference` when results depend on other devices' operands: one entry per device, in and out.
  std::function<std::vector<Arrays>(std::span<const Arrays> operands)> device_reference;
  std::vector<ResultRule> rules;  // per result; missing ones are defaults

  std::string headline;  // what the case is, for the report's first line: "q,k,v bf16[1,8,2048,128]   causal"
  int devices = 1;
  Dims mesh;      // logical device grid; empty: {devices}
  int cores = 1;  // of each device; more if the user asks for more
};

// A wrong variant of a kernel, and what must be said about it.
struct BrokenTwin {
  std::string name;                        // "forgotten_rescale"
  std::string what;                        // one line: what is wrong
  Kind kind;                               // the kind it must be named by
  std::map<std::string, std::string> set;  // parameter values at which it shows; the kernel itself is clean at these
  std::function<KernelCase(const ParamValues&)> make;
};

struct Kernel {
  std::string name;
  std::string summary;  // one line
  std::vector<Param> params;
  // InputError when the values do not go together.
  std::function<KernelCase(const ParamValues&)> make;
  std::vector<BrokenTwin> broken;
};

// The kernels that the command, the matchers and the Python module find by name. Names are unique.
void add_kernel(Kernel kernel);
const std::deque<Kernel>& registered_kernels();
// "flash_attention", or "flash_attention/forgotten_rescale" for a broken twin. InputError with the nearest name.
struct KernelChoice {
  const Kernel* kernel;
  const BrokenTwin* twin = nullptr;
  std::string name() const { return twin ? kernel->name + "/" + twin->name : kernel->name; }
  KernelCase make(const std::map<std::string, std::string>& set) const;
};
KernelChoice kernel_named(std::string_view name);
bool is_kernel_name(std::string_view name);

}  // namespace tilecheck
