// Which values of a recorded body leave the block that makes them, and which a loop carries from one iteration to the
// next: what a body in SSA form says by yields, results and carries.
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "sim/fit/recorder.h"

namespace tilecheck::fit {

struct Carry {
  TileType type;
  Operand first;    // what the first iteration has; unknown key: a splat
  ValueKey result;  // what the next one gets
};

class RecordedFlow {
 public:
  explicit RecordedFlow(const std::vector<RecordedBlock>& blocks);

  // Values of `block`, or of blocks in it, that are used outside of it.
  const std::vector<ValueKey>& leaving(int32_t block) const { return leaving_[static_cast<size_t>(block)]; }
  const std::vector<Carry>& carries(int32_t loop) const { return carries_[static_cast<size_t>(loop)]; }
  // The loop and the carry that operand `slot` of an operation is; null when it is none.
  const std::pair<int32_t, int32_t>* carried(int32_t block, int32_t op, size_t slot) const;
  // Whether `key` names a value of this type.
  bool is_value(ValueKey key, const TileType& type) const;

 private:
  void visit(int32_t block);
  void note(const Operand& operand, int32_t block, int32_t op, size_t slot);
  bool is_within(int32_t block, int32_t outer) const;
  int32_t carry(int32_t loop, const TileType& type, const Operand& first, ValueKey result);

  const std::vector<RecordedBlock>& blocks_;
  std::vector<std::vector<ValueKey>> leaving_;
  std::vector<std::vector<Carry>> carries_;
  std::map<std::tuple<int32_t, int32_t, size_t>, std::pair<int32_t, int32_t>> carried_;
  std::vector<std::pair<int32_t, int32_t>> path_;  // the blocks around the operation at hand, and where in them it is
};

}  // namespace tilecheck::fit
