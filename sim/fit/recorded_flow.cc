#include "sim/fit/recorded_flow.h"

#include <algorithm>

namespace tilecheck::fit {

RecordedFlow::RecordedFlow(const std::vector<RecordedBlock>& blocks)
    : blocks_(blocks), leaving_(blocks.size()), carries_(blocks.size()) {
  visit(0);
  // What leaves a loop is carried too, since only carries are its results.
  for (size_t b = 0; b < blocks_.size(); ++b)
    if (blocks_[b].loop == static_cast<int32_t>(b))
      for (ValueKey key : leaving_[b]) {
        const RecordedOp& maker = blocks_[static_cast<size_t>(key.block)].ops[static_cast<size_t>(key.op)];
        carry(static_cast<int32_t>(b), maker.out[0], {maker.out[0], {}, 0, {}}, key);
      }
}

const std::pair<int32_t, int32_t>* RecordedFlow::carried(int32_t block, int32_t op, size_t slot) const {
  const auto it = carried_.find({block, op, slot});
  return it == carried_.end() ? nullptr : &it->second;
}

bool RecordedFlow::is_value(ValueKey key, const TileType& type) const {
  if (!key.known()) return false;
  const std::vector<RecordedOp>& ops = blocks_[static_cast<size_t>(key.block)].ops;
  if (static_cast<size_t>(key.op) >= ops.size()) return false;
  const std::vector<TileType>& out = ops[static_cast<size_t>(key.op)].out;
  return !out.empty() && out[0].dtype == type.dtype && out[0].shape == type.shape;
}

bool RecordedFlow::is_within(int32_t block, int32_t outer) const {
  while (block != kNone && block != outer) block = blocks_[static_cast<size_t>(block)].parent;
  return block == outer;
}

int32_t RecordedFlow::carry(int32_t loop, const TileType& type, const Operand& first, ValueKey result) {
  std::vector<Carry>& list = carries_[static_cast<size_t>(loop)];
  const auto it = std::ranges::find_if(list, [&](const Carry& c) { return c.result == result; });
  if (it != list.end()) return static_cast<int32_t>(it - list.begin());
  list.push_back({type, first, result});
  return static_cast<int32_t>(list.size()) - 1;
}

void RecordedFlow::visit(int32_t block) {
  const std::vector<RecordedOp>& ops = blocks_[static_cast<size_t>(block)].ops;
  path_.push_back({block, 0});
  for (size_t i = 0; i < ops.size(); ++i) {
    path_.back().second = static_cast<int32_t>(i);
    for (size_t k = 0; k < ops[i].in.size(); ++k) note(ops[i].in[k], block, static_cast<int32_t>(i), k);
    for (int32_t inner : ops[i].blocks) visit(inner);
  }
  path_.pop_back();
}

void RecordedFlow::note(const Operand& operand, int32_t block, int32_t op, size_t slot) {
  const auto leave = [&](ValueKey key) {
    for (int32_t b = key.block; !is_within(block, b); b = blocks_[static_cast<size_t>(b)].parent) {
      std::vector<ValueKey>& list = leaving_[static_cast<size_t>(b)];
      if (std::ranges::find(list, key) == list.end()) list.push_back(key);
    }
  };
  const ValueKey key = operand.key, later = operand.later;
  // The innermost loop that makes `later` but not the first value.
  if (is_value(later, operand.type)) {
    int32_t loop = blocks_[static_cast<size_t>(block)].loop;
    while (loop != kNone && !is_within(later.block, loop))
      loop = blocks_[static_cast<size_t>(blocks_[static_cast<size_t>(loop)].parent)].loop;
    if (loop != kNone && (!key.known() || !is_within(key.block, loop))) {
      Operand first = operand;
      if (!is_value(key, operand.type)) first.key = {};
      carried_[{block, op, slot}] = {loop, carry(loop, operand.type, first, later)};
      if (first.key.known()) leave(first.key);
      for (int32_t b = later.block; b != loop; b = blocks_[static_cast<size_t>(b)].parent) {
        std::vector<ValueKey>& list = leaving_[static_cast<size_t>(b)];
        if (std::ranges::find(list, later) == list.end()) list.push_back(later);
      }
      return;
    }
  }
  if (!is_value(key, operand.type)) return;
  // A value made further down, in the iteration before.
  for (const auto& [around, at] : path_) {
    const int32_t loop = blocks_[static_cast<size_t>(around)].loop;
    if (around != key.block || key.op < at || loop == kNone) continue;
    carried_[{block, op, slot}] = {loop, carry(loop, operand.type, {operand.type, {}, 0, {}}, key)};
    for (int32_t b = key.block; b != loop; b = blocks_[static_cast<size_t>(b)].parent) {
      std::vector<ValueKey>& list = leaving_[static_cast<size_t>(b)];
      if (std::ranges::find(list, key) == list.end()) list.push_back(key);
    }
    return;
  }
  leave(key);
}

}  // namespace tilecheck::fit
