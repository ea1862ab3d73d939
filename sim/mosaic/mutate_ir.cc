#include "sim/mosaic/mutate_ir.h"

#include "sim/mosaic/op_table.h"

namespace tilecheck::mosaic {
namespace {

void add_places(Region& region, std::vector<Place>& places) {
  for (Block& block : region.blocks)
    for (size_t i = 0; i < block.ops.size(); ++i) {
      places.push_back({&block, i});
      for (Region& inner : block.ops[i].regions) add_places(inner, places);
    }
}

}  // namespace

std::vector<Place> places_of(Function& function) {
  std::vector<Place> places;
  add_places(function.body, places);
  return places;
}

std::vector<const Op*> definitions(const Function& function, const std::vector<Place>& places) {
  std::vector<const Op*> defs(function.value_types.size(), nullptr);
  for (const Place& p : places)
    for (uint32_t i = 0; i < p.op().result_count; ++i) defs[p.op().result(i)] = &p.op();
  return defs;
}

std::optional<uint32_t> segment_position(const Op& op, int segment) {
  const std::span<const ValueId> ids = op.segment(segment);
  if (ids.size() != 1) return std::nullopt;
  return static_cast<uint32_t>(ids.data() - op.operands.data());
}

bool is_view(const Op& op) {
  switch (op.code) {
    case OpCode::tpu_memref_slice:
    case OpCode::tpu_memref_squeeze:
    case OpCode::tpu_memref_reshape:
    case OpCode::tpu_memref_bitcast:
    case OpCode::tpu_assume_layout:
    case OpCode::tpu_erase_memref_layout:
      return true;
    default:
      return false;
  }
}

bool is_start(const Op& op) { return op.code == OpCode::tpu_enqueue_dma; }
bool is_copy_wait(const Op& op) { return op.code == OpCode::tpu_wait_dma2 || op.code == OpCode::tpu_wait_dma; }
bool is_signal(const Op& op) { return op.code == OpCode::tpu_sem_signal; }
bool is_signal_wait(const Op& op) { return op.code == OpCode::tpu_sem_wait; }
bool is_ordering(const Op& op) { return is_start(op) || is_copy_wait(op) || is_signal(op) || is_signal_wait(op); }

bool has_effect(const Op& op) {
  if (op.code == OpCode::unknown) return true;
  switch (info(op.code).effect) {
    case Effect::read:
    case Effect::write:
    case Effect::sync:
    case Effect::allocate:
    case Effect::control:
      return true;
    case Effect::pure:
    case Effect::annotation:
    case Effect::terminator:
      return false;
  }
  return true;
}

std::vector<uint32_t> semaphore_operands(const Op& op) {
  std::vector<uint32_t> positions;
  const auto add = [&](int segment) {
    if (const auto at = segment_position(op, segment)) positions.push_back(*at);
  };
  if (is_start(op)) {
    add(segment::kDmaSourceSemaphore);
    add(segment::kDmaTargetSemaphore);
  } else if (op.code == OpCode::tpu_wait_dma2) {
    add(segment::kWaitSemaphore);
  } else if (op.code == OpCode::tpu_wait_dma) {
    add(op.bool_or(AttrName::wait_target, true) ? segment::kDmaTargetSemaphore : segment::kDmaSourceSemaphore);
  } else if (is_signal(op)) {
    add(segment::kSignalSemaphore);
  } else if (is_signal_wait(op)) {
    positions.push_back(0);
  }
  return positions;
}

std::vector<uint32_t> copied_operands(const Op& op) {
  const bool is_wait2 = op.code == OpCode::tpu_wait_dma2;
  std::vector<uint32_t> positions;
  for (const int s : {is_wait2 ? static_cast<int>(segment::kWaitSource) : static_cast<int>(segment::kDmaSource),
                      is_wait2 ? static_cast<int>(segment::kWaitTarget) : static_cast<int>(segment::kDmaTarget)})
    if (const auto at = segment_position(op, s)) positions.push_back(*at);
  return positions;
}

}  // namespace tilecheck::mosaic
