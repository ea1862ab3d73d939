#include "sim/fit/simplify.h"

#include <algorithm>
#include <optional>

namespace tilecheck::fit {
namespace {

bool is_removable(const Op& op) {
  if (op.kind == OpKind::marker) return !op.out.empty();
  if (!has_effect(op.kind)) return true;
  if (op.kind != OpKind::branch && op.kind != OpKind::loop && op.kind != OpKind::scope) return false;
  return std::all_of(op.blocks.begin(), op.blocks.end(), [](const Block& block) {
    return std::all_of(block.ops.begin(), block.ops.end(), [](const Op& inner) { return is_removable(inner); });
  });
}

// Keeps what a live operation needs.
class DeadCode {
 public:
  explicit DeadCode(Body& body) : body_(body), used_(body.values.size()), ref_used_(body.refs.size()) {}
  void run() { sweep(body_.top); }

 private:
  void use(ValueId v) {
    if (v != kNone) used_[static_cast<size_t>(v)] = true;
  }
  void use_ref(RefId ref) {
    for (; ref != kNone && !ref_used_[static_cast<size_t>(ref)]; ref = body_.refs[static_cast<size_t>(ref)].base) {
      ref_used_[static_cast<size_t>(ref)] = true;
      for (const Offset& offset : body_.refs[static_cast<size_t>(ref)].starts) use(offset.value);
      for (const Offset& size : body_.refs[static_cast<size_t>(ref)].sizes) use(size.value);
    }
  }
  // Backwards, so that one pass suffices: uses come after definitions. A loop's own carries are used by its yields.
  void sweep(Block& block) {
    for (ValueId v : block.yields) use(v);
    std::vector<Op> kept;
    kept.reserve(block.ops.size());
    for (auto it = block.ops.rbegin(); it != block.ops.rend(); ++it) {
      Op& op = *it;
      const bool is_used =
          std::any_of(op.out.begin(), op.out.end(), [&](ValueId v) { return used_[static_cast<size_t>(v)]; });
      if (!is_used && is_removable(op)) continue;
      for (Block& inner : op.blocks) sweep(inner);
      for (ValueId v : op.in) use(v);
      for (const Offset& offset : op.starts) use(offset.value);
      for (RefId ref : {op.ref, op.ref2, op.sem}) use_ref(ref);
      kept.push_back(std::move(op));
    }
    std::reverse(kept.begin(), kept.end());
    block.ops = std::move(kept);
  }

  Body& body_;
  std::vector<bool> used_, ref_used_;
};

class Folder {
 public:
  explicit Folder(Body& body) : body_(body), known_(body.values.size()), same_as_(body.values.size(), kNone) {}
  void run() {
    fold(body_.top);
    for (RefInfo& ref : body_.refs) {
      resolve(ref.starts);
      resolve(ref.sizes);
    }
  }

 private:
  ValueId resolve(ValueId v) const {
    while (v != kNone && same_as_[static_cast<size_t>(v)] != kNone) v = same_as_[static_cast<size_t>(v)];
    return v;
  }
  std::optional<int64_t> number(ValueId v) const {
    return v == kNone ? std::nullopt : known_[static_cast<size_t>(resolve(v))];
  }
  void resolve(std::vector<Offset>& offsets) const {
    for (Offset& offset : offsets) {
      if (offset.is_constant()) continue;
      offset.value = resolve(offset.value);
      if (const auto known = known_[static_cast<size_t>(offset.value)]) offset = {kNone, *known};
    }
  }
  bool is_scalar(ValueId v) const { return type_of(body_, v).shape.empty(); }
  void learn(const Op& op, std::optional<int64_t> value) {
    if (value) known_[static_cast<size_t>(op.out[0])] = value;
  }

  // Returns the operations that remain.
  void fold(Block& block) {
    std::vector<Op> kept;
    kept.reserve(block.ops.size());
    for (Op& op : block.ops) fold_op(op, kept);
    block.ops = std::move(kept);
    for (ValueId& v : block.yields) v = resolve(v);
  }

  void fold_op(Op& op, std::vector<Op>& kept) {
    for (ValueId& v : op.in) v = resolve(v);
    resolve(op.starts);
    if (op.kind == OpKind::marker && op.out.size() == 1 && op.in.size() == 1) {
      same_as_[static_cast<size_t>(op.out[0])] = op.in[0];
      return;
    }
    if (op.out.size() == 1 && is_scalar(op.out[0]) && op.blocks.empty()) {
      if (op.kind == OpKind::select) {
        if (const auto condition = number(op.in[0])) {
          same_as_[static_cast<size_t>(op.out[0])] = (*condition & 1) ? op.in[1] : op.in[2];
          return;
        }
      }
      learn(op, evaluate(op));
    }
    if (op.kind == OpKind::branch && fold_branch(op, kept)) return;
    for (Block& block : op.blocks) fold(block);
    if (op.kind == OpKind::loop && fold_loop(op)) return;
    kept.push_back(std::move(op));
  }

