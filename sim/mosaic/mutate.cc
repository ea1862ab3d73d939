// Lists the edits; mutate_apply.cc makes them.
#include "sim/mosaic/mutate.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "sim/mosaic/mutate_ir.h"

namespace tilecheck::mosaic {
namespace {

constexpr int64_t kMaxSlots = 16;  // more blocks than that along a dimension are an array, not slots

class Lister {
 public:
  Lister(const KernelModule& kernel, uint32_t function, int devices, std::vector<Edit>& edits)
      : kernel_(kernel),
        number_(function),
        function_(const_cast<Function&>(kernel.module.functions[function])),
        devices_(devices),
        edits_(edits),
        places_(places_of(function_)),
        defs_(definitions(function_, places_)) {
    for (uint32_t i = 0; i < places_.size(); ++i) ordinal_[&places_[i].op()] = i;
  }

  void run() {
    for (const Place& p : places_) {
      if (!is_start(p.op())) continue;
      for (const uint32_t at : copied_operands(p.op())) copied_.insert(root_of(p.op().operands[at]));
    }
    for (const Place& p : places_) {
      const Op& op = p.op();
      if (is_ordering(op)) list_ordering(p);
      if (op.code == OpCode::scf_if && holds_ordering(op)) list_branch(op);
      list_access_slots(op);
    }
  }

 private:
  Edit& add(EditKind kind, const Op& op, std::string what) {
    Edit& e = edits_.emplace_back();
    e.kind = kind;
    e.what = std::move(what);
    e.at = kernel_.loc(op.loc);
    e.function = number_;
    e.op = ordinal_.at(&op);
    return e;
  }

  // ---- Names.

  ValueId root_of(ValueId id) const {
    while (defs_[id] && is_view(*defs_[id])) id = defs_[id]->operands[0];
    return id;
  }

  std::string root_name(ValueId root) const {
    const Op* def = defs_[root];
    if (def && def->code == OpCode::tpu_sem_barrier) return "the barrier semaphore";
    const bool is_main = &function_ == kernel_.main;
    if (!def && is_main && root < kernel_.arg_names.size()) return kernel_.arg_names[root];
    return function_.type_of(root).shape.rank() == 0 ? "a scoped semaphore" : "scoped memory";
  }

  std::optional<int64_t> constant(ValueId id) const {
    const Op* def = defs_[id];
    while (def && def->code == OpCode::arith_index_cast) def = defs_[def->operands[0]];
    if (!def || def->code != OpCode::arith_constant) return std::nullopt;
    return def->int_or(AttrName::value, 0);
  }

  std::string ref_name(ValueId id) const {
    std::string index;
    for (ValueId v = id; defs_[v] && is_view(*defs_[v]); v = defs_[v]->operands[0]) {
      const Op& view = *defs_[v];
      if (view.code != OpCode::tpu_memref_slice) continue;
      const auto starts = view.segment(segment::kSliceStart);
      if (starts.empty() || function_.type_of(view.result()).shape[0] != 1) continue;
      const auto k = constant(starts[0]);
      index = "[" + (k ? std::to_string(*k) : std::string("...")) + "]" + index;
    }
    return root_name(root_of(id)) + index;
  }

  std::string describe(const Op& op) const {
    if (is_start(op))
      return "the copy of " + ref_name(op.segment(segment::kDmaSource)[0]) + " to " +
             ref_name(op.segment(segment::kDmaTarget)[0]);
    const std::vector<uint32_t> semaphores = semaphore_operands(op);
    const std::string on = semaphores.empty() ? "" : ref_name(op.operands[semaphores[0]]);
    if (is_signal(op)) return "the signal to " + on;
    return "the wait on " + on;
  }

  // ---- One operation.

  void list_ordering(const Place& place) {
    const Op& op = place.op();
    const std::string it = describe(op);
    add(EditKind::drop, op, "leave out " + it);
    add(EditKind::repeat, op, "do " + it + " twice");
    if (is_copy_wait(op)) list_half_wait(op, it);
    list_amount(op, it);
    list_semaphores(op, it);
    if (is_start(op) || is_signal(op)) list_device(op, it);
    for (const uint32_t operand : semaphore_operands(op)) list_slots(op, operand, it);
    if (is_start(op)) {
      for (const uint32_t at : copied_operands(op)) list_slots(op, at, it);
      list_moves_of_start(place);
    }
    if (is_copy_wait(op) || is_signal_wait(op)) list_later(place, it);
    if (is_start(op) || is_signal(op)) list_earlier(place, it);
  }

