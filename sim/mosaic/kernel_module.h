// One kernel as the simulator needs it: the call around it, its configuration, its module, and what its arguments mean.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/mosaic/backend_config.h"
#include "sim/mosaic/dead_code.h"
#include "sim/mosaic/ir.h"
#include "sim/mosaic/load.h"
#include "sim/mosaic/op_attrs.h"
#include "sim/mosaic/stablehlo_scan.h"

namespace tilecheck::mosaic {

// A kernel found in a file, not yet decoded.
struct KernelCall {
  std::string source;  // what it was read from, for messages: "module.mlir line 3"
  CustomCall call;     // operands, results and aliases are empty for a bare body or backend_config
  BackendConfig config;
  bool has_signature = true;  // whether the call's operand and result types are known
};

// The kernels in a file's bytes: StableHLO text, a bare backend_config (JSON), or a bare body (MLIR bytecode).
// Throws InputError or Incomplete as the readers do; there is at least one kernel in the result.
std::vector<KernelCall> read_kernel_calls(std::string_view bytes, std::string_view name);

// How one operand or result reaches the body.
struct WindowParams {
  bool windowed = false;  // false: `{}` in window_params, or no window_params: the body gets the whole array
  bool stays = false;     // not windowed: the array itself lies in the argument's memory, before and after the kernel
  Dims block;             // sizes; squeezed dimensions are 1 and in no way marked
  const Function* transform = nullptr;       // grid ids and scalar-prefetch memrefs -> block indices
  const AffineMap* transform_map = nullptr;  // in its place where there is no pipeline
  int buffers = 0;                           // pipeline_mode: 1 synchronous, 2 double_buffered, 0 not said
  Revisit revisit = Revisit::immediate;
  std::optional<ElementWindow> element;  // indices count elements, with this padding
};

struct KernelModule {
  std::string name;  // kernel_name, else the main function's
  std::string source;
  Module module;
  CustomCall call;  // its signature is complete
  BackendConfig config;
  const Function* main = nullptr;

  // main's arguments, in order: grid ids, scalar prefetch, inputs, outputs, scratch.
  Dims grid;                         // kDynamic where bounded by a leading operand; empty: no grid
  std::vector<Semantics> semantics;  // per grid dimension; empty: none given
  int dynamic_bounds = 0;            // leading operands of the call
  int prefetch_count = 0, input_count = 0, output_count = 0, scratch_count = 0;
  std::vector<WindowParams> windows;        // inputs, then outputs
  std::optional<int64_t> vmem_limit_bytes;  // scoped_memory_configs, or given by the user
  RemovedOps removed;                       // dead code that open_kernel took out; its loads are counted in reports

  bool has_grid() const { return !grid.empty(); }
  ValueId prefetch_arg(int i) const { return arg(grid.rank() + i); }
  ValueId window_arg(int i) const { return arg(grid.rank() + prefetch_count + i); }
  ValueId scratch_arg(int i) const { return arg(grid.rank() + prefetch_count + input_count + output_count + i); }
  const Type& arg_type(ValueId id) const { return main->type_of(id); }
  // Operands of the call: dynamic grid bounds, scalar prefetch, inputs.
  const ArrayType& prefetch_array(int i) const { return call.operands[static_cast<size_t>(dynamic_bounds + i)]; }
  const ArrayType& input_array(int i) const {
    return call.operands[static_cast<size_t>(dynamic_bounds + prefetch_count + i)];
  }
  const ArrayType& output_array(int i) const { return call.results[static_cast<size_t>(i)]; }
  const ArrayType& window_array(int i) const {
    return i < input_count ? input_array(i) : output_array(i - input_count);
  }
  // What to call an argument: its name in the source where the payload has it, else "prefetch0", "in0", "out1",
  // "scratch0". Distinct.
  std::string prefetch_name(int i) const { return arg_names[static_cast<size_t>(grid.rank() + i)]; }
  std::string window_name(int i) const { return arg_names[static_cast<size_t>(grid.rank() + prefetch_count + i)]; }
  std::string scratch_name(int i) const {
    return arg_names[static_cast<size_t>(grid.rank() + prefetch_count + input_count + output_count + i)];
  }
  std::vector<std::string> arg_names;  // of all arguments; grid ids are "i0", "i1", ...
  Loc loc(LocId id) const { return user_loc(module, id); }

 private:
  ValueId arg(int i) const { return main->body.block().first_arg + static_cast<ValueId>(i); }
};

struct OpenOptions : LoadOptions {
  // For a bare body or backend_config, which carry no types. operands: those that are known; the body says the types of
  // the others where it gets them whole.
  std::vector<std::optional<ArrayType>> operands;
  std::vector<ArrayType> results;
  std::vector<Alias> aliases;
  std::optional<int64_t> vmem_limit_bytes;  // instead of the payload's
};

// Decodes, verifies, removes dead code and checks that the call and the kernel fit each other. Throws InputError (also
// for a bare body whose result types are missing: it says which option gives them) or Incomplete.
KernelModule open_kernel(const KernelCall& call, const OpenOptions& options = {});

// The main function: the one with a `scalar_prefetch` attribute, or the only one. InputError if there is none.
const Function& main_function(const Module& module, std::string_view name);

}  // namespace tilecheck::mosaic
