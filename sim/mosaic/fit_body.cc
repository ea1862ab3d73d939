#include "sim/mosaic/fit_body.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <unordered_map>

#include "sim/fit/simplify.h"
#include "sim/mosaic/fit_ops.h"
#include "sim/mosaic/op_attrs.h"
#include "sim/mosaic/tile_ops.h"
#include "sim/types/error.h"
#include "sim/types/float_formats.h"

namespace tilecheck::mosaic {
namespace {

using fit::kNone;
using fit::OpKind;
using fit::RefRoot;

class Converter {
 public:
  Converter(const Module& module, const Function& kernel) : module_(module), kernel_(kernel) {}

  fit::Body run() {
    const Block& entry = kernel_.body.block();
    for (int64_t size : kernel_attr_ints(AttrName::iteration_bounds))
      body_.grid.push_back(size < 0 ? fit::kDynamicGrid : size);
    const int64_t prefetch = kernel_int(AttrName::scalar_prefetch);
    const int64_t scratch = kernel_int(AttrName::scratch_operands);
    values_.assign(kernel_.value_types.size(), kNone);
    refs_.assign(kernel_.value_types.size(), kNone);

    int64_t memrefs = 0, memref_count = 0;
    for (uint32_t i = 0; i < entry.arg_count; ++i)
      memref_count += kernel_.type_of(entry.first_arg + i).is_memref() ? 1 : 0;
    if (prefetch < 0 || scratch < 0 || prefetch + scratch > memref_count)
      throw InputError("kernel " + std::string(kernel_.name),
                       "at byte " + std::to_string(kernel_.offset) + ": has " + std::to_string(memref_count) +
                           " memory arguments, fewer than scalar_prefetch (" + std::to_string(prefetch) +
                           ") and scratch_operands (" + std::to_string(scratch) + ") say");
    for (uint32_t i = 0; i < entry.arg_count; ++i) {
      const ValueId id = entry.first_arg + i;
      const Type& type = kernel_.type_of(id);
      if (!type.is_memref()) {
        fit::Op op;
        op.kind = OpKind::grid_index;
        op.axes = {static_cast<int64_t>(i)};
        op.out = {new_value(id)};
        body_.top.ops.push_back(std::move(op));
        continue;
      }
      const int64_t at = memrefs++;
      if (at < prefetch)
        add_ref(id, RefRoot::prefetch, at);
      else if (at >= memref_count - scratch)
        add_ref(id, RefRoot::scratch, at - (memref_count - scratch));
      else
        add_ref(id, RefRoot::window, at - prefetch);
    }
    block(entry, body_.top);
    fit::remove_dead(body_);
    return std::move(body_);
  }

 private:
  // ---- attributes of the kernel ----
  int64_t kernel_int(AttrName id) const {
    const Attr* attr = kernel_.find(id);
    return attr != nullptr && attr->kind == AttrKind::integer ? attr->integer : 0;
  }
  std::span<const int64_t> kernel_attr_ints(AttrName id) const {
    const Attr* attr = kernel_.find(id);
    return attr != nullptr ? attr->integers : std::span<const int64_t>{};
  }

  // ---- values and refs ----
  fit::ValueId new_value(ValueId id) {
    const Type& type = kernel_.type_of(id);
    body_.values.push_back({type.kind == TypeKind::index ? DType::i32 : type.dtype, type.shape});
    return values_[id] = static_cast<fit::ValueId>(body_.values.size() - 1);
  }
  fit::RefInfo ref_info(ValueId id, RefRoot root) const {
    const Type& type = kernel_.type_of(id);
    fit::RefInfo ref;
    ref.root = root;
    ref.dtype = type.dtype;
    for (int64_t dim : type.shape) ref.shape.push_back(dim == kDynamic ? 1 : dim);
    ref.space = type.space;
    return ref;
  }
  fit::RefId add_ref(ValueId id, RefRoot root, int64_t root_index = kNone) {
    fit::RefInfo ref = ref_info(id, root);
    ref.root_index = static_cast<int32_t>(root_index);
    body_.refs.push_back(std::move(ref));
    return refs_[id] = static_cast<fit::RefId>(body_.refs.size() - 1);
  }
  // The ref of a memref; of one that comes from an operation without a kind here, all that is known is its type.
  fit::RefId ref_of(ValueId id) { return refs_[id] != kNone ? refs_[id] : add_ref(id, RefRoot::other); }
  fit::Offset offset(ValueId id) const { return {values_[id], 0}; }
  std::vector<fit::Offset> offsets(std::span<const ValueId> ids) const {
    std::vector<fit::Offset> list;
    for (ValueId id : ids) list.push_back(offset(id));
    return list;
  }
  const fit::RefInfo& info_of(fit::RefId ref) const { return body_.refs[static_cast<size_t>(ref)]; }

