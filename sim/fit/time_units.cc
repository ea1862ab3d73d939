#include "sim/fit/time_units.h"

#include <algorithm>
#include <cassert>
#include <functional>

namespace tilecheck::fit {
namespace {

bool contains(const Dims& axes, int axis) { return std::find(axes.begin(), axes.end(), axis) != axes.end(); }

}  // namespace

BodyCosts::BodyCosts(const Body& body, const TimeTable& table) : body_(body), table_(table) {
  layouts_.resize(body.values.size());
  for (size_t v = 0; v < layouts_.size(); ++v)
    if (body.values[v].shape.rank() > 0) {  // until an operation says otherwise: every register differs
      layouts_[v].by_lead = layouts_[v].by_row = layouts_[v].by_column = true;
      layouts_[v].is_splat = layouts_[v].lanes_alike = false;
    }
  users_.resize(body.values.size());
  live_values_.resize(body.values.size());
  find_live(body.top);
  find_live(body.top);  // values that a loop carries back
  visit(body.top);
  std::vector<size_t> order(ops_.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return std::less<>()(ops_[a], ops_[b]); });
  std::vector<const Op*> ops;
  std::vector<OpCost> costs;
  for (size_t i : order) {
    ops.push_back(ops_[i]);
    costs.push_back(costs_[i]);
  }
  ops_ = std::move(ops);
  costs_ = std::move(costs);
}

const OpCost& BodyCosts::of(const Op& op) const {
  const auto it = std::lower_bound(ops_.begin(), ops_.end(), &op, std::less<>());
  assert(it != ops_.end() && *it == &op);
  return costs_[static_cast<size_t>(it - ops_.begin())];
}

void BodyCosts::find_live(const Block& block) {
  const auto mark = [&](ValueId v) {
    if (v != kNone) live_values_[static_cast<size_t>(v)] = true;
  };
  for (ValueId v : block.yields) mark(v);
  for (auto op = block.ops.rbegin(); op != block.ops.rend(); ++op) {
    const bool live = has_effect(op->kind) || std::any_of(op->out.begin(), op->out.end(), [&](ValueId v) {
                        return live_values_[static_cast<size_t>(v)];
                      });
    if (!live) continue;
    for (ValueId v : op->in) mark(v);
    for (const Offset& start : op->starts) mark(start.value);
    for (auto b = op->blocks.rbegin(); b != op->blocks.rend(); ++b) find_live(*b);
  }
}

void BodyCosts::visit(const Block& block) {
  for (const Op& op : block.ops)
    if (has_effect(op.kind) ||
        std::any_of(op.out.begin(), op.out.end(), [&](ValueId v) { return live_values_[static_cast<size_t>(v)]; }))
      for (ValueId v : op.in) users_[static_cast<size_t>(v)].push_back(&op);
  for (const Op& op : block.ops) {
    const bool live = has_effect(op.kind) || std::any_of(op.out.begin(), op.out.end(), [&](ValueId v) {
                        return live_values_[static_cast<size_t>(v)];
                      });
    lay_out(op);
    ops_.push_back(&op);
    costs_.push_back(live ? cost(op) : OpCost{.is_live = false});
    for (const Block& inner : op.blocks) visit(inner);
  }
}

double BodyCosts::registers(ValueId value, bool all) const {
  return static_cast<double>(register_grid(type(value), layout(value), all).count());
}

int BodyCosts::distinct_operands(const Op& op) const {
  int n = 0;
  for (size_t i = 0; i < op.in.size(); ++i) {
    if (layout(op.in[i]).is_splat) continue;
    if (std::find(op.in.begin(), op.in.begin() + static_cast<std::ptrdiff_t>(i), op.in[i]) ==
        op.in.begin() + static_cast<std::ptrdiff_t>(i))
      ++n;
  }
  return std::max(1, n);
}

// exp(-x) and exp(x - m) take the sign for free: the negation folds into the multiplication by log2(e).
bool BodyCosts::feeds_exp_only(ValueId value) const {
  const std::vector<const Op*>& users = users_[static_cast<size_t>(value)];
  return users.size() == 1 && users[0]->kind == OpKind::elementwise &&
         (users[0]->fn == Fn::exp || users[0]->fn == Fn::add || users[0]->fn == Fn::sub || users[0]->fn == Fn::mul);
}

