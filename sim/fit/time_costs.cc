// The cost of each kind of operation.
#include <algorithm>

#include "sim/fit/time_units.h"

namespace tilecheck::fit {
namespace {

bool is_half(DType dtype) { return is_floating(dtype) && bits(dtype) == 16; }
bool contains(const Dims& axes, int axis) { return std::find(axes.begin(), axes.end(), axis) != axes.end(); }

}  // namespace

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
