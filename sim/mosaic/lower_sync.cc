// Copies, semaphores, identity of the core, and what a kernel prints.
#include <cstdio>
#include <string>

#include "sim/mosaic/program.h"
#include "sim/types/error.h"
#include "sim/types/float_formats.h"

namespace tilecheck::mosaic {
namespace {

// instr.ints: per operand segment, the position of its operand or -1.
std::optional<int> peer_part(Activation& frame, const Instr& instr, size_t segment, const char* what) {
  if (instr.ints[segment] < 0) return std::nullopt;
  return static_cast<int>(index_of(frame, instr.in[static_cast<size_t>(instr.ints[segment])], instr, what));
}

const Ref& ref_at(Activation& frame, const Instr& instr, size_t segment) {
  return frame.refs[instr.in[static_cast<size_t>(instr.ints[segment])].index];
}

void run_enqueue_dma(Activation& frame, const Instr& instr) {
  const Ref& source = ref_at(frame, instr, segment::kDmaSource);
  const Ref& target = ref_at(frame, instr, segment::kDmaTarget);
  const Ref& done = ref_at(frame, instr, segment::kDmaTargetSemaphore);
  if (instr.ints[segment::kDmaSourceSemaphore] < 0) {
    frame.core->start_copy(source, target, done, static_cast<int>(instr.op->int_or(AttrName::priority, 0)), instr.loc);
    return;
  }
  Peer peer;
  peer.device = peer_part(frame, instr, segment::kDmaDevice, "a device id");
  peer.core = peer_part(frame, instr, segment::kDmaCore, "a core id");
  frame.core->start_remote_copy(source, target, ref_at(frame, instr, segment::kDmaSourceSemaphore), done, peer,
                                instr.loc);
}

void run_wait_dma2(Activation& frame, const Instr& instr) {
  frame.core->wait_bytes_of(ref_at(frame, instr, segment::kWaitSemaphore), ref_at(frame, instr, segment::kWaitTarget),
                            instr.loc);
}

void run_wait_dma(Activation& frame, const Instr& instr) {
  const bool target = instr.op->bool_or(AttrName::wait_target, true);
  if (target) {
    frame.core->wait_bytes_of(ref_at(frame, instr, segment::kDmaTargetSemaphore),
                              ref_at(frame, instr, segment::kDmaTarget), instr.loc);
  } else {
    frame.core->wait_bytes_of(ref_at(frame, instr, segment::kDmaSourceSemaphore),
                              ref_at(frame, instr, segment::kDmaSource), instr.loc);
  }
}

void run_signal(Activation& frame, const Instr& instr) {
  Peer peer;
  peer.device = peer_part(frame, instr, segment::kSignalDevice, "a device id");
  peer.core = peer_part(frame, instr, segment::kSignalCore, "a core id");
  const int64_t amount =
      index_of(frame, instr.in[static_cast<size_t>(instr.ints[segment::kSignalAmount])], instr, "a semaphore count");
  frame.core->signal(ref_at(frame, instr, segment::kSignalSemaphore), amount, peer, instr.loc);
}

void run_wait(Activation& frame, const Instr& instr) {
  const int64_t amount = index_of(frame, instr.in[1], instr, "a semaphore count");
  frame.core->wait(frame.refs[instr.in[0].index], amount, instr.loc);
}

void run_read(Activation& frame, const Instr& instr) {
  frame.scalars[instr.out[0].index] = static_cast<uint64_t>(frame.core->read(frame.refs[instr.in[0].index], instr.loc));
  frame.undefined[instr.out[0].index] = 0;
}

void run_barrier_semaphore(Activation& frame, const Instr& instr) {
  frame.refs[instr.out[0].index] = frame.core->barrier_semaphore(instr.loc);
}

void set_scalar(Activation& frame, const Instr& instr, int64_t value) {
  frame.scalars[instr.out[0].index] = static_cast<uint64_t>(value);
  frame.undefined[instr.out[0].index] = 0;
}

// Index maps are evaluated without a core.
Core& core_of(Activation& frame, const Instr& instr) {
  if (!frame.core) throw Incomplete(std::string(instr.op->name) + " in an index map");
  return *frame.core;
}

void run_device_id(Activation& frame, const Instr& instr) {
  set_scalar(frame, instr, core_of(frame, instr).device_id());
}
void run_core_id(Activation& frame, const Instr& instr) {
  set_scalar(frame, instr, core_of(frame, instr).core_index());
}
void run_iteration_bound(Activation& frame, const Instr& instr) {
  const auto axis = static_cast<int>(instr.ints[0]);
  set_scalar(frame, instr, frame.core ? frame.core->num_programs(axis) : (*frame.grid)[axis]);
}

void run_log(Activation& frame, const Instr& instr) {
  std::string text = "log: " + std::string(instr.op->string_or(AttrName::tag, ""));
  for (const Slot& slot : instr.in) {
    const Tile tile = tile_of(frame, slot);
    for (int64_t i = 0; i < tile.size() && i < 64; ++i) {
      char number[32];
      std::snprintf(number, sizeof number, " %.9g", tile.at(i));
      text += number;
    }
    if (tile.size() > 64) text += " ...";
  }
  std::fprintf(stderr, "%s\n", text.c_str());
}

void run_assert(Activation& frame, const Instr& instr) {
  if (index_of(frame, instr.in[0], instr, "an assertion") & 1) return;
  frame.core->incomplete("assertion failed: " + std::string(instr.op->string_or(AttrName::msg, "")), instr.loc);
}

void set_segments(const Op& op, Instr& instr, int segments) {
  int64_t at = 0;
  for (int s = 0; s < segments; ++s) {
    const int64_t n = static_cast<int64_t>(op.segment(s).size());
    instr.ints.push_back(n > 0 ? at : -1);
    at += n;
  }
}

}  // namespace

bool lower_sync(LowerContext& context, const Op& op, Instr& instr) {
  switch (op.code) {
    case OpCode::tpu_enqueue_dma:
      set_segments(op, instr, 7);
      if (instr.ints[segment::kDmaSubcore] >= 0) not_modelled(context, op, "to a subcore");
      instr.run = run_enqueue_dma;
      return true;
    case OpCode::tpu_wait_dma2:
      set_segments(op, instr, 5);
      instr.run = run_wait_dma2;
      return true;
    case OpCode::tpu_wait_dma:
      set_segments(op, instr, 7);
      instr.run = run_wait_dma;
      return true;
    case OpCode::tpu_sem_signal:
      set_segments(op, instr, 5);
      if (instr.ints[segment::kSignalSubcore] >= 0) not_modelled(context, op, "to a subcore");
      instr.run = run_signal;
      return true;
    case OpCode::tpu_sem_wait:
      instr.run = run_wait;
      return true;
    case OpCode::tpu_sem_read:
      instr.run = run_read;
      return true;
    case OpCode::tpu_sem_barrier:
      instr.run = run_barrier_semaphore;
      return true;
    case OpCode::tpu_device_id:
      instr.run = run_device_id;
      return true;
    case OpCode::tpu_core_id:
      instr.run = run_core_id;
      return true;
    case OpCode::tpu_iteration_bound:
      instr.ints = {op.int_or(AttrName::dim, 0)};
      instr.run = run_iteration_bound;
      return true;
    case OpCode::tpu_log:
      instr.run = run_log;
      return true;
    case OpCode::cf_assert:
      instr.run = run_assert;
      return true;
    default:
      return false;
  }
}

}  // namespace tilecheck::mosaic