  // ---- operations ----
  void block(const Block& from, fit::Block& to) {
    for (const Op& op : from.ops) convert(op, to);
  }
  fit::Block region(const Region& from) {
    fit::Block to;
    if (from.empty()) return to;
    for (uint32_t i = 0; i < from.block().arg_count; ++i) to.args.push_back(new_value(from.block().first_arg + i));
    block(from.block(), to);
    return to;
  }

  fit::Op start(const Op& op, OpKind kind) {
    fit::Op out;
    out.kind = kind;
    out.name = op.name;
    out.at = user_loc(module_, op.loc);
    return out;
  }
  void add_inputs(fit::Op& out, std::span<const ValueId> ids) const {
    for (ValueId id : ids)
      if (values_[id] != kNone) out.in.push_back(values_[id]);
  }
  void add_results(const Op& op, fit::Op& out) {
    for (uint32_t i = 0; i < op.result_count; ++i)
      if (!kernel_.type_of(op.result(i)).is_memref()) out.out.push_back(new_value(op.result(i)));
  }

  void convert(const Op& op, fit::Block& to) {
    if (const std::optional<fit::NamedKind> simple = find_fit_op(op.code)) {
      fit::Op out = start(op, simple->kind);
      out.fn = simple->fn;
      out.is_unsigned = simple->is_unsigned;
      add_inputs(out, op.operands);
      add_results(op, out);
      attributes(op, out);
      to.ops.push_back(std::move(out));
      return;
    }
    switch (op.code) {
      case OpCode::func_return:
      case OpCode::scf_yield:
      case OpCode::scf_condition:
      case OpCode::tpu_yield:
        for (ValueId id : op.operands)
          if (values_[id] != kNone) to.yields.push_back(values_[id]);
        return;
      case OpCode::arith_constant:
        to.ops.push_back(constant(op));
        return;
      case OpCode::tpu_memref_slice:
      case OpCode::tpu_memref_squeeze:
      case OpCode::tpu_memref_reshape:
      case OpCode::tpu_memref_bitcast:
      case OpCode::tpu_reinterpret_cast:
      case OpCode::tpu_assume_layout:
      case OpCode::tpu_erase_memref_layout:
      case OpCode::memref_cast:
        view(op);
        return;
      case OpCode::memref_alloca:
      case OpCode::tpu_sem_alloc:
      case OpCode::tpu_internal_scratch: {
        fit::Op out = start(op, OpKind::alloc);
        out.ref = add_ref(op.result(), RefRoot::alloc);
        to.ops.push_back(std::move(out));
        return;
      }
      case OpCode::tpu_sem_barrier:
        add_ref(op.result(), RefRoot::other);
        return;
      case OpCode::vector_load:
      case OpCode::memref_load:
      case OpCode::tpu_vector_load:
      case OpCode::tpu_strided_load:
      case OpCode::tpu_load:
        to.ops.push_back(load(op));
        return;
      case OpCode::vector_store:
      case OpCode::memref_store:
      case OpCode::tpu_vector_store:
      case OpCode::tpu_strided_store:
      case OpCode::tpu_store:
        to.ops.push_back(store(op));
        return;
      case OpCode::tpu_enqueue_dma: {
        fit::Op out = start(op, OpKind::dma_start);
        out.ref = ref_of(op.segment(segment::kDmaSource)[0]);
        out.ref2 = ref_of(op.segment(segment::kDmaTarget)[0]);
        out.sem = ref_of(op.segment(segment::kDmaTargetSemaphore)[0]);
        out.is_remote = !op.segment(segment::kDmaDevice).empty();
        to.ops.push_back(std::move(out));
        return;
      }
      case OpCode::tpu_wait_dma2: {
        fit::Op out = start(op, OpKind::dma_wait);
        out.sem = ref_of(op.segment(segment::kWaitSemaphore)[0]);
        out.ref = ref_of(op.segment(segment::kWaitSource)[0]);
        out.ref2 = ref_of(op.segment(segment::kWaitTarget)[0]);
        to.ops.push_back(std::move(out));
        return;
      }
      case OpCode::tpu_wait_dma: {
        fit::Op out = start(op, OpKind::dma_wait);
        out.ref = ref_of(op.segment(segment::kDmaSource)[0]);
        out.ref2 = ref_of(op.segment(segment::kDmaTarget)[0]);
        out.sem = ref_of(op.segment(segment::kDmaTargetSemaphore)[0]);
        to.ops.push_back(std::move(out));
        return;
      }
      case OpCode::tpu_sem_read:
        semaphore(op, OpKind::sem_read, op.operands[0], {}, to);
        return;
      case OpCode::tpu_sem_wait:
        semaphore(op, OpKind::sem_wait, op.operands[0], op.operands.subspan(1), to);
        return;
      case OpCode::tpu_sem_signal:
        semaphore(op, OpKind::sem_signal, op.segment(segment::kSignalSemaphore)[0], op.segment(segment::kSignalAmount),
                  to);
        to.ops.back().is_remote = !op.segment(segment::kSignalDevice).empty();
        return;
      case OpCode::scf_for:
      case OpCode::scf_while:
      case OpCode::scf_if:
      case OpCode::scf_execute_region:
      case OpCode::scf_index_switch:
      case OpCode::tpu_region:
      case OpCode::tpu_trace:
        control(op, to);
        return;
      default: {
        fit::Op out = start(op, OpKind::opaque);
        add_inputs(out, op.operands);
        add_results(op, out);
        to.ops.push_back(std::move(out));
        return;
      }
    }
  }

