#include "sim/mosaic/upgrade.h"

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/types/error.h"

namespace tilecheck::mosaic {
namespace {

class Upgrader {
 public:
  Upgrader(Module& module, std::string_view name) : module_(module), name_(name) {}

  void run() {
    for (Function& f : module_.functions) region(f.body);
  }

 private:
  void region(Region& r) {
    for (Block& block : r.blocks)
      for (Op& op : block.ops) {
        rewrite_once(op);
        for (Region& inner : op.regions) region(inner);
      }
  }

  [[noreturn]] void fail(const Op& op, const std::string& expected) const {
    throw InputError(std::string(name_),
                     "at byte " + std::to_string(op.offset) + ": " + std::string(op.name) + ": expected " + expected);
  }

  // What becomes of an operation depends on its name, its dictionary and its number of operands alone, and operations
  // share dictionaries: each case is worked out once.
  void rewrite_once(Op& op) {
    Done& done = done_[{op.code, op.operands.size(), op.attrs.data(), op.attrs.size()}];
    if (done.seen && op.code != OpCode::tpu_wait_dma) {
      op.code = done.code;
      op.name = done.name;
      op.attrs = done.attrs;
      return;
    }
    rewrite(op);
    done = {true, op.code, op.name, op.attrs};
  }

  // ---- making attributes

  const Type* integer_type(DType dtype) {
    const Type*& type = dtype == DType::b1 ? i1_ : dtype == DType::i32 ? i32_ : i64_;
    if (!type) {
      Type t;
      t.kind = TypeKind::scalar;
      t.dtype = dtype;
      type = module_.make(t);
    }
    return type;
  }
  const Attr* integer(DType dtype, int64_t value) {
    Attr a;
    a.kind = AttrKind::integer;
    a.type = integer_type(dtype);
    a.integer = value;
    return module_.make(a);
  }
  const Attr* ints(DType dtype, std::span<const int64_t> values) {
    Attr a;
    a.kind = AttrKind::dense_array;
    a.type = integer_type(dtype);
    a.integers = module_.copy(values);
    return module_.make(a);
  }
  void set(Op& op, AttrName id, const Attr* value) {
    const bool there = op.has(id);
    const std::span<NamedAttr> attrs = module_.make_array<NamedAttr>(op.attrs.size() + (there ? 0 : 1));
    std::copy(op.attrs.begin(), op.attrs.end(), attrs.begin());
    if (!there) attrs.back() = {id, mosaic::name(id), nullptr};
    for (NamedAttr& a : attrs)
      if (a.id == id) a.value = value;
    op.attrs = attrs;
  }
  void rename(Op& op, AttrName from, AttrName to, const Attr* value) {
    const std::span<NamedAttr> attrs = module_.copy(op.attrs);
    for (NamedAttr& a : attrs)
      if (a.id == from) a = {to, mosaic::name(to), value};
    op.attrs = attrs;
  }
  void set_default_bool(Op& op, AttrName id) {
    if (!op.has(id)) set(op, id, integer(DType::b1, 0));
  }
  template <size_t N>
  void set_segments(Op& op, const std::array<int64_t, N>& sizes) {
    set(op, AttrName::operand_segment_sizes, ints(DType::i32, sizes));
  }
  // An array of integer attributes, or a dense array, as a dense array of i64.
  void densify(Op& op, AttrName id) {
    const Attr* attr = op.find(id);
    if (!attr || attr->kind != AttrKind::array) return;
    std::vector<int64_t> values;
    for (const Attr* e : attr->elements) {
      if (e->kind != AttrKind::integer) fail(op, std::string(mosaic::name(id)) + " of integers");
      values.push_back(e->integer);
    }
    set(op, id, ints(DType::i64, values));
  }
  // `dimension : i32` was the form before `dimensions : array<i32>`.
  void plural_dimensions(Op& op) {
    const Attr* one = op.find(AttrName::dimension);
    if (op.has(AttrName::dimensions) || !one || one->kind != AttrKind::integer) return;
    const std::array<int64_t, 1> value{one->integer};
    rename(op, AttrName::dimension, AttrName::dimensions, ints(DType::i32, value));
  }
  void rewrite(Op& op) {
    const bool segmented = op.has(AttrName::operand_segment_sizes);
    const size_t n = op.operands.size();
    switch (op.code) {
      case OpCode::tpu_enqueue_dma:
        if (!segmented) {  // version < 2
          if (n == 3)
            set_segments(op, std::array<int64_t, 7>{1, 0, 1, 1, 0, 0, 0});
          else if (n == 5)
            set_segments(op, std::array<int64_t, 7>{1, 1, 1, 1, 1, 0, 0});
          else
            fail(op, "3 operands (local) or 5 (remote), found " + std::to_string(n));
        }
        pad_segments(op, 7);  // version < 14: no subcore_id
        if (!op.has(AttrName::priority)) set(op, AttrName::priority, integer(DType::i32, 0));
        set_default_bool(op, AttrName::strict_ordering);
        break;
      case OpCode::tpu_wait_dma:
        if (!segmented) {
          // The form of version 1, `wait_dma(semaphore, target)`, is not the one that has this name today.
          if (n != 2) fail(op, "a semaphore and a target");
          const std::span<ValueId> operands = module_.make_array<ValueId>(3);
          operands[0] = op.operands[0];
          operands[1] = operands[2] = op.operands[1];
          op.operands = operands;
          op.code = OpCode::tpu_wait_dma2;
          op.name = info(op.code).name;
          set_segments(op, std::array<int64_t, 5>{1, 1, 1, 0, 0});
          set_default_bool(op, AttrName::strict_ordering);
          break;
        }
        pad_segments(op, 7);
        break;
      case OpCode::tpu_wait_dma2:
        if (!segmented) {  // version < 7
          if (n != 3) fail(op, "a semaphore, a source and a target");
          set_segments(op, std::array<int64_t, 5>{1, 1, 1, 0, 0});
        }
        set_default_bool(op, AttrName::strict_ordering);
        break;
      case OpCode::tpu_sem_signal:
        if (!segmented) {  // version < 2
          if (n != 2 && n != 3) fail(op, "2 operands, or 3 with a device, found " + std::to_string(n));
          set_segments(op, std::array<int64_t, 5>{1, 1, n == 3, 0, 0});
        }
        pad_segments(op, 5);  // version < 14
        break;
      case OpCode::vector_multi_reduction:
        densify(op, AttrName::reduction_dims);  // version < 3
        break;
      case OpCode::vector_extract:
      case OpCode::vector_insert:
        if (op.has(AttrName::position) && !op.has(AttrName::static_position)) {
          densify(op, AttrName::position);
          rename(op, AttrName::position, AttrName::static_position, op.find(AttrName::position));
        }
        break;
      case OpCode::vector_extract_strided_slice:
      case OpCode::vector_insert_strided_slice:
        densify(op, AttrName::offsets);
        densify(op, AttrName::sizes);
        densify(op, AttrName::strides);
        break;
      case OpCode::vector_transpose:
        if (op.has(AttrName::permutation)) densify(op, AttrName::permutation);
        break;
      case OpCode::tpu_transpose:
        densify(op, AttrName::permutation);
        break;
      case OpCode::tpu_dynamic_gather:  // version < 5
      case OpCode::tpu_iota:            // version < 6
        plural_dimensions(op);
        break;
      case OpCode::vector_store: {
        // The form before tpu.vector_store: the same operands, never masked.
        op.code = OpCode::tpu_vector_store;
        op.name = info(op.code).name;
        set_segments(op, std::array<int64_t, 4>{1, 1, static_cast<int64_t>(std::max<size_t>(n, 2) - 2), 0});
        set(op, AttrName::strides, ints(DType::i32, {}));
        set_default_bool(op, AttrName::add);
        break;
      }
      case OpCode::tpu_vector_store:
        if (!op.has(AttrName::strides)) set(op, AttrName::strides, ints(DType::i32, {}));
        set_default_bool(op, AttrName::add);
        break;
      case OpCode::tpu_store:
        set_default_bool(op, AttrName::add);  // version < 11
        break;
      case OpCode::tpu_reinterpret_cast:
        if (!segmented) {  // version < 12, 15
          if (n < 1) fail(op, "a memref");
          set_segments(op, std::array<int64_t, 3>{1, 0, static_cast<int64_t>(n - 1)});
        }
        drop_empty_segment(op, 3);  // JAX 0.11: dynamic strides
        break;
      case OpCode::tpu_matmul:
        set_default_bool(op, AttrName::transpose_lhs);
        set_default_bool(op, AttrName::transpose_rhs);
        set_default_bool(op, AttrName::transpose_lhs_hint);  // version < 13
        break;
      default:
        break;
    }
  }

