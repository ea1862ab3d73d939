#include "sim/mosaic/transform.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "sim/mosaic/op_table.h"
#include "sim/types/error.h"

namespace tilecheck::mosaic {
namespace {

class DependenceAnalysis {
 public:
  DependenceAnalysis(const Function& f, int grid_rank) : of_(f.value_types.size()), constant_(f.value_types.size()) {
    const Block& block = f.body.block();
    for (uint32_t i = 0; i < block.arg_count; ++i)
      if (static_cast<int>(i) < grid_rank) of_[block.first_arg + i].grid_axes = 1u << i;
    visit(block);
  }
  std::vector<Dependence> results() const { return results_; }

 private:
  static void join(Dependence& into, const Dependence& from) {
    into.grid_axes |= from.grid_axes;
    into.prefetch = into.prefetch || from.prefetch;
  }
  bool is_constant(ValueId v, int64_t value) const { return constant_[v] == value; }

  void visit(const Block& block) {
    for (const Op& op : block.ops) {
      Dependence d;
      for (ValueId v : op.operands) join(d, of_[v]);
      switch (op.code) {
        case OpCode::arith_constant:
          if (const Attr* a = op.find(AttrName::value); a && a->kind == AttrKind::integer)
            constant_[op.result()] = a->integer;
          break;
        case OpCode::arith_index_cast:
          constant_[op.result()] = constant_[op.operands[0]];
          break;
        case OpCode::arith_muli:
          if (is_constant(op.operands[0], 0) || is_constant(op.operands[1], 0)) {
            d = {};
            constant_[op.result()] = 0;
          }
          break;
        case OpCode::arith_subi:
          if (op.operands[0] == op.operands[1]) {
            d = {};
            constant_[op.result()] = 0;
          }
          break;
        case OpCode::arith_remsi:
        case OpCode::arith_remui:
          if (is_constant(op.operands[1], 1)) {
            d = {};
            constant_[op.result()] = 0;
          }
          break;
        case OpCode::memref_load:
          d.prefetch = true;
          break;
        case OpCode::func_return:
          for (ValueId v : op.operands) results_.push_back(of_[v]);
          break;
        default:
          break;
      }
      // Control flow: whatever steers or is computed inside may reach the results.
      for (const Region& region : op.regions)
        for (const Block& inner : region.blocks) {
          for (uint32_t i = 0; i < inner.arg_count; ++i) join(of_[inner.first_arg + i], d);
          visit(inner);
          for (const Op& nested : inner.ops) {
            for (ValueId v : nested.operands) join(d, of_[v]);
            for (uint32_t r = 0; r < nested.result_count; ++r) join(d, of_[nested.result(r)]);
          }
        }
      for (uint32_t r = 0; r < op.result_count; ++r) join(of_[op.result(r)], d);
    }
  }

