// Builds modules in C++, for tests and fixtures:
//
//   ModuleBuilder m;
//   const Type* block = m.memref(DType::f32, {8, 128});
//   m.kernel("relu", {.grid = {4}, .windows = {{block, "transform_0"}, {block, "transform_0"}}}, [&](BlockBuilder& b) {
//     const ValueId c0 = b.index(0);
//     const ValueId x = b.load(b.arg(1), {c0, c0});
//     b.store(b.binary("arith.maximumf", x, b.splat(m.vector(DType::f32, {8, 128}), 0.0)), b.arg(2), {c0, c0});
//   });
//   m.index_map("transform_0", 1, [](BlockBuilder& b) { return std::vector{b.arg(0), b.i32(0)}; });
//   Module module = m.finish();
#pragma once

#include <functional>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "sim/mosaic/ir.h"
#include "sim/mosaic/upgrade.h"

namespace tilecheck::mosaic {

class BlockBuilder;
using BuildBlock = std::function<void(BlockBuilder&)>;
using BuildYield = std::function<std::vector<ValueId>(BlockBuilder&)>;

struct AttrEntry {
  std::string_view name;
  const Attr* value;
};

// Names, types and attributes are copied into the module. Nothing is checked here: that is the verifier's task.
class ModuleBuilder {
 public:
  explicit ModuleBuilder(int ir_version = kNewestIrVersion);

  // ---- types
  const Type* scalar(DType dtype);
  const Type* index();
  const Type* i1() { return scalar(DType::b1); }
  const Type* i32() { return scalar(DType::i32); }
  const Type* f32() { return scalar(DType::f32); }
  const Type* vector(DType dtype, const Shape& shape);
  const Type* memref(DType dtype, const Shape& shape, Space space = Space::vmem);
  const Type* semaphore(DType dtype = DType::dma_semaphore, const Shape& shape = {}) {
    return memref(dtype, shape, Space::semaphore);
  }
  const Type* function_type(const std::vector<const Type*>& inputs, const std::vector<const Type*>& results);

  // ---- attributes
  const Attr* integer(DType dtype, int64_t value);
  const Attr* integer(int64_t value) { return integer(DType::i32, value); }
  const Attr* boolean(bool value) { return integer(DType::b1, value ? 1 : 0); }
  const Attr* index_attr(int64_t value);
  const Attr* floating(DType dtype, double value);  // rounded to the type
  const Attr* string(std::string_view text);
  const Attr* symbol(std::string_view text);
  const Attr* type_attr(const Type* type);
  const Attr* array(const std::vector<const Attr*>& elements);
  const Attr* dict(const std::vector<AttrEntry>& entries);
  const Attr* ints(DType dtype, const std::vector<int64_t>& values);       // array<i32: ...>
  const Attr* dense(const Type* type, const std::vector<double>& values);  // one value: a splat
  const Attr* text(std::string_view written);  // "#tpu.core_type<tc>", "affine_map<(d0) -> (d0)>"

  // ---- functions
  struct Window {
    const Type* type;                  // the argument's memref
    std::string_view transform;        // of a function; empty: no window (the whole array)
    std::vector<AttrEntry> more = {};  // pipeline_mode, ...
  };
  struct Kernel {
    std::vector<int64_t> grid = {};
    std::vector<const Type*> prefetch = {};
    std::vector<Window> windows = {};  // inputs, then outputs
    std::vector<const Type*> scratch = {};
    std::vector<std::string_view> semantics = {};  // "parallel", ...; empty: all arbitrary
    std::vector<AttrEntry> more = {};
  };
  // The main function: arguments are grid ids, prefetch, windows, scratch. func.return is added.
  void kernel(std::string_view name, const Kernel& kernel, const BuildBlock& body);
  // A transform function of grid ids and prefetch memrefs that returns what `body` gives (i32 each).
  void index_map(std::string_view name, int grid_rank, const BuildYield& body,
                 const std::vector<const Type*>& prefetch = {});
  void function(std::string_view name, const std::vector<const Type*>& inputs, const std::vector<const Type*>& results,
                const std::vector<AttrEntry>& attrs, const BuildYield& body);