  void pad_segments(Op& op, size_t count) {
    const std::span<const int64_t> sizes = op.ints(AttrName::operand_segment_sizes);
    if (sizes.size() + 1 != count) return;
    std::vector<int64_t> all(sizes.begin(), sizes.end());
    all.push_back(0);
    set(op, AttrName::operand_segment_sizes, ints(DType::i32, all));
  }

  // Of one segment more than `count`, the last, if it is empty.
  void drop_empty_segment(Op& op, size_t count) {
    const std::span<const int64_t> sizes = op.ints(AttrName::operand_segment_sizes);
    if (sizes.size() == count + 1 && sizes.back() == 0)
      set(op, AttrName::operand_segment_sizes, ints(DType::i32, sizes.first(count)));
  }

  struct Key {
    OpCode code;
    size_t operands;
    const NamedAttr* attrs;
    size_t attr_count;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& k) const {
      return (std::hash<const void*>()(k.attrs) * 31 + k.operands) * 257 + static_cast<size_t>(k.code) + k.attr_count;
    }
  };
  struct Done {
    bool seen = false;
    OpCode code = OpCode::unknown;
    std::string_view name;
    std::span<const NamedAttr> attrs;
  };

  Module& module_;
  std::string_view name_;
  std::unordered_map<Key, Done, KeyHash> done_;
  const Type *i1_ = nullptr, *i32_ = nullptr, *i64_ = nullptr;
};

}  // namespace

void upgrade(Module& module, std::string_view name, bool force) {
  if (module.ir_version > kNewestIrVersion && !force)
    throw InputError(std::string(name), "at byte " + std::to_string(module.offset) + ": Mosaic IR version " +
                                            std::to_string(module.ir_version) + "; versions 1 to " +
                                            std::to_string(kNewestIrVersion) + " are known (--force tries it anyway)");
  if (module.ir_version == 0) {
    // Payloads from before the stable form: kernels as they were lowered are readable, those that a compiler had
    // already laid out are not.
    for (const Function& f : module.functions)
      for (const Type* type : f.value_types)
        if (type && type->is_memref() && type->layout)
          throw InputError(std::string(name),
                           "at byte " + std::to_string(f.offset) +
                               ": a payload from before Mosaic's stable IR with layouts already applied (" +
                               to_string(*type->layout) + "); lower the kernel again with a newer JAX");
  }
  Upgrader(module, name).run();
}

}  // namespace tilecheck::mosaic
