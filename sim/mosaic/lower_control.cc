// Loops, branches and scopes.
#include <algorithm>

#include "sim/mosaic/program.h"
#include "sim/types/error.h"

namespace tilecheck::mosaic {
namespace {

// A value on its way from a yield to a loop argument that another yield still reads.
struct Held {
  uint64_t scalar = 0;
  uint8_t undefined = 0;
  Tile tile;
  Ref ref;
};

Held hold(Activation& frame, const Slot& slot) {
  Held h;
  switch (slot.kind) {
    case SlotKind::scalar:
      h.scalar = frame.scalars[slot.index];
      h.undefined = frame.undefined[slot.index];
      break;
    case SlotKind::tile:
      h.tile = frame.tiles[slot.index];
      break;
    case SlotKind::ref:
      h.ref = frame.refs[slot.index];
      break;
  }
  return h;
}

void put(Activation& frame, const Slot& slot, Held h) {
  switch (slot.kind) {
    case SlotKind::scalar:
      frame.scalars[slot.index] = h.scalar;
      frame.undefined[slot.index] = h.undefined;
      break;
    case SlotKind::tile:
      frame.tiles[slot.index] = std::move(h.tile);
      break;
    case SlotKind::ref:
      frame.refs[slot.index] = h.ref;
      break;
  }
}

// Yields of `code` from `first` on into `to`. `overlap`: some yield is itself one of `to`.
void pass(Activation& frame, const Code& code, size_t first, std::span<const Slot> to, bool overlap) {
  if (!overlap) {
    for (size_t i = 0; i < to.size(); ++i) move_yield(frame, code, first + i, to[i]);
    return;
  }
  std::vector<Held> held;
  for (size_t i = 0; i < to.size(); ++i) {
    held.push_back(hold(frame, code.yields[first + i]));
    if (code.yields[first + i].kind == SlotKind::tile && code.yield_dies[first + i])
      frame.tiles[code.yields[first + i].index] = {};
  }
  for (size_t i = 0; i < to.size(); ++i) put(frame, to[i], std::move(held[i]));
}

bool overlaps(const Code& code, size_t first, std::span<const Slot> to) {
  for (size_t i = first; i < code.yields.size(); ++i)
    for (size_t k = 0; k < to.size(); ++k)
      if (code.yields[i].kind == to[k].kind && code.yields[i].index == to[k].index && i - first != k) return true;
  return false;
}

void drop_tiles(Activation& frame, std::span<const Slot> slots) {
  for (const Slot& s : slots)
    if (s.kind == SlotKind::tile) frame.tiles[s.index] = {};
}

constexpr int64_t kMaxIndexMapIterations = 1 << 20;

[[noreturn]] void refuse(Activation& frame, const Instr& instr, const std::string& what) {
  if (frame.core) frame.core->incomplete(what, instr.loc);
  throw Incomplete(what + " in an index map" + (instr.loc.known() ? " at " + to_string(instr.loc) : std::string()));
}

// A loop may be all that a run still does: it can be cancelled there. An index map, which runs without a core, ends.
void count_iteration(Activation& frame, const Instr& instr) {
  if (frame.core) return frame.core->pulse();
  if (++frame.iterations > kMaxIndexMapIterations)
    refuse(frame, instr, "a loop of more than " + std::to_string(kMaxIndexMapIterations) + " iterations");
}

// in: lower, upper, step, initial carries. blocks[0]: args = induction variable, carries.
void run_for(Activation& frame, const Instr& instr) {
  const Code& body = instr.blocks[0];
  const int64_t lower = index_of(frame, instr.in[0], instr, "a loop bound");
  const int64_t upper = index_of(frame, instr.in[1], instr, "a loop bound");
  const int64_t step = index_of(frame, instr.in[2], instr, "a loop step");
  const std::span<const Slot> carries(body.args.data() + 1, body.args.size() - 1);
  for (size_t i = 0; i < carries.size(); ++i) copy_slot(frame, instr.in[3 + i], carries[i]);
  for (uint32_t tile : instr.drop) frame.tiles[tile] = {};  // initial carries that only this loop uses
  if (step <= 0) refuse(frame, instr, "scf.for with a step that is not positive");
  for (int64_t i = lower; i < upper;) {
    count_iteration(frame, instr);
    frame.scalars[body.args[0].index] = static_cast<uint64_t>(i);
    frame.undefined[body.args[0].index] = 0;
    run_scoped_block(frame, body);
    pass(frame, body, 0, carries, instr.yields_args);
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  for (size_t i = 0; i < carries.size(); ++i) copy_slot(frame, carries[i], instr.out[i]);
  drop_tiles(frame, carries);
}

// in: initial values. blocks[0]: computes the condition (its first yield) and what it hands on; blocks[1]: the body.
void run_while(Activation& frame, const Instr& instr) {
  const Code& before = instr.blocks[0];
  const Code& after = instr.blocks[1];
  for (size_t i = 0; i < before.args.size(); ++i) copy_slot(frame, instr.in[i], before.args[i]);
  for (uint32_t tile : instr.drop) frame.tiles[tile] = {};
  while (true) {
    count_iteration(frame, instr);
    run_scoped_block(frame, before);
    const bool go_on = index_of(frame, before.yields[0], instr, "a loop condition") & 1;
    if (!go_on) {
      for (size_t i = 0; i < instr.out.size(); ++i) copy_slot(frame, before.yields[1 + i], instr.out[i]);
      break;
    }
    pass(frame, before, 1, after.args, false);
    run_scoped_block(frame, after);
    pass(frame, after, 0, before.args, instr.yields_args);
  }
  drop_tiles(frame, before.args);
  drop_tiles(frame, after.args);
}

void run_if(Activation& frame, const Instr& instr) {
  const bool condition = index_of(frame, instr.in[0], instr, "a branch condition") & 1;
  const size_t chosen = condition ? 0 : 1;
  if (chosen >= instr.blocks.size()) return;
  const Code& code = instr.blocks[chosen];
  run_scoped_block(frame, code);
  for (size_t i = 0; i < instr.out.size(); ++i) move_yield(frame, code, i, instr.out[i]);
}

// ints: the case values; blocks[0] is the default.
void run_switch(Activation& frame, const Instr& instr) {
  const int64_t value = index_of(frame, instr.in[0], instr, "a branch index");
  size_t chosen = 0;
  for (size_t i = 0; i < instr.ints.size(); ++i)
    if (instr.ints[i] == value) chosen = i + 1;
  const Code& code = instr.blocks[chosen];
  run_scoped_block(frame, code);
  for (size_t i = 0; i < instr.out.size(); ++i) move_yield(frame, code, i, instr.out[i]);
}

void run_region(Activation& frame, const Instr& instr) {
  const Code& code = instr.blocks[0];
  run_scoped_block(frame, code);
  for (size_t i = 0; i < instr.out.size(); ++i) move_yield(frame, code, i, instr.out[i]);
}

}  // namespace

bool lower_control(LowerContext& context, const Op& op, Instr& instr) {
  switch (op.code) {
    case OpCode::scf_for:
      instr.yields_args = overlaps(instr.blocks[0], 0, std::span(instr.blocks[0].args).subspan(1));
      instr.run = run_for;
      return true;
    case OpCode::scf_while:
      instr.yields_args = overlaps(instr.blocks[1], 0, instr.blocks[0].args);
      instr.run = run_while;
      return true;
    case OpCode::scf_if:
      instr.run = run_if;
      return true;
    case OpCode::scf_index_switch:
      for (int64_t v : op.ints(AttrName::cases)) instr.ints.push_back(v);
      if (instr.blocks.size() != instr.ints.size() + 1) not_modelled(context, op, "with cases of this form");
      instr.run = run_switch;
      return true;
    case OpCode::scf_execute_region:
    case OpCode::tpu_region:
    case OpCode::tpu_trace:
      instr.run = run_region;
      return true;
    default:
      return false;
  }
}

}  // namespace tilecheck::mosaic