  // What an operation of the simple table has besides operands.
  void attributes(const Op& op, fit::Op& out) const {
    switch (out.kind) {
      case OpKind::compare:
        out.fn = fit::compare_fn(predicate(op));
        out.is_unsigned = fit::is_unsigned(predicate(op));
        break;
      case OpKind::iota:
        out.axes =
            op.has(AttrName::dimensions) ? op.dims(AttrName::dimensions) : Dims{op.int_or(AttrName::dimension, 0)};
        break;
      case OpKind::transpose:
        out.axes = op.dims(AttrName::permutation);
        break;
      case OpKind::reduce:
        out.axes =
            op.has(AttrName::reduction_dims) ? op.dims(AttrName::reduction_dims) : Dims{op.int_or(AttrName::dim, 0)};
        out.fn = reduce_fn(op);
        break;
      case OpKind::reduce_index:
        out.axes = {op.int_or(AttrName::axis, 0)};
        out.fn = reduce_fn(op);
        break;
      case OpKind::concatenate:
      case OpKind::rotate:
        out.axes = {op.int_or(AttrName::dimension, 0)};
        break;
      case OpKind::gather:
        out.axes =
            op.has(AttrName::dimensions) ? op.dims(AttrName::dimensions) : Dims{op.int_or(AttrName::dimension, 0)};
        break;
      case OpKind::grid_size:
        out.axes = {op.int_or(AttrName::dim, 0)};
        break;
      case OpKind::slice:
        for (int64_t start : op.dims(AttrName::offsets)) out.starts.push_back({kNone, start});
        for (int64_t stride : op.dims(AttrName::strides))
          if (stride != 1) out.strides = op.dims(AttrName::strides);
        break;
      case OpKind::matmul:
        matmul(op, out);
        break;
      case OpKind::marker:
        if (op.code == OpCode::tpu_assume_multiple) out.number = static_cast<double>(op.int_or(AttrName::multiple, 1));
        break;
      case OpKind::elementwise:
        if (op.code == OpCode::tpu_reciprocal && op.bool_or(AttrName::approx, false))
          out.fn = fit::Fn::approx_reciprocal;
        break;
      default:
        break;
    }
  }

  void matmul(const Op& op, fit::Op& out) const {
    const Shape& lhs = kernel_.type_of(op.operands[0]).shape;
    const Shape& rhs = kernel_.type_of(op.operands[1]).shape;
    const std::optional<DotDims> dims = dot_dims(op, lhs.rank(), rhs.rank());
    if (!dims) return;
    const auto product = [](const Shape& shape, const Dims& which) {
      int64_t n = 1;
      for (int64_t d : which) n *= shape[static_cast<int>(d)];
      return n;
    };
    out.matmul.batch = product(lhs, dims->lhs_batch);
    out.matmul.m = product(lhs, dims->lhs_keep);
    out.matmul.k = product(lhs, dims->lhs_contract);
    out.matmul.n = product(rhs, dims->rhs_keep);
    out.matmul.lhs_transposed = !dims->lhs_contract.empty() && dims->lhs_contract.back() != lhs.rank() - 1;
    out.matmul.rhs_transposed = !dims->rhs_contract.empty() && dims->rhs_contract.back() == rhs.rank() - 1;
    if (const Attr* attr = op.find(AttrName::precision); attr != nullptr && attr->kind == AttrKind::dialect)
      out.matmul.precision = attr->body == "fp32"     ? fit::Precision::highest
                             : attr->body == "bf16x3" ? fit::Precision::bf16x3
                                                      : fit::Precision::normal;
  }

  fit::Op constant(const Op& op) {
    fit::Op out = start(op, OpKind::constant);
    add_results(op, out);
    const Attr* value = op.find(AttrName::value);
    if (value == nullptr) return out;
    if (value->kind == AttrKind::integer) {
      out.is_splat = true;
      out.number = static_cast<double>(value->integer);
    } else if (value->kind == AttrKind::floating) {
      out.is_splat = true;
      out.number = value->floating;
    } else if (value->kind == AttrKind::dense_elements && value->splat) {
      out.is_splat = true;
      out.number = splat_number(*value);
    }
    return out;
  }
  static double splat_number(const Attr& value) {
    const DType dtype = value.type->dtype;
    uint64_t bits = 0;
    std::memcpy(&bits, value.data.data(), std::min<size_t>(sizeof bits, value.data.size()));
    return load_as_double(dtype, &bits);
  }

