// A payload function made ready to run: operations resolved to handlers, values to slots, constants computed once.
//
// compile() walks a verified function once; running it then looks nothing up by name and allocates nothing but tiles,
// which come from the core's pool and are released at their last use.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sim/machine/core.h"
#include "sim/mosaic/ir.h"
#include "sim/ops/ops.h"
#include "sim/spec/index_map.h"

namespace tilecheck::mosaic {

struct Activation;
struct Instr;
using Handler = void (*)(Activation&, const Instr&);

enum class SlotKind : uint8_t { scalar, tile, ref };
// Where a value lives in a Activation.
struct Slot {
  SlotKind kind = SlotKind::scalar;
  DType dtype = DType::i32;
  uint32_t index = 0;
};

// One block of operations. The values it yields are read by the instruction that holds it.
struct Code {
  std::vector<Instr> instrs;
  std::vector<Slot> args;
  std::vector<Slot> yields;
  std::vector<bool> yield_dies;      // the yielded tile is not needed in its own slot any more
  std::vector<Scratch> allocations;  // memory that lives as long as one run of this block
  std::vector<Slot> allocation_slots;
  uint32_t site = 0;  // of the allocations
  Loc loc;
};

struct Instr {
  Handler run = nullptr;
  const OpCall* call = nullptr;  // tile and scalar operations
  std::vector<Slot> in, out;
  uint32_t dies = 0;           // bit i: in[i] is a tile whose last use this is
  std::vector<uint32_t> drop;  // further tile slots to release afterwards
  std::vector<Code> blocks;
  const Op* op = nullptr;
  Loc loc;
  std::vector<int64_t> ints;  // the handler's own: sizes, strides, case values, segment ends
  Shape shape;                // result or target shape
  bool yields_args = false;   // loops: a yielded value is one of the loop's own arguments
};

struct Program {
  Code hoisted;  // run once per core: constants and what follows from them alone
  Code body;
  uint32_t scalars = 0, tiles = 0, refs = 0;  // slot counts
  std::deque<OpCall> calls;
  int64_t site_count = 0;
};

// The values of one run. Scalars: bits in the storage encoding of their repr, extended to 64 bits.
struct Activation {
  Core* core = nullptr;                    // null: an index map, which may compute scalars and read `prefetch`
  const PrefetchRefs* prefetch = nullptr;  // index maps; refs[i].rank is unused then, `prefetch_operand` tells
  const Dims* grid = nullptr;              // index maps: the grid's extents
  std::span<uint64_t> scalars;
  std::span<uint8_t> undefined;  // per scalar: shadow byte
  std::span<Tile> tiles;
  std::span<Ref> refs;
  std::span<int> prefetch_operand;  // index maps: per ref slot
  Numerics numerics = Numerics::exact;
  int64_t iterations = 0;  // index maps: of loops

  DType repr(DType dtype) const { return numerics == Numerics::f64 && is_floating(dtype) ? DType::f64 : dtype; }
};

// Throws Incomplete naming an operation that is not modelled, with its source line.
std::unique_ptr<Program> compile(const Module& module, const Function& function);

void run_block(Activation& frame, const Code& code);
// With the block's allocations made and freed around it.
void run_scoped_block(Activation& frame, const Code& code);

// ---- For handlers.
Tile tile_of(Activation& frame, const Slot& slot);                // a scalar as a rank-0 tile
Tile take_tile(Activation& frame, const Instr& instr, size_t i);  // moved out when it dies here
void set_tile(Activation& frame, const Slot& slot, Tile tile);    // a rank-0 tile into a scalar slot
void copy_slot(Activation& frame, const Slot& from, const Slot& to);
void move_yield(Activation& frame, const Code& code, size_t i, const Slot& to);
int64_t index_of(Activation& frame, const Slot& slot, const Instr& instr,
                 const char* what);  // checked: a defined integer

// ---- What compile() assembles from: sets the handler (and call, ints, shape) of one operation, by its group. False:
// not of this group. Operands and results are filled in already.
struct LowerContext {
  const Module& module;
  const Function& function;
  Program& program;
  OpCall& new_call(OpId op);
};
bool lower_arithmetic(LowerContext& context, const Op& op, Instr& instr);
bool lower_vector(LowerContext& context, const Op& op, Instr& instr);
bool lower_memory(LowerContext& context, const Op& op, Instr& instr);
bool lower_sync(LowerContext& context, const Op& op, Instr& instr);
bool lower_control(LowerContext& context, const Op& op, Instr& instr);
[[noreturn]] void not_modelled(const LowerContext& context, const Op& op, const std::string& why = {});

}  // namespace tilecheck::mosaic
