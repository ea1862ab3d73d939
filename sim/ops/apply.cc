// Runs one operation on tiles: type rule, elementwise strips or whole-tile function, definedness, observer.
#include <array>
#include <cassert>
#include <vector>

#include "sim/ops/chain.h"
#include "sim/ops/elementwise.h"
#include "sim/ops/shadow.h"
#include "sim/ops/tile_parts.h"
#include "sim/ops/whole.h"

namespace tilecheck {
namespace {

Tile run(OpContext& context, const OpCall& call, std::span<Tile> operands, const TypeAndShape& result) {
  switch (call.op) {
    case OpId::bitcast:
      return run_bitcast(context, call, std::move(operands[0]), result);
    case OpId::pack_elementwise:
      return run_pack(context, call, operands, result);
    case OpId::unpack_elementwise:
      return run_unpack(context, call, std::move(operands[0]), result);
    case OpId::reduce_add:
    case OpId::reduce_mul:
    case OpId::reduce_max:
    case OpId::reduce_min:
    case OpId::reduce_maxu:
    case OpId::reduce_minu:
    case OpId::reduce_and:
    case OpId::reduce_or:
    case OpId::reduce_xor:
      return run_reduce(context, call, operands, result);
    case OpId::argmax:
    case OpId::argmin:
      return run_argument(context, call, std::move(operands[0]), result);
    case OpId::matmul:
      return run_matmul(context, call, operands, result);
    case OpId::select:
      // A defined scalar condition chooses a whole tile.
      if (operands[0].layout() == Layout::splat && operands[0].all_defined()) {
        Tile& side = operands[operands[0].splat_bits() ? 1 : 2];
        if (side.shape() == result.shape) return std::move(side);
      }
      break;
    default:
      if (!info(call.op).elementwise) return run_shape(context, call, operands, result);
  }
  BlockPtr shadow = elementwise_shadow(context, call, operands, result);
  Tile tile = run_elementwise(context, call, operands, result);
  TileParts::set_shadow(tile, std::move(shadow));
  return tile;
}

// A recording run computes what costs nothing, scalars above all: conditions and addresses stay known.
bool records_shape(const OpContext& context, const OpCall& call, std::span<const Tile> operands) {
  for (const Tile& operand : operands)
    if (operand.layout() == Layout::shape_only) return true;
  if (!context.record_only) return false;
  for (const Tile& operand : operands)
    if (operand.layout() != Layout::splat) return true;
  return !(info(call.op).elementwise || call.op == OpId::broadcast || call.op == OpId::reshape ||
           call.op == OpId::transpose || call.op == OpId::slice ||
           (call.op == OpId::bitcast && operands[0].is_scalar()));
}

TypeAndShape type_of(const OpCall& call, std::span<const Tile> operands) {
  std::array<OperandType, 4> few;
  std::vector<OperandType> many;
  std::span<OperandType> types(few.data(), std::min(operands.size(), few.size()));
  if (operands.size() > few.size()) {
    many.resize(operands.size());
    types = many;
  }
  for (size_t i = 0; i < operands.size(); ++i) types[i] = {operands[i].dtype(), &operands[i].shape()};
  return result_type(call, types);
}

}  // namespace

Tile apply(OpContext& context, const OpCall& call, std::span<Tile> operands) {
  const TypeAndShape result = type_of(call, operands);
  Tile tile = records_shape(context, call, operands) ? Tile::shape_only(context, result.dtype, result.shape)
                                                     : run(context, call, operands, result);
  if (context.observer) context.observer->on_op(call, operands, tile);
  return tile;
}

Tile apply_ended(OpContext& context, const OpCall& call, std::span<Tile> operands, const MatmulEnd& end) {
  const TypeAndShape result = type_of(call, operands);
  Tile tile =
      run_matmul(context, call, operands, result, end.scale ? &end.factor : nullptr, end.add ? &end.addend : nullptr);
  if (context.observer) {
    context.observer->on_op(call, operands, tile);
    if (end.scale) context.observer->on_op(*end.scale, {&end.factor, 1}, tile);
    if (end.add) context.observer->on_op(*end.add, {&end.addend, 1}, tile);
  }
  return tile;
}

}  // namespace tilecheck
