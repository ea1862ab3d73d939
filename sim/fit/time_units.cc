#include "sim/fit/time_units.h"

#include <algorithm>
#include <cassert>

namespace tilecheck::fit {
namespace {

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// bool tiles are masks, one per 32-bit register.
int element_bits(DType dtype) { return dtype == DType::b1 ? 32 : std::min(bits(dtype), 64); }
int64_t rows_per_register(DType dtype) { return 8 * std::max(1, 32 / element_bits(dtype)); }
bool is_half(DType dtype) { return is_floating(dtype) && bits(dtype) == 16; }

bool has_effect(const Op& op) {
  switch (op.kind) {
    case OpKind::store:
    case OpKind::alloc:
    case OpKind::dma_start:
    case OpKind::dma_wait:
    case OpKind::sem_signal:
    case OpKind::sem_wait:
    case OpKind::sem_read:
    case OpKind::barrier:
    case OpKind::loop:
    case OpKind::while_loop:
    case OpKind::branch:
    case OpKind::scope:
    case OpKind::opaque:
      return true;
    default:
      return false;
  }
}

int64_t lead_count(const Shape& shape) {
  int64_t n = 1;
  for (int i = 0; i + 2 < shape.rank(); ++i) n *= shape[i];
  return n;
}

bool same_without_ones(const Shape& a, const Shape& b) {
  Shape x, y;
  for (int64_t v : a)
    if (v != 1) x.push_back(v);
  for (int64_t v : b)
    if (v != 1) y.push_back(v);
  return x == y;
}

bool contains(const Dims& axes, int axis) { return std::find(axes.begin(), axes.end(), axis) != axes.end(); }

}  // namespace

RegisterGrid register_grid(const TileType& type, const ValueLayout& layout, bool all) {
  const Shape& s = type.shape;
  RegisterGrid grid;
  if (s.rank() == 0) return {0, 0, 0};
  if (layout.is_column_vector && s.rank() == 1) {
    grid.rows = ceil_div(s[0], rows_per_register(type.dtype));
  } else if (s.rank() == 1) {
    grid.columns = ceil_div(s[0], 128);
  } else {
    grid.lead = lead_count(s);
    grid.rows = ceil_div(s[s.rank() - 2], rows_per_register(type.dtype));
    grid.columns = ceil_div(s.back(), 128);
  }
  if (all) return grid;
  if (layout.is_splat) return {0, 0, 0};
  if (!layout.by_lead) grid.lead = 1;
  if (!layout.by_row) grid.rows = 1;
  if (!layout.by_column) grid.columns = 1;
  return grid;
}

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
    const bool live = has_effect(*op) || std::any_of(op->out.begin(), op->out.end(),
                                                     [&](ValueId v) { return live_values_[static_cast<size_t>(v)]; });
    if (!live) continue;
    for (ValueId v : op->in) mark(v);
    for (const Offset& start : op->starts) mark(start.value);
    for (auto b = op->blocks.rbegin(); b != op->blocks.rend(); ++b) find_live(*b);
  }
}

