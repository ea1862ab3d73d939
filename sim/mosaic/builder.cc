#include "sim/mosaic/builder.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "sim/mosaic/text.h"
#include "sim/types/float_formats.h"

namespace tilecheck::mosaic {

// ---- types

ModuleBuilder::ModuleBuilder(int ir_version) {
  module_.ir_version = ir_version;
  if (ir_version > 0) module_.attrs = entries({{"stable_mosaic.version", integer(DType::i64, ir_version)}});
}

const Type* ModuleBuilder::scalar(DType dtype) {
  Type type;
  type.kind = TypeKind::scalar;
  type.dtype = dtype;
  return module_.make(type);
}

const Type* ModuleBuilder::index() {
  Type type;
  type.kind = TypeKind::index;
  type.dtype = DType::i64;
  return module_.make(type);
}

const Type* ModuleBuilder::vector(DType dtype, const Shape& shape) {
  Type type;
  type.kind = TypeKind::vector;
  type.dtype = dtype;
  type.shape = shape;
  return module_.make(type);
}

const Type* ModuleBuilder::memref(DType dtype, const Shape& shape, Space space) {
  Type type;
  type.kind = TypeKind::memref;
  type.dtype = dtype;
  type.shape = shape;
  type.space = space;
  return module_.make(type);
}

const Type* ModuleBuilder::function_type(const std::vector<const Type*>& inputs,
                                         const std::vector<const Type*>& results) {
  Type type;
  type.kind = TypeKind::function;
  type.inputs = module_.copy(std::span<const Type* const>(inputs));
  type.results = module_.copy(std::span<const Type* const>(results));
  return module_.make(type);
}

// ---- attributes

const Attr* ModuleBuilder::integer(DType dtype, int64_t value) {
  Attr a;
  a.kind = AttrKind::integer;
  a.type = scalar(dtype);
  a.integer = value;
  return module_.make(a);
}

const Attr* ModuleBuilder::index_attr(int64_t value) {
  Attr a;
  a.kind = AttrKind::integer;
  a.type = index();
  a.integer = value;
  return module_.make(a);
}

const Attr* ModuleBuilder::floating(DType dtype, double value) {
  Attr a;
  a.kind = AttrKind::floating;
  a.type = scalar(dtype);
  store_from_double(dtype, &a.integer, value);  // little-endian: the element's bits are the low ones
  a.floating = load_as_double(dtype, &a.integer);
  return module_.make(a);
}

const Attr* ModuleBuilder::string(std::string_view text) {
  Attr a;
  a.kind = AttrKind::string;
  a.text = module_.copy(text);
  return module_.make(a);
}

const Attr* ModuleBuilder::symbol(std::string_view text) {
  Attr a;
  a.kind = AttrKind::symbol;
  a.text = module_.copy(text);
  return module_.make(a);
}

const Attr* ModuleBuilder::type_attr(const Type* type) {
  Attr a;
  a.kind = AttrKind::type;
  a.type = type;
  return module_.make(a);
}

const Attr* ModuleBuilder::array(const std::vector<const Attr*>& elements) {
  Attr a;
  a.kind = AttrKind::array;
  a.elements = module_.copy(std::span<const Attr* const>(elements));
  return module_.make(a);
}

const Attr* ModuleBuilder::dict(const std::vector<AttrEntry>& list) {
  Attr a;
  a.kind = AttrKind::dict;
  a.entries = entries(list);
  return module_.make(a);
}

const Attr* ModuleBuilder::ints(DType dtype, const std::vector<int64_t>& values) {
  Attr a;
  a.kind = AttrKind::dense_array;
  a.type = scalar(dtype);
  a.integers = module_.copy(std::span<const int64_t>(values));
  return module_.make(a);
}

const Attr* ModuleBuilder::dense(const Type* type, const std::vector<double>& values) {
  Attr a;
  a.kind = AttrKind::dense_elements;
  a.type = type;
  a.splat = values.size() == 1 && element_count(type->shape) != 1;
  const auto width = static_cast<size_t>(storage_bytes(type->dtype));
  const std::span<std::byte> data = module_.make_array<std::byte>(values.size() * width);
  for (size_t i = 0; i < values.size(); ++i) store_from_double(type->dtype, data.data() + i * width, values[i]);
  a.data = data;
  return module_.make(a);
}

const Attr* ModuleBuilder::text(std::string_view written) {
  TextCursor cursor(written, "attribute");
  return parse_attr(module_, cursor);
}

std::span<const NamedAttr> ModuleBuilder::entries(const std::vector<AttrEntry>& list) {
  const std::span<NamedAttr> out = module_.make_array<NamedAttr>(list.size());
  for (size_t i = 0; i < list.size(); ++i)
    out[i] = {find_attr_name(list[i].name), module_.copy(list[i].name), list[i].value};
  return out;
}

// ---- functions

void ModuleBuilder::at(std::string_view file, int line, int column, std::string_view function) {
  const auto file_loc = static_cast<LocId>(module_.locs.size());
  module_.locs.push_back({LocNode::Kind::file, module_.copy(file), line, std::max(column, 1) - 1, kNoLoc, kNoLoc});
  module_.locs.push_back({LocNode::Kind::name, module_.copy(function), 0, 0, file_loc, kNoLoc});
  loc_ = file_loc + 1;
}

void ModuleBuilder::function(std::string_view name, const std::vector<const Type*>& inputs,
                             const std::vector<const Type*>& results, const std::vector<AttrEntry>& attrs,
                             const BuildYield& body) {
  Function f;
  f.name = module_.copy(name);
  f.type = function_type(inputs, results);
  f.loc = loc_;
  std::vector<AttrEntry> all = attrs;
  all.push_back({"function_type", type_attr(f.type)});
  all.push_back({"sym_name", string(name)});
  f.attrs = entries(all);
  BlockBuilder block(*this, f);
  block.add_args(inputs);
  const std::vector<ValueId> returned = body(block);
  block.op("func.return", returned);
  f.body = block.finish_region();
  module_.functions.push_back(std::move(f));
}

void ModuleBuilder::kernel(std::string_view name, const Kernel& k, const BuildBlock& body) {
  std::vector<const Type*> inputs(k.grid.size(), i32());
  inputs.insert(inputs.end(), k.prefetch.begin(), k.prefetch.end());
  for (const Window& w : k.windows) inputs.push_back(w.type);
  inputs.insert(inputs.end(), k.scratch.begin(), k.scratch.end());

  std::vector<const Attr*> semantics, params;
  for (std::string_view s : k.semantics) semantics.push_back(text("#tpu.dimension_semantics<" + std::string(s) + ">"));
  if (k.semantics.empty())
    for (size_t i = 0; i < k.grid.size(); ++i) semantics.push_back(text("#tpu.dimension_semantics<arbitrary>"));
  for (const Window& w : k.windows) {
    std::vector<AttrEntry> entry = w.more;
    if (!w.transform.empty()) {
      entry.push_back({"transform_indices", symbol(w.transform)});
      entry.push_back({"window_bounds", ints(DType::i64, {w.type->shape.begin(), w.type->shape.end()})});
    }
    params.push_back(dict(entry));
  }
  std::vector<AttrEntry> attrs = k.more;
  attrs.push_back({"dimension_semantics", array(semantics)});
  attrs.push_back({"scalar_prefetch", integer(DType::i64, static_cast<int64_t>(k.prefetch.size()))});
  attrs.push_back({"scratch_operands", integer(DType::i64, static_cast<int64_t>(k.scratch.size()))});
  attrs.push_back({"tpu.core_type", text("#tpu.core_type<tc>")});
  if (!k.grid.empty()) {
    attrs.push_back({"iteration_bounds", ints(DType::i64, k.grid)});
    attrs.push_back({"window_params", array(params)});
  }
  function(name, inputs, {}, attrs, [&](BlockBuilder& b) {
    body(b);
    return std::vector<ValueId>{};
  });
}

void ModuleBuilder::index_map(std::string_view name, int grid_rank, const BuildYield& body,
                              const std::vector<const Type*>& prefetch) {
  std::vector<const Type*> inputs(static_cast<size_t>(grid_rank), i32());
  inputs.insert(inputs.end(), prefetch.begin(), prefetch.end());
  // How many indices there are shows once the body has run, so run it on a function of its own first.
  Function probe;
  BlockBuilder block(*this, probe);
  block.add_args(inputs);
  const std::vector<const Type*> results(body(block).size(), i32());
  function(name, inputs, results, {}, body);
}

Module ModuleBuilder::finish() { return std::move(module_); }

// ---- blocks

ValueId BlockBuilder::add_values(const std::vector<const Type*>& types) {
  const auto first = static_cast<ValueId>(function_->value_types.size());
  function_->value_types.insert(function_->value_types.end(), types.begin(), types.end());
  return first;
}

void BlockBuilder::add_args(const std::vector<const Type*>& types) {
  first_arg_ = add_values(types);
  arg_count_ = static_cast<uint32_t>(types.size());
}

Region BlockBuilder::finish_region() {
  const std::span<Block> blocks = module_->module_.make_array<Block>(1);
  blocks[0] = {first_arg_, arg_count_, module_->module_.copy(std::span<const Op>(ops_)), {}};
  Region region;
  region.blocks = blocks;
  return region;
}

Region BlockBuilder::region(const std::vector<const Type*>& args, std::string_view terminator, const BuildYield& body) {
  BlockBuilder inner(*module_, *function_);
  inner.add_args(args);
  const std::vector<ValueId> yielded = body(inner);
  if (!terminator.empty()) inner.op(terminator, yielded);
  return inner.finish_region();
}

ValueId BlockBuilder::op(std::string_view name, const std::vector<ValueId>& operands,
                         const std::vector<const Type*>& results, const std::vector<AttrEntry>& attrs,
                         const std::vector<BuildYield>& regions) {
  Module& m = module_->module_;
  Op op;
  op.code = find_op(name);
  op.name = op.code == OpCode::unknown ? m.copy(name) : info(op.code).name;
  op.operands = m.copy(std::span<const ValueId>(operands));
  op.attrs = module_->entries(attrs);
  op.loc = module_->loc_;
  const std::span<Region> inner = m.make_array<Region>(regions.size());
  const bool is_tpu = name == "tpu.region" || name == "tpu.trace";
  for (size_t i = 0; i < regions.size(); ++i) {
    std::vector<const Type*> args;
    std::string_view terminator = is_tpu ? "tpu.yield" : "scf.yield";
    if (op.code == OpCode::scf_for) {
      args.push_back(function_->value_types[operands[0]]);
      for (size_t k = 3; k < operands.size(); ++k) args.push_back(function_->value_types[operands[k]]);
    } else if (op.code == OpCode::scf_while) {
      if (i == 0) {
        for (ValueId id : operands) args.push_back(function_->value_types[id]);
        terminator = "scf.condition";  // its first operand is the condition
      } else {
        args = results;
      }
    }
    inner[i] = regions[i] ? region(args, terminator, regions[i]) : Region{};
  }
  op.regions = inner;
  op.first_result = add_values(results);
  op.result_count = static_cast<uint32_t>(results.size());
  ops_.push_back(op);
  return op.first_result;
}

ValueId BlockBuilder::constant(const Attr* value) {
  return op("arith.constant", {}, {value->type}, {{"value", value}});
}
ValueId BlockBuilder::index(int64_t value) { return constant(module_->index_attr(value)); }
ValueId BlockBuilder::i32(int64_t value) { return constant(module_->integer(value)); }
ValueId BlockBuilder::f32(double value) { return constant(module_->floating(DType::f32, value)); }
ValueId BlockBuilder::splat(const Type* vector, double value) { return constant(module_->dense(vector, {value})); }

ValueId BlockBuilder::unary(std::string_view name, ValueId a) { return op(name, {a}, {&type_of(a)}); }
ValueId BlockBuilder::binary(std::string_view name, ValueId a, ValueId b) { return op(name, {a, b}, {&type_of(a)}); }

ValueId BlockBuilder::compare(std::string_view name, int predicate, ValueId a, ValueId b) {
  const Type& type = type_of(a);
  const Type* result = type.is_vector() ? module_->vector(DType::b1, type.shape) : module_->i1();
  return op(name, {a, b}, {result}, {{"predicate", module_->integer(DType::i64, predicate)}});
}

ValueId BlockBuilder::cast(std::string_view name, ValueId a, DType to) {
  const Type& type = type_of(a);
  return op(name, {a}, {type.is_vector() ? module_->vector(to, type.shape) : module_->scalar(to)});
}

ValueId BlockBuilder::as_index(ValueId value) { return op("arith.index_cast", {value}, {module_->index()}); }

ValueId BlockBuilder::load(ValueId ref, const std::vector<ValueId>& indices, const Shape& shape) {
  const Type& type = type_of(ref);
  std::vector<ValueId> operands{ref};
  operands.insert(operands.end(), indices.begin(), indices.end());
  return op("vector.load", operands, {module_->vector(type.dtype, shape.empty() ? type.shape : shape)});
}

void BlockBuilder::store(ValueId value, ValueId ref, const std::vector<ValueId>& indices, const ValueId* mask) {
  std::vector<ValueId> operands{value, ref};
  operands.insert(operands.end(), indices.begin(), indices.end());
  if (mask) operands.push_back(*mask);
  op("tpu.vector_store", operands, {},
     {{"operandSegmentSizes", module_->ints(DType::i32, {1, 1, static_cast<int64_t>(indices.size()), mask ? 1 : 0})},
      {"strides", module_->ints(DType::i32, {})},
      {"add", module_->boolean(false)}});
}

ValueId BlockBuilder::scalar_load(ValueId ref, const std::vector<ValueId>& indices) {
  std::vector<ValueId> operands{ref};
  operands.insert(operands.end(), indices.begin(), indices.end());
  return op("memref.load", operands, {module_->scalar(type_of(ref).dtype)});
}

void BlockBuilder::scalar_store(ValueId value, ValueId ref, const std::vector<ValueId>& indices) {
  std::vector<ValueId> operands{value, ref};
  operands.insert(operands.end(), indices.begin(), indices.end());
  op("memref.store", operands);
}

ValueId BlockBuilder::slice(ValueId ref, const std::vector<ValueId>& starts, const Shape& shape) {
  std::vector<ValueId> operands{ref};
  operands.insert(operands.end(), starts.begin(), starts.end());
  const Type& type = type_of(ref);
  return op("tpu.memref_slice", operands, {module_->memref(type.dtype, shape, type.space)},
            {{"operandSegmentSizes", module_->ints(DType::i32, {1, static_cast<int64_t>(starts.size()), 0})}});
}

ValueId BlockBuilder::squeeze(ValueId ref, const Shape& shape) {
  const Type& type = type_of(ref);
  return op("tpu.memref_squeeze", {ref}, {module_->memref(type.dtype, shape, type.space)});
}

ValueId BlockBuilder::matmul(ValueId lhs, ValueId rhs, ValueId acc) {
  return op(
      "tpu.matmul", {lhs, rhs, acc}, {&type_of(acc)},
      {{"dimension_numbers", module_->text("#tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>")},
       {"transpose_lhs", module_->boolean(false)},
       {"transpose_lhs_hint", module_->boolean(false)},
       {"transpose_rhs", module_->boolean(false)}});
}

ValueId BlockBuilder::reduce(std::string_view kind, ValueId vector, ValueId acc, const std::vector<int64_t>& dims) {
  return op("vector.multi_reduction", {vector, acc}, {&type_of(acc)},
            {{"kind", module_->text("#vector.kind<" + std::string(kind) + ">")},
             {"reduction_dims", module_->ints(DType::i64, dims)}});
}

void BlockBuilder::dma(ValueId source, ValueId target, ValueId semaphore) {
  op("tpu.enqueue_dma", {source, target, semaphore}, {},
     {{"operandSegmentSizes", module_->ints(DType::i32, {1, 0, 1, 1, 0, 0, 0})},
      {"priority", module_->integer(0)},
      {"strict_ordering", module_->boolean(false)}});
}

void BlockBuilder::wait_dma(ValueId semaphore, ValueId source, ValueId target) {
  op("tpu.wait_dma2", {semaphore, source, target}, {},
     {{"operandSegmentSizes", module_->ints(DType::i32, {1, 1, 1, 0, 0})},
      {"strict_ordering", module_->boolean(false)}});
}

void BlockBuilder::signal(ValueId semaphore, ValueId amount) {
  op("tpu.sem_signal", {semaphore, amount}, {}, {{"operandSegmentSizes", module_->ints(DType::i32, {1, 1, 0, 0, 0})}});
}

void BlockBuilder::wait(ValueId semaphore, ValueId amount) { op("tpu.sem_wait", {semaphore, amount}); }

ValueId BlockBuilder::branch(ValueId condition, const std::vector<const Type*>& results, const BuildYield& then_block,
                             const BuildYield& else_block) {
  return op("scf.if", {condition}, results, {}, {then_block, else_block});
}

void BlockBuilder::when(ValueId condition, const BuildBlock& then_block) {
  branch(
      condition, {},
      [&](BlockBuilder& b) {
        then_block(b);
        return std::vector<ValueId>{};
      },
      nullptr);
}

ValueId BlockBuilder::loop(ValueId lo, ValueId hi, ValueId step, const std::vector<ValueId>& init,
                           const BuildYield& body) {
  std::vector<ValueId> operands{lo, hi, step};
  operands.insert(operands.end(), init.begin(), init.end());
  std::vector<const Type*> results;
  for (ValueId id : init) results.push_back(&type_of(id));
  return op("scf.for", operands, results, {}, {body});
}

void BlockBuilder::scope(const BuildBlock& body) {
  op("tpu.region", {}, {}, {}, {[&](BlockBuilder& b) {
       body(b);
       return std::vector<ValueId>{};
     }});
}

ValueId BlockBuilder::alloca(const Type* memref) {
  return op("memref.alloca", {}, {memref}, {{"operandSegmentSizes", module_->ints(DType::i32, {0, 0})}});
}
ValueId BlockBuilder::sem_alloc(const Type* memref) { return op("tpu.sem_alloc", {}, {memref}); }

}  // namespace tilecheck::mosaic
