// Makes an edit.
#include <algorithm>
#include <utility>

#include "sim/mosaic/mutate.h"
#include "sim/mosaic/mutate_ir.h"
#include "sim/mosaic/verifier.h"
#include "sim/types/error.h"

namespace tilecheck::mosaic {
namespace {

class Editor {
 public:
  Editor(KernelModule& kernel, const Edit& edit, int devices)
      : module_(kernel.module),
        function_(module_.functions[edit.function]),
        edit_(edit),
        devices_(devices),
        places_(places_of(function_)),
        defs_(definitions(function_, places_)),
        place_(places_[edit.op]) {}

  // False: it cannot be made here.
  bool run() {
    switch (edit_.kind) {
      case EditKind::drop:
        erase();
        return true;
      case EditKind::repeat:
        insert(place_.index + 1, {place_.op()});
        return true;
      case EditKind::half_wait:
        return half_wait();
      case EditKind::more:
        return set_operand(edit_.operand, arithmetic(OpCode::arith_addi, place_.op().operands[edit_.operand], 1));
      case EditKind::half:
        return set_operand(edit_.operand, arithmetic(OpCode::arith_divsi, place_.op().operands[edit_.operand], 2));
      case EditKind::other_semaphore:
        return set_operand(edit_.operand, with_root(place_.op().operands[edit_.operand], edit_.value));
      case EditKind::swap_semaphores:
        return swap_semaphores();
      case EditKind::next_slot:
        return next_slot();
      case EditKind::next_device:
        return set_operand(edit_.operand, next(place_.op().operands[edit_.operand], devices_));
      case EditKind::start_after_wait:
      case EditKind::later:
        return move_behind(places_[edit_.other_op].index);
      case EditKind::wait_before_start:
      case EditKind::earlier:
        return move_before(places_[edit_.other_op].index);
      case EditKind::always:
        return set_condition(1);
      case EditKind::never:
        return set_condition(0);
    }
    return false;
  }

 private:
  // ---- Blocks.

  std::vector<Op> ops() const { return {place_.block->ops.begin(), place_.block->ops.end()}; }
  void set_ops(const std::vector<Op>& list) { place_.block->ops = module_.copy(std::span<const Op>(list)); }

  void erase() {
    std::vector<Op> list = ops();
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(place_.index));
    set_ops(list);
  }

  void insert(size_t at, const std::vector<Op>& more) {
    std::vector<Op> list = ops();
    list.insert(list.begin() + static_cast<std::ptrdiff_t>(at), more.begin(), more.end());
    set_ops(list);
  }

  // The operation to be edited gets another operand; what that is made of stands before it.
  bool set_operand(uint32_t operand, ValueId value) {
    Op& op = place_.op();
    std::vector<ValueId> operands(op.operands.begin(), op.operands.end());
    operands[operand] = value;
    op.operands = module_.copy(std::span<const ValueId>(operands));
    insert(place_.index, made_);
    return true;
  }

  bool move_behind(size_t other) {
    std::vector<Op> list = ops();
    const Op op = list[place_.index];
    list.insert(list.begin() + static_cast<std::ptrdiff_t>(other) + 1, op);
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(place_.index));
    set_ops(list);
    return true;
  }

  // With the operations without effect that its operands need.
  bool move_before(size_t other) {
    std::vector<Op> list = ops();
    const size_t from = place_.index;
    std::vector<bool> moves(list.size(), false);
    moves[from] = true;
    for (size_t i = from; i > other; --i) {
      const size_t k = i - 1;
      bool needed = false;
      for (size_t user = k + 1; user <= from && !needed; ++user)
        if (moves[user])
          for (const ValueId id : list[user].operands)
            needed = needed || (id >= list[k].first_result && id - list[k].first_result < list[k].result_count);
      if (!needed) continue;
      if (has_effect(list[k])) return false;
      moves[k] = true;
    }
    std::vector<Op> moved(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(other));
    for (size_t k = other; k <= from; ++k)
      if (moves[k]) moved.push_back(list[k]);
    for (size_t k = other; k < list.size(); ++k)
      if (!moves[k]) moved.push_back(list[k]);
    set_ops(moved);
    return true;
  }

  // ---- New values, made before the edited operation.

  ValueId add(Op op, const Type* type) {
    op.first_result = static_cast<ValueId>(function_.value_types.size());
    op.result_count = 1;
    op.loc = place_.op().loc;
    function_.value_types.push_back(type);
    made_.push_back(op);
    return op.first_result;
  }

