#include "sim/mosaic/program.h"

#include <algorithm>
#include <cassert>
#include <unordered_map>

#include "sim/mosaic/chains.h"
#include "sim/types/error.h"

namespace tilecheck::mosaic {
namespace {

// Results larger than this are computed where they stand rather than kept for the whole run.
constexpr int64_t kMaxHoistedBytes = int64_t{8} << 20;

class Compiler {
 public:
  Compiler(const Module& module, const Function& function)
      : module_(module),
        function_(function),
        program_(std::make_unique<Program>()),
        context_{module, function, *program_} {}

  std::unique_ptr<Program> run() {
    const size_t n = function_.value_types.size();
    slots_.resize(n);
    hoisted_.assign(n, false);
    for (size_t v = 0; v < n; ++v) slots_[v] = new_slot(*function_.value_types[v]);
    const Block& block = function_.body.block();
    last_use_.assign(n, nullptr);
    block_of_.assign(n, nullptr);
    index(block);
    lower_block(block, program_->body);
    return std::move(program_);
  }

 private:
  Slot new_slot(const Type& type) {
    if (type.is_vector()) return {SlotKind::tile, type.dtype, program_->tiles++};
    if (type.is_memref()) return {SlotKind::ref, type.dtype, program_->refs++};
    return {SlotKind::scalar, type.kind == TypeKind::index ? DType::i64 : type.dtype, program_->scalars++};
  }

  // block_of_[v]: the block that defines v. last_use_[v]: the operation of that block which uses v last, directly or
  // inside its regions; null: none does.
  void index(const Block& block) {
    for (uint32_t i = 0; i < block.arg_count; ++i) block_of_[block.first_arg + i] = &block;
    for (const Op& op : block.ops) {
      for (uint32_t r = 0; r < op.result_count; ++r) block_of_[op.result(r)] = &block;
      for (const Region& region : op.regions)
        for (const Block& inner : region.blocks) index(inner);
    }
    for (const Op& op : block.ops) note_uses(op, op, block);
  }
  void note_uses(const Op& op, const Op& outer, const Block& block) {
    for (ValueId v : op.operands)
      if (block_of_[v] == &block) last_use_[v] = &outer;
    for (const Region& region : op.regions)
      for (const Block& inner : region.blocks)
        for (const Op& nested : inner.ops) note_uses(nested, outer, block);
  }

  bool can_hoist(const Op& op) const {
    if (op.code == OpCode::unknown || info(op.code).effect != Effect::pure || !op.regions.empty() ||
        op.result_count != 1)
      return false;
    const Type& type = function_.type_of(op.result());
    if (type.is_memref()) return false;
    switch (op.code) {
      case OpCode::tpu_device_id:
      case OpCode::tpu_core_id:
      case OpCode::tpu_subcore_id:
      case OpCode::tpu_iteration_bound:
      case OpCode::tpu_sem_barrier:
        return false;
      default:
        break;
    }
    if (type.is_vector() && op.code != OpCode::arith_constant &&
        element_count(type.shape) * storage_bytes(type.dtype) > kMaxHoistedBytes)
      return false;
    return std::all_of(op.operands.begin(), op.operands.end(), [&](ValueId v) { return hoisted_[v]; });
  }

  void lower_block(const Block& block, Code& code) {
    std::unordered_map<const Op*, std::vector<ValueId>> last_here;
    for (ValueId v = 0; v < block_of_.size(); ++v)
      if (block_of_[v] == &block && last_use_[v]) last_here[last_use_[v]].push_back(v);
    for (uint32_t i = 0; i < block.arg_count; ++i) code.args.push_back(slots_[block.first_arg + i]);
    for (const Op& op : block.ops) {
      switch (op.code == OpCode::unknown ? Effect::pure : info(op.code).effect) {
        case Effect::annotation:
          continue;
        case Effect::terminator:
          for (size_t i = 0; i < op.operands.size(); ++i) {
            const ValueId v = op.operands[i];
            const bool again = std::find(op.operands.begin() + static_cast<ptrdiff_t>(i) + 1, op.operands.end(), v) !=
                               op.operands.end();
            code.yields.push_back(slots_[v]);
            code.yield_dies.push_back(block_of_[v] == &block && !hoisted_[v] && !again);
          }
          continue;
        default:
          break;
      }
      if (op.code == OpCode::memref_alloca || op.code == OpCode::tpu_sem_alloc ||
          op.code == OpCode::tpu_internal_scratch) {
        allocate(op, code);
        continue;
      }
      const bool hoist = can_hoist(op);
      Instr instr;
      instr.op = &op;
      instr.loc = user_loc(module_, op.loc);
      for (ValueId v : op.operands) instr.in.push_back(slots_[v]);
      for (uint32_t r = 0; r < op.result_count; ++r) instr.out.push_back(slots_[op.result(r)]);
      if (op.result_count == 1 && !function_.type_of(op.result()).is_scalar())
        instr.shape = function_.type_of(op.result()).shape;
      for (const Region& region : op.regions) {
        Code& inner = instr.blocks.emplace_back();
        if (!region.empty()) lower_block(region.block(), inner);
      }
      const bool known =
          op.code != OpCode::unknown &&
          (lower_arithmetic(context_, op, instr) || lower_vector(context_, op, instr) ||
           lower_memory(context_, op, instr) || lower_sync(context_, op, instr) || lower_control(context_, op, instr));
      if (!known) not_modelled(context_, op);
      if (hoist) {
        hoisted_[op.result()] = true;
        program_->hoisted.instrs.push_back(std::move(instr));
        continue;
      }
      set_deaths(op, instr, last_here[&op]);
      code.instrs.push_back(std::move(instr));
    }
    join_chains(code);
    if (!code.allocations.empty()) code.site = static_cast<uint32_t>(program_->site_count++);
  }