  void list_half_wait(const Op& op, const std::string& it) {
    const Shape& shape = function_.type_of(op.operands[copied_operands(op).back()]).shape;
    for (int d = 0; d < shape.rank(); ++d) {
      if (shape[d] < 2) continue;
      add(EditKind::half_wait, op, "let " + it + " take half of the bytes").dimension = static_cast<uint32_t>(d);
      return;
    }
  }

  void list_amount(const Op& op, const std::string& it) {
    if (!is_signal(op) && !is_signal_wait(op)) return;
    const uint32_t at = is_signal(op) ? *segment_position(op, segment::kSignalAmount) : 1;
    add(EditKind::more, op, "let " + it + " count one more").operand = at;
    const auto k = constant(op.operands[at]);
    if (k && *k >= 2) add(EditKind::half, op, "let " + it + " count half").operand = at;
  }

  void list_semaphores(const Op& op, const std::string& it) {
    const std::vector<uint32_t> semaphores = semaphore_operands(op);
    for (const uint32_t operand : semaphores) {
      const ValueId root = root_of(op.operands[operand]);
      for (ValueId other = 0; other < function_.value_types.size(); ++other) {
        if (other == root || !function_.value_types[other] || !is_root(other)) continue;
        if (!(function_.type_of(other) == function_.type_of(root))) continue;
        Edit& e = add(EditKind::other_semaphore, op,
                      "let " + it + " use " + root_name(other) + " instead of " + root_name(root));
        e.operand = operand;
        e.value = other;
      }
    }
    if (semaphores.size() == 2 &&
        function_.type_of(op.operands[semaphores[0]]) == function_.type_of(op.operands[semaphores[1]]))
      add(EditKind::swap_semaphores, op, "swap the two semaphores of " + it);
  }

  // A value that views begin at: an argument of the function, or an allocation.
  bool is_root(ValueId id) const {
    if (!function_.type_of(id).is_memref() || !is_semaphore(function_.type_of(id).dtype)) return false;
    if (!defs_[id]) return id < function_.arg_count();
    return defs_[id]->code == OpCode::tpu_sem_alloc || defs_[id]->code == OpCode::tpu_sem_barrier;
  }

  void list_device(const Op& op, const std::string& it) {
    if (devices_ < 2) return;
    const auto at = segment_position(
        op, is_start(op) ? static_cast<int>(segment::kDmaDevice) : static_cast<int>(segment::kSignalDevice));
    if (at) add(EditKind::next_device, op, "let " + it + " go to the device after").operand = *at;
  }

  void list_slots(const Op& op, uint32_t operand, const std::string& it) {
    uint32_t depth = 0;
    for (ValueId v = op.operands[operand]; defs_[v] && is_view(*defs_[v]); v = defs_[v]->operands[0], ++depth) {
      const Op& view = *defs_[v];
      if (view.code != OpCode::tpu_memref_slice) continue;
      const Shape &base = function_.type_of(view.operands[0]).shape, &part = function_.type_of(view.result()).shape;
      for (int d = 0; d < base.rank(); ++d) {
        if (base[d] < 2 || base[d] > kMaxSlots || part[d] != 1) continue;
        Edit& e = add(EditKind::next_slot, op, "let " + it + " use the slot after of " + root_name(root_of(v)));
        e.operand = operand;
        e.view = depth;
        e.dimension = static_cast<uint32_t>(d);
        e.slots = base[d];
      }
    }
  }

  // A load or store of a buffer that copies use too.
  void list_access_slots(const Op& op) {
    uint32_t base = 0, first_index = 0;
    if (op.code == OpCode::vector_load) {
      first_index = 1;
    } else if (op.code == OpCode::vector_store) {
      base = 1;
      first_index = 2;
    } else if (op.code == OpCode::tpu_vector_load) {
      first_index = 1;
    } else if (op.code == OpCode::tpu_vector_store) {
      base = *segment_position(op, segment::kStoreBase);
      first_index = base + 1;
    } else {
      return;
    }
    if (!copied_.contains(root_of(op.operands[base]))) return;
    const bool loads = op.result_count > 0;
    const std::string it = std::string(loads ? "the load of " : "the store to ") + ref_name(op.operands[base]);
    list_slots(op, base, it);
    const Shape& shape = function_.type_of(op.operands[base]).shape;
    const Type& vector = function_.type_of(loads ? op.result() : op.operands[0]);
    if (!vector.is_vector() || vector.shape.rank() != shape.rank()) return;
    for (int d = 0; d < shape.rank(); ++d) {
      if (shape[d] < 2 || shape[d] > kMaxSlots || vector.shape[d] != 1) continue;
      Edit& e = add(EditKind::next_slot, op, "let " + it + " use the slot after");
      e.operand = first_index + static_cast<uint32_t>(d);
      e.view = Edit::kDirect;
      e.slots = shape[d];
    }
  }