  ValueId constant(const Type* type, int64_t value) {
    Attr attr;
    attr.kind = AttrKind::integer;
    attr.type = type;
    attr.integer = value;
    const NamedAttr named{AttrName::value, "value", module_.make(attr)};
    Op op;
    op.code = OpCode::arith_constant;
    op.name = info(op.code).name;
    op.attrs = module_.copy(std::span<const NamedAttr>(&named, 1));
    return add(op, type);
  }

  ValueId binary(OpCode code, ValueId a, ValueId b) {
    const ValueId operands[] = {a, b};
    Op op;
    op.code = code;
    op.name = info(code).name;
    op.operands = module_.copy(std::span<const ValueId>(operands));
    return add(op, function_.value_types[a]);
  }

  ValueId arithmetic(OpCode code, ValueId a, int64_t b) {
    return binary(code, a, constant(function_.value_types[a], b));
  }
  // (a + 1) % n
  ValueId next(ValueId a, int64_t n) {
    return arithmetic(OpCode::arith_remsi, arithmetic(OpCode::arith_addi, a, 1), n);
  }

  Op with_operand(Op op, size_t i, ValueId value) {
    std::vector<ValueId> operands(op.operands.begin(), op.operands.end());
    operands[i] = value;
    op.operands = module_.copy(std::span<const ValueId>(operands));
    return op;
  }

  // The same views of another root.
  ValueId with_root(ValueId id, ValueId root) {
    const Op* def = defs_[id];
    if (!def || !is_view(*def)) return root;
    return add(with_operand(*def, 0, with_root(def->operands[0], root)), function_.value_types[id]);
  }

  // The same views, but the slice `depth` views behind `id` begins one later.
  ValueId with_next_slot(ValueId id, uint32_t depth) {
    const Op& view = *defs_[id];
    if (depth > 0)
      return add(with_operand(view, 0, with_next_slot(view.operands[0], depth - 1)), function_.value_types[id]);
    const size_t at = 1 + edit_.dimension;  // the memref, then a start for each dimension
    return add(with_operand(view, at, next(view.operands[at], edit_.slots)), function_.value_types[id]);
  }

  bool next_slot() {
    const ValueId operand = place_.op().operands[edit_.operand];
    return set_operand(edit_.operand,
                       edit_.view == Edit::kDirect ? next(operand, edit_.slots) : with_next_slot(operand, edit_.view));
  }

  bool swap_semaphores() {
    const std::vector<uint32_t> at = semaphore_operands(place_.op());
    const ValueId first = place_.op().operands[at[0]];
    place_.op() = with_operand(place_.op(), at[0], place_.op().operands[at[1]]);
    place_.op() = with_operand(place_.op(), at[1], first);
    return true;
  }

  bool half_wait() {
    Op op = place_.op();
    for (const uint32_t at : copied_operands(op)) {
      if (!function_.type_of(op.operands[at]).is_static()) return false;
      op = with_operand(op, at, first_half(op.operands[at]));
    }
    place_.op() = op;
    insert(place_.index, made_);
    return true;
  }

  ValueId first_half(ValueId whole) {
    const Type& type = function_.type_of(whole);
    Type half = type;
    half.shape[static_cast<int>(edit_.dimension)] /= 2;
    Type i32;
    i32.kind = TypeKind::scalar;
    i32.dtype = DType::i32;
    const Type* index = module_.make(i32);
    std::vector<ValueId> operands{whole};
    for (int d = 0; d < half.shape.rank(); ++d) operands.push_back(constant(index, 0));
    const int64_t sizes[] = {1, half.shape.rank(), 0};
    Attr segments;
    segments.kind = AttrKind::dense_array;
    segments.type = index;
    segments.integers = module_.copy(std::span<const int64_t>(sizes));
    const NamedAttr named{AttrName::operand_segment_sizes, "operandSegmentSizes", module_.make(segments)};
    Op op;
    op.code = OpCode::tpu_memref_slice;
    op.name = info(op.code).name;
    op.operands = module_.copy(std::span<const ValueId>(operands));
    op.attrs = module_.copy(std::span<const NamedAttr>(&named, 1));
    return add(op, module_.make(half));
  }

  bool set_condition(int64_t value) {
    return set_operand(0, constant(function_.value_types[place_.op().operands[0]], value));
  }

  Module& module_;
  Function& function_;
  const Edit& edit_;
  int devices_;
  std::vector<Place> places_;
  std::vector<const Op*> defs_;
  Place place_;
  std::vector<Op> made_;
};

}  // namespace

bool apply_edit(KernelModule& kernel, const Edit& edit, int devices) {
  if (!Editor(kernel, edit, devices).run()) return false;
  try {
    verify(kernel.module, kernel.source);
  } catch (const InputError&) {
    return false;
  }
  return true;
}

}  // namespace tilecheck::mosaic