  bool fold_branch(Op& op, std::vector<Op>& kept) {
    const auto condition = number(op.in[0]);
    if (!condition || op.blocks.size() > 2) return false;
    const size_t taken = (*condition & 1) ? 0 : 1;
    if (taken >= op.blocks.size()) return op.out.empty();
    Block block = std::move(op.blocks[taken]);
    for (Op& inner : block.ops) fold_op(inner, kept);
    for (size_t i = 0; i < op.out.size() && i < block.yields.size(); ++i)
      same_as_[static_cast<size_t>(op.out[i])] = resolve(block.yields[i]);
    return true;
  }

  bool fold_loop(Op& op) {
    const auto lo = number(op.in[0]), hi = number(op.in[1]), step = number(op.in[2]);
    if (!lo || !hi || !step || *step <= 0) return false;
    op.trips = *hi <= *lo ? 0 : (*hi - *lo + *step - 1) / *step;
    if (op.trips != 0) return false;
    for (size_t i = 0; i < op.out.size(); ++i) same_as_[static_cast<size_t>(op.out[i])] = op.in[3 + i];
    return true;
  }

  std::optional<int64_t> evaluate(const Op& op) const {
    switch (op.kind) {
      case OpKind::constant:
        if (!op.is_splat || is_floating(type_of(body_, op.out[0]).dtype)) return std::nullopt;
        return static_cast<int64_t>(op.number);
      case OpKind::grid_index:
        if (axis_size(op) == 1) return 0;
        return std::nullopt;
      case OpKind::grid_size:
        if (axis_size(op) != kDynamicGrid) return axis_size(op);
        return std::nullopt;
      case OpKind::convert: {
        const auto value = number(op.in[0]);
        if (!value || is_floating(type_of(body_, op.out[0]).dtype)) return std::nullopt;
        return type_of(body_, op.in[0]).dtype == DType::b1 ? (*value & 1) : *value;
      }
      case OpKind::elementwise:
        return op.in.size() == 2 ? arithmetic(op) : std::nullopt;
      case OpKind::compare:
        return comparison(op);
      case OpKind::lookup: {
        std::vector<int64_t> inputs;
        for (ValueId v : op.in) {
          const auto known = number(v);
          if (!known) return std::nullopt;
          inputs.push_back(*known);
        }
        return look_up(body_.lookups[static_cast<size_t>(op.lookup)], inputs);
      }
      default:
        return std::nullopt;
    }
  }
  int64_t axis_size(const Op& op) const {
    const int axis = static_cast<int>(op.axes[0]);
    return axis >= 0 && axis < body_.grid.rank() ? body_.grid[axis] : kDynamicGrid;
  }

  std::optional<int64_t> arithmetic(const Op& op) const {
    const auto a = number(op.in[0]), b = number(op.in[1]);
    const bool is_bool = type_of(body_, op.out[0]).dtype == DType::b1;
    if (op.fn == Fn::mul || op.fn == Fn::bit_and)
      if ((a && *a == 0) || (b && *b == 0)) return 0;
    if (op.fn == Fn::bit_or && is_bool && ((a && (*a & 1)) || (b && (*b & 1)))) return 1;
    if (op.fn == Fn::sub && op.in[0] == op.in[1] && !is_floating(type_of(body_, op.out[0]).dtype)) return 0;
    if (!a || !b) return std::nullopt;
    const auto wrap = [](uint64_t v) { return static_cast<int64_t>(static_cast<int32_t>(v)); };
    const uint64_t ua = static_cast<uint64_t>(*a), ub = static_cast<uint64_t>(*b);
    switch (op.fn) {
      case Fn::add:
        return wrap(ua + ub);
      case Fn::sub:
        return wrap(ua - ub);
      case Fn::mul:
        return wrap(ua * ub);
      case Fn::div:
        return *b == 0 ? -1 : *b == -1 ? wrap(0 - ua) : *a / *b;
      case Fn::rem:
        return *b == 0 ? *a : *b == -1 ? 0 : *a % *b;
      case Fn::min:
        return std::min(*a, *b);
      case Fn::max:
        return std::max(*a, *b);
      case Fn::bit_and:
        return *a & *b;
      case Fn::bit_or:
        return *a | *b;
      case Fn::bit_xor:
        return *a ^ *b;
      default:
        return std::nullopt;
    }
  }
  std::optional<int64_t> comparison(const Op& op) const {
    if (op.in.size() != 2 || is_floating(type_of(body_, op.in[0]).dtype)) return std::nullopt;
    const auto a = number(op.in[0]), b = number(op.in[1]);
    if (op.in[0] == op.in[1]) return op.fn == Fn::eq || op.fn == Fn::le || op.fn == Fn::ge ? 1 : 0;
    if (!a || !b) return std::nullopt;
    switch (op.fn) {
      case Fn::eq:
        return *a == *b;
      case Fn::ne:
        return *a != *b;
      case Fn::lt:
        return *a < *b;
      case Fn::le:
        return *a <= *b;
      case Fn::gt:
        return *a > *b;
      case Fn::ge:
        return *a >= *b;
      default:
        return std::nullopt;
    }
  }

  Body& body_;
  std::vector<std::optional<int64_t>> known_;
  std::vector<ValueId> same_as_;
};

}  // namespace

void remove_dead(Body& body) { DeadCode(body).run(); }

void simplify(Body& body) {
  Folder(body).run();
  remove_dead(body);
}

}  // namespace tilecheck::fit