void BodyCosts::visit(const Block& block) {
  for (const Op& op : block.ops)
    if (has_effect(op) ||
        std::any_of(op.out.begin(), op.out.end(), [&](ValueId v) { return live_values_[static_cast<size_t>(v)]; }))
      for (ValueId v : op.in) users_[static_cast<size_t>(v)].push_back(&op);
  for (const Op& op : block.ops) {
    const bool live = has_effect(op) || std::any_of(op.out.begin(), op.out.end(),
                                                    [&](ValueId v) { return live_values_[static_cast<size_t>(v)]; });
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

OpCost BodyCosts::cost(const Op& op) {
  OpCost c;
  switch (op.kind) {
    case OpKind::elementwise:
      return op.fn == Fn::div && is_floating(type(op.out[0]).dtype) ? division(op) : elementwise(op);
    case OpKind::compare: {
      double n = 0;
      for (ValueId v : op.in) n = std::max(n, registers(v));
      if (type(op.out[0]).shape.rank() == 0) return c;
      const bool unpacks = is_half(type(op.in[0]).dtype) && !table_.bf16_is_native;
      c.slots.valu = n * (unpacks ? 2.0 * distinct_operands(op) + 2 : 1);
      return c;
    }
    case OpKind::select: {
      c.slots.valu = registers(op.out[0]);
      if (bits(type(op.out[0]).dtype) == 16 && type(op.in[0]).shape.rank() > 0) c.slots.valu *= 2;
      return c;
    }
    case OpKind::convert:
      return convert(op);
    case OpKind::iota:
      c.slots.valu = layout(op.out[0]).by_row ? registers(op.out[0]) : 1;
      return c;
    case OpKind::broadcast:
      return broadcast(op);
    case OpKind::reshape:
    case OpKind::bitcast:
      return reshape(op);
    case OpKind::reduce:
      return reduce(op);
    case OpKind::reduce_index: {
      // Cycles per register, measured: 24 on v4, 37.9 on v5, 4 on v6.
      const double cycles = table_.group == CostGroup::v4 ? 24 : table_.group == CostGroup::v5 ? 37.9 : 4;
      const double n = registers(op.in[0]);
      c.slots.xlu = n * cycles * table_.slots_per_cycle.xlu;
      c.slots.valu = 2 * n;
      c.slots.pop = n;
      c.chain = ChainKind::lane_reduce;
      return c;
    }
    case OpKind::matmul:
      return matmul(op);
    case OpKind::transpose:
    case OpKind::rotate:
    case OpKind::concatenate:
    case OpKind::slice:
    case OpKind::gather:
      return move(op);
    case OpKind::pack:
    case OpKind::unpack:
      c.slots.valu = std::max(registers(op.out[0]), registers(op.in[0]));
      return c;
    case OpKind::random_bits:
      c.slots.valu = 30 * registers(op.out[0], true);  // not measured: a counter-based generator's worth
      return c;
    case OpKind::load:
      if (!op.out.empty() && !op.is_dead && type(op.out[0]).shape.rank() > 0) c.slots.load = registers(op.out[0], true);
      return c;
    case OpKind::store: {
      if (op.in.empty() || type(op.in[0]).shape.rank() == 0) return c;
      const double n = registers(op.in[0], true);
      // A column vector is packed into rows of lanes before it is stored.
      c.slots.store = layout(op.in[0]).is_column_vector ? std::max(1.0, n / 16) : n;
      return c;
    }
    default:
      return c;
  }
}

OpCost BodyCosts::elementwise(const Op& op) const {
  OpCost c;
  const TileType& result = type(op.out[0]);
  const double n = registers(op.out[0]);
  if (result.shape.rank() == 0 || n == 0) return c;
  if (op.fn == Fn::neg && feeds_exp_only(op.out[0])) return c;
  const FnSlots slots = fn_slots(table_, op.fn, result.dtype);
  c.slots.valu = slots.valu;
  if (!table_.bf16_is_native && is_half(result.dtype)) {
    // The table's figure is for one varying operand; every further one is unpacked too.
    if (op.fn != Fn::abs) c.slots.valu += 2.0 * (distinct_operands(op) - 1);
  } else if (bits(result.dtype) == 8 ||
             (bits(result.dtype) == 16 && !is_floating(result.dtype) && !table_.bf16_is_native)) {
    const double parts = 32.0 / bits(result.dtype);
    c.slots.valu = parts * slots.valu + parts * distinct_operands(op) + parts - 1;
  }
  c.slots.eup = slots.eup * table_.eup_slots_per_push;
  c.slots.pop = slots.eup;
  if (slots.eup > 0) c.chain = ChainKind::transcendental;
  c.slots = c.slots * n;
  return c;
}

// x / y is x * (1 / y): one reciprocal per distinct register of y. Dividing by a constant is a multiplication.
OpCost BodyCosts::division(const Op& op) const {
  OpCost c;
  const TileType& result = type(op.out[0]);
  const double n = registers(op.out[0]);
  if (result.shape.rank() == 0 || n == 0) return c;
  const double multiply = !table_.bf16_is_native && is_half(result.dtype) ? 5 : 1;
  if (layout(op.in[1]).is_splat) {
    c.slots.valu = multiply * n;
    return c;
  }
  const FnSlots slots = fn_slots(table_, Fn::reciprocal, result.dtype);
  const double d = registers(op.in[1]);
  c.slots.valu = slots.valu * d;
  c.slots.eup = slots.eup * table_.eup_slots_per_push * d;
  c.slots.pop = slots.eup * d;
  if (!layout(op.in[0]).is_splat) c.slots.valu += multiply * n;
  c.chain = ChainKind::transcendental;
  return c;
}

OpCost BodyCosts::convert(const Op& op) const {
  OpCost c;
  const TileType& from = type(op.in[0]);
  const TileType& to = type(op.out[0]);
  if (to.shape.rank() == 0 || registers(op.out[0]) == 0) return c;
  if (from.dtype == DType::b1 || to.dtype == DType::b1) {
    c.slots.valu = registers(op.out[0]);
    return c;
  }
  if (from.dtype == to.dtype) return c;
  const double n = registers(op.in[0]);
  c.slots.valu = convert_slots(table_, from.dtype, to.dtype) * n;
  // v4 has no 8-bit register layout: it goes through memory (measured per register of int8).
  if (table_.group == CostGroup::v4 && bits(from.dtype) == 8 && bits(to.dtype) > 8) c.slots.store += 48 * n;
  if (table_.group == CostGroup::v4 && bits(to.dtype) == 8 && bits(from.dtype) > 8) c.slots.store += 7 * n;
  return c;
}

OpCost BodyCosts::broadcast(const Op& op) const {
  OpCost c;
  const TileType& from = type(op.in[0]);
  const TileType& to = type(op.out[0]);
  const ValueLayout& l = layout(op.in[0]);
  if (from.shape.rank() == 0 || l.is_splat || to.shape.rank() == 0) return c;
  if (from.shape.back() == 1 && to.shape.back() > 1 && !l.lanes_alike) {  // along the lanes: through the XLU
    const double n = registers(op.out[0]) * (element_bits(to.dtype) == 32 ? 1 : 2);
    c.slots.xlu = n * table_.xlu_cycles;
    c.slots.pop = n;
    c.chain = ChainKind::lane_reduce;
  }
  return c;
}

OpCost BodyCosts::reshape(const Op& op) const {
  OpCost c;
  if (op.out.empty() || op.in.empty()) return c;
  const TileType& from = type(op.in[0]);
  const TileType& to = type(op.out[0]);
  if (from.shape.rank() == 0 || to.shape.rank() == 0 || layout(op.in[0]).is_splat) return c;
  if (op.kind == OpKind::bitcast) return c;
  if (same_without_ones(from.shape, to.shape)) return c;
  if (from.shape.back() == to.shape.back()) {
    // Rows regroup: free when whole registers of rows move together.
    const int64_t rows = rows_per_register(from.dtype);
    const auto whole = [&](const Shape& s) { return s.rank() < 2 || s[s.rank() - 2] % rows == 0; };
    if (whole(from.shape) && whole(to.shape)) return c;
  }
  const double n = std::max(registers(op.in[0], true), registers(op.out[0], true));
  c.slots.valu = 2 * n;
  c.slots.load = n;
  c.slots.store = n;
  return c;
}

OpCost BodyCosts::reduce(const Op& op) const {
  OpCost c;
  const TileType& from = type(op.in[0]);
  const ValueLayout& l = layout(op.in[0]);
  if (l.is_splat) return c;
  const int rank = from.shape.rank();
  const RegisterGrid grid = register_grid(from, l);
  const bool lanes = contains(op.axes, rank - 1), sublanes = contains(op.axes, rank - 2);
  bool leading = false;
  for (int64_t axis : op.axes) leading |= axis < rank - 2;
  const bool half = is_half(from.dtype), adds = op.fn == Fn::add;
  double parts = 1;  // registers of 32-bit elements that one packed register unpacks to
  if (bits(from.dtype) == 8) parts = 4;
  if (half && !table_.bf16_is_native) parts = 2;
  const double n = static_cast<double>(grid.count());
  double left = n;
  if (leading) {
    const double kept = static_cast<double>(grid.rows * grid.columns);
    c.slots.valu += (left - kept) * parts;
    left = kept;
  }
  if (lanes) {
    const double kept = left / static_cast<double>(grid.columns);
    c.slots.valu += (left - kept) * parts;
    if (parts == 2 || (half && adds)) c.slots.valu += 2 * left;  // unpacking
    left = kept;
  }
  if (sublanes) {
    const double kept = left / static_cast<double>(grid.rows);
    c.slots.valu += (left - kept) * parts + 6 * kept * parts;  // then three rotations and additions in a register
    left = kept;
    c.chain = ChainKind::sublane_reduce;
  }
  if (lanes) {
    double ops = left * parts;
    if (half && table_.bf16_is_native && adds) ops *= 2;  // sums are taken in f32
    c.slots.xlu = ops * table_.xlu_cycles;
    if (!is_floating(from.dtype) && adds) {  // integer sums: two half-words
      c.slots.xlu *= 2;
      c.slots.valu += 8 * ops;
    }
    c.slots.pop = ops;
    c.chain = ChainKind::lane_reduce;
    c.accumulated = static_cast<double>(grid.columns - 1);
  }
  return c;
}

OpCost BodyCosts::matmul(const Op& op) const {
  OpCost c;
  const MatmulDims& d = op.matmul;
  const TileType& lhs = type(op.in[0]);
  const int64_t size = table_.mxu_size;
  const int64_t k_passes = ceil_div(d.k, size), n_passes = ceil_div(d.n, size);
  const int width = std::max(4, bits(lhs.dtype));
  double passes = 1;
  if (lhs.dtype == DType::f32 && d.precision == Precision::highest) passes = 6;
  if (lhs.dtype == DType::f32 && d.precision == Precision::bf16x3) passes = 3;
  const int64_t rows_unit = 8 * std::max(1, 32 / width);
  const double rows = static_cast<double>(ceil_div(d.m, rows_unit) * rows_unit);
  // int8 runs at twice the rate, except on v7x, which unpacks it to bf16.
  const double rate = is_int(lhs.dtype) && table_.target != "v7x" ? 0.5 : 1;
  double slots = static_cast<double>(d.batch * k_passes * n_passes) * rows * rate * passes * table_.mxu_slots_per_row;
  if (2 * d.k <= size && 2 * d.n <= size) slots /= 2;  // two such tiles of weights share a unit
  c.slots.mxu = slots;
  const double out = static_cast<double>(d.batch * ceil_div(d.m, 8) * ceil_div(d.n, 128));
  c.slots.pop = out * static_cast<double>(k_passes) * passes;
  c.slots.valu = out * (static_cast<double>(k_passes) * passes - 1);
  if (op.in.size() > 2 && !layout(op.in[2]).is_splat) c.slots.valu += out;
  const double lhs_registers = registers(op.in[0], true), rhs_registers = registers(op.in[1], true);
  if (width == 16 && !table_.bf16_is_native) c.slots.valu += lhs_registers + rhs_registers;
  if (passes > 1) c.slots.valu += passes * (lhs_registers + rhs_registers);  // splitting f32 into bf16 parts
  if (d.lhs_transposed) c.slots.xlu += lhs_registers * table_.xlu_cycles;
  c.weight_pushes =
      static_cast<double>(d.batch * ceil_div(d.k, 8) * ceil_div(d.n, 128)) * passes * (width >= 32 ? 1 : 0.5);
  c.chain = ChainKind::matmul;
  return c;
}

OpCost BodyCosts::move(const Op& op) const {
  OpCost c;
  const TileType& from = type(op.in[0]);
  const int rank = from.shape.rank();
  if (rank == 0 || layout(op.in[0]).is_splat) return c;
  const bool half = bits(from.dtype) == 16;
  const size_t g = static_cast<size_t>(table_.group);
  if (op.kind == OpKind::transpose) {
    if (rank < 2 || (op.axes.rank() == rank && op.axes[rank - 1] == rank - 1 && op.axes[rank - 2] == rank - 2))
      return c;
    const double n = registers(op.in[0], true);
    // Per register, measured: f32 one XLU operation; bf16 half of one on v4 and v5, with 6, 4, 1 VALU slots.
    const double xlu = half ? std::array{4.0, 4.5, 4.0}[g] : table_.xlu_cycles;
    c.slots.xlu = n * xlu;
    c.slots.valu = half ? n * std::array{6.0, 4.0, 1.0}[g] : 0;
    c.slots.pop = n;
    c.chain = ChainKind::transpose;
    return c;
  }
  if (op.kind == OpKind::rotate) {
    const double n = registers(op.in[0], true);
    const bool lanes = !op.axes.empty() && op.axes[0] == rank - 1;
    if (lanes) {
      c.slots.xlu = n * table_.xlu_cycles;
      c.slots.valu = n * (half ? std::array{7.0, 5.0, 2.0}[g] : 1);
      c.slots.pop = n;
      c.chain = ChainKind::lane_reduce;
    } else {
      c.slots.valu = n * (half ? std::array{11.0, 9.0, 6.0}[g] : std::array{6.0, 2.0, 2.0}[g]);
    }
    return c;
  }
  if (op.kind == OpKind::concatenate) {
    const TileType& result = type(op.out[0]);
    const int axis = op.axes.empty() ? rank - 1 : static_cast<int>(op.axes[0]);
    const int64_t unit = axis == rank - 1 ? 128 : axis == rank - 2 ? rows_per_register(result.dtype) : 1;
    bool aligned = true;
    for (size_t i = 0; i + 1 < op.in.size(); ++i) aligned &= type(op.in[i]).shape[axis] % unit == 0;
    if (aligned) return c;
    const double n = registers(op.out[0], true);
    c.slots.valu = 2 * n;
    if (axis == rank - 1) {
      c.slots.xlu = n * table_.xlu_cycles;
      c.slots.pop = n;
      c.chain = ChainKind::lane_reduce;
    }
    return c;
  }
  if (op.kind == OpKind::slice) {
    const bool shifts = !op.starts.empty() && op.starts.back().constant % 128 != 0;
    if (!shifts) return c;
    const double n = registers(op.out[0], true);
    c.slots.xlu = n * table_.xlu_cycles;
    c.slots.pop = n;
    c.chain = ChainKind::lane_reduce;
    return c;
  }
  // take_along_axis: one XLU operation per register of the result.
  const double n = registers(op.out[0], true);
  c.slots.xlu = n * table_.xlu_cycles;
  c.slots.pop = n;
  c.chain = ChainKind::lane_reduce;
  return c;
}

}  // namespace tilecheck::fit
