// How many slots of each unit the operations of a body take: vector registers touched x slots per register.
//
// The compiler unrolls a body over vector registers and shares equal ones, so what counts is how many *distinct*
// registers a value has: a column broadcast along the lanes has one per eight rows, a splat none.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/fit/body.h"
#include "sim/fit/register_grid.h"
#include "sim/fit/time_table.h"

namespace tilecheck::fit {

// What an operation adds to the longest chain of dependent operations.
enum class ChainKind : uint8_t { none, lane_reduce, sublane_reduce, transpose, transcendental, matmul };

struct OpCost {
  UnitSlots slots;
  ChainKind chain = ChainKind::none;
  double accumulated = 0;    // registers folded into a lane reduction one after the other
  double weight_pushes = 0;  // registers of matmul weights, f32-sized
  bool is_live = true;       // false: nothing depends on it, the compiler drops it
};

// Costs of all operations of `body`, and of those in nested blocks; memory and control operations included.
class BodyCosts {
 public:
  BodyCosts(const Body& body, const TimeTable& table);
  const OpCost& of(const Op& op) const;

 private:
  void find_live(const Block& block);
  void visit(const Block& block);
  void lay_out(const Op& op);
  OpCost cost(const Op& op);
  OpCost elementwise(const Op& op) const;
  OpCost division(const Op& op) const;
  OpCost convert(const Op& op) const;
  OpCost broadcast(const Op& op) const;
  OpCost reshape(const Op& op) const;
  OpCost reduce(const Op& op) const;
  OpCost matmul(const Op& op) const;
  OpCost move(const Op& op) const;  // transpose, rotate, concatenate, slice
  const TileType& type(ValueId value) const { return type_of(body_, value); }
  const ValueLayout& layout(ValueId value) const { return layouts_[static_cast<size_t>(value)]; }
  double registers(ValueId value, bool all = false) const;
  int distinct_operands(const Op& op) const;
  bool feeds_exp_only(ValueId value) const;

  const Body& body_;
  const TimeTable& table_;
  std::vector<ValueLayout> layouts_;           // by value
  std::vector<std::vector<const Op*>> users_;  // by value
  std::vector<bool> live_values_;
  std::vector<const Op*> ops_;  // sorted by address
  std::vector<OpCost> costs_;   // beside ops_
};

}  // namespace tilecheck::fit