  void view(const Op& op) {
    const fit::RefId base = ref_of(op.operands[0]);
    fit::RefInfo ref = ref_info(op.result(), RefRoot::view);
    ref.base = base;
    ref.space = info_of(base).space;
    if (op.code == OpCode::tpu_memref_slice) {
      ref.starts = offsets(op.segment(segment::kSliceStart));
      ref.extent = ref.shape;
      ref.sizes = sizes_of(op);
    }
    body_.refs.push_back(std::move(ref));
    refs_[op.result()] = static_cast<fit::RefId>(body_.refs.size() - 1);
  }

  std::vector<fit::Offset> sizes_of(const Op& slice) const {
    const std::span<const ValueId> dynamic = slice.segment(segment::kSliceSizes);
    std::vector<fit::Offset> sizes;
    if (dynamic.empty()) return sizes;
    size_t next = 0;
    for (int64_t dim : kernel_.type_of(slice.result()).shape)
      sizes.push_back(dim == kDynamic ? offset(dynamic[next++]) : fit::Offset{kNone, dim});
    return sizes;
  }

  fit::Op load(const Op& op) {
    fit::Op out = start(op, OpKind::load);
    out.ref = ref_of(op.operands[0]);
    const int rank = info_of(out.ref).shape.rank();
    std::span<const ValueId> rest = op.operands.subspan(1);
    out.starts = offsets(rest.first(std::min(rest.size(), static_cast<size_t>(rank))));
    out.extent = access_extent(op.result(), rank);
    out.strides = unit_strides_dropped(op);
    if (rest.size() > static_cast<size_t>(rank)) {
      out.has_mask = true;
      add_inputs(out, rest.subspan(static_cast<size_t>(rank)));
    }
    add_results(op, out);
    return out;
  }
  fit::Op store(const Op& op) {
    fit::Op out = start(op, OpKind::store);
    out.ref = ref_of(op.operands[1]);
    const int rank = info_of(out.ref).shape.rank();
    std::span<const ValueId> rest = op.operands.subspan(2);
    out.in = {values_[op.operands[0]]};
    out.starts = offsets(rest.first(std::min(rest.size(), static_cast<size_t>(rank))));
    out.extent = access_extent(op.operands[0], rank);
    out.strides = unit_strides_dropped(op);
    if (rest.size() > static_cast<size_t>(rank)) {
      out.has_mask = true;
      add_inputs(out, rest.subspan(static_cast<size_t>(rank)));
    }
    return out;
  }
  Dims access_extent(ValueId value, int rank) const {
    const Shape& shape = kernel_.type_of(value).shape;
    Dims extent;
    for (int i = 0; i < rank; ++i) {
      const int j = shape.rank() - rank + i;
      extent.push_back(j >= 0 && j < shape.rank() ? shape[j] : 1);
    }
    return extent;
  }
  static Dims unit_strides_dropped(const Op& op) {
    if (op.code != OpCode::tpu_strided_load && op.code != OpCode::tpu_strided_store) return {};
    const Dims strides = op.dims(AttrName::strides);
    for (int64_t s : strides)
      if (s != 1) return strides;
    return {};
  }

  void semaphore(const Op& op, OpKind kind, ValueId sem, std::span<const ValueId> amount, fit::Block& to) {
    fit::Op out = start(op, kind);
    out.sem = ref_of(sem);
    add_inputs(out, amount);
    add_results(op, out);
    to.ops.push_back(std::move(out));
  }

  void control(const Op& op, fit::Block& to) {
    OpKind kind = OpKind::scope;
    if (op.code == OpCode::scf_for) kind = OpKind::loop;
    if (op.code == OpCode::scf_while) kind = OpKind::while_loop;
    if (op.code == OpCode::scf_if || op.code == OpCode::scf_index_switch) kind = OpKind::branch;
    fit::Op out = start(op, kind);
    add_inputs(out, op.operands);
    for (const Region& r : op.regions)
      if (!r.empty()) out.blocks.push_back(region(r));
    add_results(op, out);
    to.ops.push_back(std::move(out));
  }

  const Module& module_;
  const Function& kernel_;
  fit::Body body_;
  std::vector<fit::ValueId> values_;  // by ValueId
  std::vector<fit::RefId> refs_;
};

}  // namespace

fit::Body fit_body(const Module& module, const Function& kernel) { return Converter(module, kernel).run(); }

}  // namespace tilecheck::mosaic