  std::vector<Dependence> of_;
  std::vector<std::optional<int64_t>> constant_;
  std::vector<Dependence> results_;
};

// Values of an index map: on the stack for maps of usual size, since they are evaluated at each step, on any thread.
constexpr size_t kSmall = 128;

Indices evaluate(const Program& program, const Dims& grid, std::span<const Index> at, const PrefetchRefs& prefetch) {
  std::array<uint64_t, kSmall> small_scalars;
  std::array<uint8_t, kSmall> small_undefined;
  std::array<int, kMaxRank> small_operands;
  std::vector<uint64_t> scalars;
  std::vector<uint8_t> undefined;
  std::vector<int> operands;
  Activation frame;
  frame.prefetch = &prefetch;
  frame.grid = &grid;
  if (program.scalars <= kSmall) {
    frame.scalars = {small_scalars.data(), program.scalars};
    frame.undefined = {small_undefined.data(), program.scalars};
    std::fill(frame.undefined.begin(), frame.undefined.end(), uint8_t{0});
  } else {
    scalars.resize(program.scalars);
    undefined.resize(program.scalars);
    frame.scalars = scalars;
    frame.undefined = undefined;
  }
  if (program.refs <= kMaxRank) {
    frame.prefetch_operand = {small_operands.data(), program.refs};
  } else {
    operands.resize(program.refs);
    frame.prefetch_operand = operands;
  }
  int operand = 0;
  for (size_t i = 0; i < program.body.args.size(); ++i) {
    const Slot& slot = program.body.args[i];
    if (slot.kind == SlotKind::ref) {
      frame.prefetch_operand[slot.index] = operand++;
    } else if (i < at.size()) {
      frame.scalars[slot.index] = static_cast<uint64_t>(at[i].value());
    }
  }
  run_block(frame, program.hoisted);
  run_block(frame, program.body);
  Indices out;
  for (const Slot& slot : program.body.yields)
    out.values[static_cast<size_t>(out.rank++)] = Index(static_cast<int64_t>(frame.scalars[slot.index]));
  return out;
}

bool is_scalar_operation(const Function& f, const Op& op) {
  for (uint32_t r = 0; r < op.result_count; ++r)
    if (f.type_of(op.result(r)).is_vector() || f.type_of(op.result(r)).is_memref()) return false;
  switch (op.code) {
    case OpCode::unknown:  // told by name elsewhere
    case OpCode::memref_load:
      return true;
    case OpCode::math_isfinite:
    case OpCode::math_isinf:
    case OpCode::math_isnan:
    case OpCode::math_isnormal:
      return false;
    default:
      break;
  }
  const Effect effect = info(op.code).effect;
  return effect == Effect::pure || effect == Effect::control || effect == Effect::annotation ||
         effect == Effect::terminator;
}

}  // namespace

void require_scalar_operations(const Module& module, const Function& transform) {
  walk(transform.body, [&](const Op& op) {
    if (is_scalar_operation(transform, op)) return;
    const Loc loc = user_loc(module, op.loc);
    throw Incomplete("at byte " + std::to_string(op.offset) + ": " + std::string(op.name) +
                     " in an index map is not modelled" + (loc.known() ? " (" + to_string(loc) + ")" : ""));
  });
}

std::vector<Dependence> dependences_of(const Function& transform, int grid_rank) {
  return DependenceAnalysis(transform, grid_rank).results();
}

IndexMap index_map(std::shared_ptr<const void> owner, std::shared_ptr<const Program> program, const Function& transform,
                   const Dims& grid) {
  return IndexMap(
      [owner = std::move(owner), program = std::move(program), grid](
          std::span<const Index> at, const PrefetchRefs& prefetch) { return evaluate(*program, grid, at, prefetch); },
      dependences_of(transform, grid.rank()), expression_of(transform, grid.rank()));
}

IndexMap index_map(std::shared_ptr<const void> owner, const AffineMap& map) {
  std::vector<uint32_t> axes;  // of each node
  for (const AffineExpr& e : map.nodes) {
    const bool is_leaf = e.kind == AffineExpr::Kind::symbol || e.kind == AffineExpr::Kind::constant;
    axes.push_back(e.kind == AffineExpr::Kind::dim ? 1u << e.value : is_leaf ? 0 : axes[e.left] | axes[e.right]);
  }
  std::vector<Dependence> dependences;
  for (uint32_t result : map.results) dependences.push_back({.grid_axes = axes[result]});
  return IndexMap(
      [owner = std::move(owner), &map](std::span<const Index> grid, const PrefetchRefs&) {
        std::array<int64_t, kMaxRank> dims{};
        for (size_t i = 0; i < grid.size(); ++i) dims[i] = grid[i].value();
        Indices out;
        for (size_t i = 0; i < map.results.size(); ++i)
          out.values[static_cast<size_t>(out.rank++)] =
              Index(map.eval(static_cast<int>(i), {dims.data(), grid.size()}));
        return out;
      },
      std::move(dependences), expression_of(map));
}

}  // namespace tilecheck::mosaic