  void allocate(const Op& op, Code& code) {
    const Type& type = function_.type_of(op.result());
    if (!type.is_memref() || !type.is_static()) not_modelled(context_, op, "of dynamic shape");
    Scratch s;
    s.dtype = type.dtype;
    s.shape = type.shape;
    s.space = is_semaphore(type.dtype) ? Space::semaphore : type.space == Space::any ? Space::vmem : type.space;
    s.name = (is_semaphore(type.dtype) ? "scoped_sem" : "scoped") + std::to_string(code.allocations.size());
    code.allocations.push_back(std::move(s));
    code.allocation_slots.push_back(slots_[op.result()]);
    code.loc = user_loc(module_, op.loc);
  }

  // A tile dies at its last use: moved out if it is a direct operand, dropped afterwards if only a region used it.
  // Hoisted tiles never die.
  void set_deaths(const Op& op, Instr& instr, const std::vector<ValueId>& last_here) {
    for (ValueId v : last_here) {
      if (slots_[v].kind != SlotKind::tile || hoisted_[v]) continue;
      int at = -1;
      for (size_t i = 0; i < op.operands.size(); ++i)
        if (op.operands[i] == v) at = static_cast<int>(i);
      if (at >= 0 && at < 32 && op.regions.empty()) {
        instr.dies |= 1u << at;  // the last of equal operands
      } else {
        instr.drop.push_back(slots_[v].index);
      }
    }
    for (uint32_t r = 0; r < op.result_count; ++r)
      if (slots_[op.result(r)].kind == SlotKind::tile && !last_use_[op.result(r)])
        instr.drop.push_back(slots_[op.result(r)].index);
  }

  const Module& module_;
  const Function& function_;
  std::unique_ptr<Program> program_;
  LowerContext context_;
  std::vector<Slot> slots_;
  std::vector<bool> hoisted_;
  std::vector<const Op*> last_use_;
  std::vector<const Block*> block_of_;
};

}  // namespace

OpCall& LowerContext::new_call(OpId op) {
  OpCall& call = program.calls.emplace_back();
  call.op = op;
  return call;
}

void not_modelled(const LowerContext& context, const Op& op, const std::string& why) {
  const Loc loc = user_loc(context.module, op.loc);
  throw Incomplete(std::string(op.name) + (why.empty() ? "" : " " + why) + " is not modelled" +
                   (loc.known() ? " (" + to_string(loc) + ")" : " (at byte " + std::to_string(op.offset) + ")"));
}

std::unique_ptr<Program> compile(const Module& module, const Function& function) {
  return Compiler(module, function).run();
}

void run_block(Activation& frame, const Code& code) {
  for (const Instr& instr : code.instrs) {
    instr.run(frame, instr);
    for (uint32_t tile : instr.drop) frame.tiles[tile] = {};
  }
}

void run_scoped_block(Activation& frame, const Code& code) {
  if (code.allocations.empty()) {
    run_block(frame, code);
    return;
  }
  frame.core->scope(
      code.allocations,
      [&](std::span<const Ref> refs) {
        for (size_t i = 0; i < refs.size(); ++i) frame.refs[code.allocation_slots[i].index] = refs[i];
        run_block(frame, code);
      },
      code.loc, static_cast<int>(code.site));
}

Tile tile_of(Activation& frame, const Slot& slot) {
  if (slot.kind == SlotKind::tile) return frame.tiles[slot.index];
  Tile tile = Tile::splat_bits(frame.core->ops(), slot.dtype, {}, frame.scalars[slot.index]);
  if (const uint8_t shadow = frame.undefined[slot.index]) {
    tile.make_shadow()[0] = shadow;
  }
  return tile;
}

Tile take_tile(Activation& frame, const Instr& instr, size_t i) {
  if (i < 32 && (instr.dies >> i & 1u)) return std::move(frame.tiles[instr.in[i].index]);
  return tile_of(frame, instr.in[i]);
}

void set_tile(Activation& frame, const Slot& slot, Tile tile) {
  if (slot.kind == SlotKind::tile) {
    frame.tiles[slot.index] = std::move(tile);
    return;
  }
  frame.undefined[slot.index] = tile.undefined() ? tile.undefined()[0] : uint8_t{0};
  frame.scalars[slot.index] = is_floating(tile.repr()) ? tile.splat_bits() : static_cast<uint64_t>(tile.int_at(0));
}

void copy_slot(Activation& frame, const Slot& from, const Slot& to) {
  switch (from.kind) {
    case SlotKind::scalar:
      frame.scalars[to.index] = frame.scalars[from.index];
      frame.undefined[to.index] = frame.undefined[from.index];
      return;
    case SlotKind::tile:
      frame.tiles[to.index] = frame.tiles[from.index];
      return;
    case SlotKind::ref:
      frame.refs[to.index] = frame.refs[from.index];
      return;
  }
}

void move_yield(Activation& frame, const Code& code, size_t i, const Slot& to) {
  const Slot& from = code.yields[i];
  if (from.kind == SlotKind::tile && code.yield_dies[i] && from.index != to.index) {
    frame.tiles[to.index] = std::move(frame.tiles[from.index]);
  } else {
    copy_slot(frame, from, to);
  }
}

int64_t index_of(Activation& frame, const Slot& slot, const Instr& instr, const char* what) {
  if (frame.undefined[slot.index]) [[unlikely]]
    if (frame.core) frame.core->undefined_use(what, instr.loc);
  return static_cast<int64_t>(frame.scalars[slot.index]);
}

}  // namespace tilecheck::mosaic