  // Operations made from now on are at this line and column (both from 1) of a file.
  void at(std::string_view file, int line, int column = 1, std::string_view function = "kernel");

  Module& module() { return module_; }
  Module finish();

 private:
  friend class BlockBuilder;
  std::span<const NamedAttr> entries(const std::vector<AttrEntry>& list);
  Module module_;
  LocId loc_ = kNoLoc;
};

// Appends operations to one block.
class BlockBuilder {
 public:
  ValueId arg(uint32_t i) const { return first_arg_ + i; }
  const Type& type_of(ValueId id) const { return *function_->value_types[id]; }

  // Any operation, by name. Returns the first result.
  ValueId op(std::string_view name, const std::vector<ValueId>& operands, const std::vector<const Type*>& results = {},
             const std::vector<AttrEntry>& attrs = {}, const std::vector<BuildYield>& regions = {});

  // ---- shorthands
  ValueId constant(const Attr* value);
  ValueId index(int64_t value);
  ValueId i32(int64_t value);
  ValueId f32(double value);
  ValueId splat(const Type* vector, double value);
  ValueId unary(std::string_view name, ValueId a);                              // result of a's type
  ValueId binary(std::string_view name, ValueId a, ValueId b);                  // result of a's type
  ValueId compare(std::string_view name, int predicate, ValueId a, ValueId b);  // arith.cmpi, arith.cmpf
  ValueId cast(std::string_view name, ValueId a, DType to);
  ValueId as_index(ValueId i32);
  // The whole block from `indices` on: a vector of `shape` (empty: the memref's own).
  ValueId load(ValueId ref, const std::vector<ValueId>& indices, const Shape& shape = {});
  void store(ValueId value, ValueId ref, const std::vector<ValueId>& indices, const ValueId* mask = nullptr);
  ValueId scalar_load(ValueId ref, const std::vector<ValueId>& indices);
  void scalar_store(ValueId value, ValueId ref, const std::vector<ValueId>& indices);
  ValueId slice(ValueId ref, const std::vector<ValueId>& starts, const Shape& shape);
  ValueId squeeze(ValueId ref, const Shape& shape);
  ValueId matmul(ValueId lhs, ValueId rhs, ValueId acc);
  ValueId reduce(std::string_view kind, ValueId vector, ValueId acc, const std::vector<int64_t>& dims);
  void dma(ValueId source, ValueId target, ValueId semaphore);
  void wait_dma(ValueId semaphore, ValueId source, ValueId target);
  void signal(ValueId semaphore, ValueId amount);
  void wait(ValueId semaphore, ValueId amount);
  // Then (and else) yield values of `results`.
  ValueId branch(ValueId condition, const std::vector<const Type*>& results, const BuildYield& then_block,
                 const BuildYield& else_block);
  void when(ValueId condition, const BuildBlock& then_block);
  // arg(0) is the induction variable, arg(1).. the carried values. Returns the first result.
  ValueId loop(ValueId lo, ValueId hi, ValueId step, const std::vector<ValueId>& init, const BuildYield& body);
  void scope(const BuildBlock& body);  // tpu.region
  ValueId alloca(const Type* memref);
  ValueId sem_alloc(const Type* memref);

  ModuleBuilder& module() { return *module_; }

 private:
  friend class ModuleBuilder;
  BlockBuilder(ModuleBuilder& module, Function& function) : module_(&module), function_(&function) {}
  void add_args(const std::vector<const Type*>& types);
  Region finish_region();
  ValueId add_values(const std::vector<const Type*>& types);
  Region region(const std::vector<const Type*>& args, std::string_view terminator, const BuildYield& body);

  ModuleBuilder* module_;
  Function* function_;
  ValueId first_arg_ = 0;
  uint32_t arg_count_ = 0;
  std::vector<Op> ops_;
};

}  // namespace tilecheck::mosaic