void BodyCosts::lay_out(const Op& op) {
  if (op.out.empty()) return;
  ValueLayout& out = layouts_[static_cast<size_t>(op.out[0])];
  const TileType& result = type(op.out[0]);
  const int rank = result.shape.rank();
  if (rank == 0) return;
  const auto in = [&](size_t i) -> const ValueLayout& { return layout(op.in[i]); };
  switch (op.kind) {
    case OpKind::constant:
      if (op.is_splat) out = {};
      return;
    case OpKind::iota:
      out = {};
      out.is_splat = out.lanes_alike = false;
      out.by_column = contains(op.axes, rank - 1);
      out.by_row = contains(op.axes, rank - 2);
      for (int64_t axis : op.axes) out.by_lead |= axis < rank - 2;
      return;
    case OpKind::elementwise:
    case OpKind::compare:
    case OpKind::select:
    case OpKind::convert:
    case OpKind::bitcast:
      if (op.kind == OpKind::bitcast && bits(type(op.in[0]).dtype) != bits(result.dtype)) return;
      out = {};
      for (ValueId v : op.in) {
        const ValueLayout& l = layout(v);
        out.by_lead |= l.by_lead;
        out.by_row |= l.by_row;
        out.by_column |= l.by_column;
        out.is_splat &= l.is_splat;
        out.lanes_alike &= l.lanes_alike;
        out.is_column_vector |= l.is_column_vector && rank == 1;
      }
      return;
    case OpKind::broadcast: {
      const ValueLayout& from = in(0);
      const Shape& s = type(op.in[0]).shape;
      out = {};
      out.is_splat = from.is_splat;
      if (s.rank() == 0 || from.is_splat) return;
      const auto extent = [&](int from_end) { return s.rank() > from_end ? s[s.rank() - 1 - from_end] : 1; };
      out.by_column = extent(0) > 1 && from.by_column;
      out.by_row = extent(1) > 1 && from.by_row;
      for (int i = 2; i < s.rank(); ++i) out.by_lead |= extent(i) > 1 && from.by_lead;
      out.lanes_alike = extent(0) == 1;
      return;
    }
    case OpKind::reshape: {
      const ValueLayout from = in(0);
      const Shape& s = type(op.in[0]).shape;
      if (from.is_splat) {
        out = {};
      } else if (from.is_column_vector && rank >= 2 && result.shape.back() == 1) {
        out = from;
        out.is_column_vector = false;
        out.by_column = false;
        out.lanes_alike = true;
      } else if (same_without_ones(s, result.shape)) {
        out = from;
        if (rank != 1) out.is_column_vector = false;
      }
      return;
    }
    case OpKind::reduce: {
      const ValueLayout from = in(0);
      const int r = type(op.in[0]).shape.rank();
      out = {};
      out.is_splat = from.is_splat;
      if (from.is_splat) return;
      const bool lanes = contains(op.axes, r - 1), rows = contains(op.axes, r - 2);
      out.by_lead = from.by_lead;
      out.by_row = !rows && from.by_row;
      out.by_column = !lanes && from.by_column;
      out.lanes_alike = lanes;
      out.is_column_vector = lanes && !rows && rank == 1 && r >= 2;
      if (rank == 1 && !lanes) out.by_row = out.by_lead = false;
      return;
    }
    case OpKind::concatenate: {
      const int axis = op.axes.empty() ? rank - 1 : static_cast<int>(op.axes[0]);
      const bool all_same = std::all_of(op.in.begin(), op.in.end(), [&](ValueId v) { return v == op.in[0]; });
      out = in(0);
      out.is_splat = false;
      for (ValueId v : op.in) {
        out.by_lead |= layout(v).by_lead;
        out.by_row |= layout(v).by_row;
        out.by_column |= layout(v).by_column;
      }
      out.lanes_alike = all_same && in(0).lanes_alike;
      if (axis == rank - 1)
        out.by_column = !(all_same && (!in(0).by_column || type(op.in[0]).shape.back() <= 128));
      else if (axis == rank - 2)
        out.by_row = out.by_row || !all_same;
      else
        out.by_lead = out.by_lead || !all_same;
      return;
    }
    case OpKind::slice:
      out = in(0);
      if (rank != 1) out.is_column_vector = false;
      return;
    default:
      return;  // every register differs
  }
}

}  // namespace tilecheck::fit