  // ---- Moves, within a block.

  void list_moves_of_start(const Place& start) {
    std::set<ValueId> roots;
    for (const uint32_t operand : semaphore_operands(start.op())) roots.insert(root_of(start.op().operands[operand]));
    for (size_t j = start.index + 1; j < start.block->ops.size(); ++j) {
      const Op& wait = start.block->ops[j];
      if (!is_copy_wait(wait) || !roots.contains(root_of(wait.operands[semaphore_operands(wait)[0]]))) continue;
      add(EditKind::start_after_wait, start.op(), "start " + describe(start.op()) + " after " + describe(wait))
          .other_op = ordinal_.at(&wait);
      bool between = false;
      for (size_t k = start.index + 1; k < j; ++k) between = between || has_effect(start.block->ops[k]);
      if (between)
        add(EditKind::wait_before_start, wait, "do " + describe(wait) + " before the start of " + describe(start.op()))
            .other_op = ordinal_.at(&start.op());
      return;
    }
  }

  void list_later(const Place& place, const std::string& it) {
    for (size_t j = place.index + 1; j < place.block->ops.size(); ++j)
      if (has_effect(place.block->ops[j])) {
        add(EditKind::later, place.op(), "do " + it + " one operation later").other_op =
            ordinal_.at(&place.block->ops[j]);
        return;
      }
  }

  void list_earlier(const Place& place, const std::string& it) {
    for (size_t j = place.index; j-- > 0;)
      if (has_effect(place.block->ops[j])) {
        add(EditKind::earlier, place.op(), "do " + it + " one operation earlier").other_op =
            ordinal_.at(&place.block->ops[j]);
        return;
      }
  }

  // ---- Branches.

  bool holds_ordering(const Op& op) const {
    bool holds = false;
    for (const Region& r : op.regions) walk(r, [&](const Op& inner) { holds = holds || is_ordering(inner); });
    return holds;
  }

  void list_branch(const Op& op) {
    if (constant(op.operands[0])) return;
    add(EditKind::always, op, "take the branch always");
    add(EditKind::never, op, "take the branch never");
  }

  const KernelModule& kernel_;
  uint32_t number_;
  Function& function_;
  int devices_;
  std::vector<Edit>& edits_;
  std::vector<Place> places_;
  std::vector<const Op*> defs_;
  std::unordered_map<const Op*, uint32_t> ordinal_;
  std::set<ValueId> copied_;  // roots of what copies read and write
};

}  // namespace

std::string_view name(EditKind kind) {
  switch (kind) {
    case EditKind::drop:
      return "drop";
    case EditKind::repeat:
      return "repeat";
    case EditKind::half_wait:
      return "half-wait";
    case EditKind::more:
      return "count-more";
    case EditKind::half:
      return "count-half";
    case EditKind::other_semaphore:
      return "other-semaphore";
    case EditKind::swap_semaphores:
      return "swap-semaphores";
    case EditKind::next_slot:
      return "next-slot";
    case EditKind::next_device:
      return "next-device";
    case EditKind::start_after_wait:
      return "start-after-wait";
    case EditKind::wait_before_start:
      return "wait-before-start";
    case EditKind::later:
      return "later";
    case EditKind::earlier:
      return "earlier";
    case EditKind::always:
      return "always";
    case EditKind::never:
      return "never";
  }
  return "";
}

std::vector<Edit> single_edits(const KernelModule& kernel, int devices) {
  std::vector<Edit> edits;
  for (uint32_t f = 0; f < kernel.module.functions.size(); ++f) {
    const Function& function = kernel.module.functions[f];
    const bool is_map = std::any_of(kernel.windows.begin(), kernel.windows.end(),
                                    [&](const WindowParams& w) { return w.transform == &function; });
    if (!is_map) Lister(kernel, f, devices, edits).run();
  }
  return edits;
}

}  // namespace tilecheck::mosaic
