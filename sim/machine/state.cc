#include "sim/machine/state.h"

#include <cstring>

#include "sim/memory/transfer.h"
#include "sim/types/error.h"

namespace tilecheck {

int ScopeSites::id(const Loc& at, int depth, int nth) {
  const Key key{at.file, at.line, at.column, depth, nth};
  return ids_.try_emplace(key, static_cast<int>(ids_.size())).first->second;
}

void WorkCounter::on_op(const OpCall& call, std::span<const Tile> operands, const Tile& result) {
  state_.pulse();
  Counters& counters = state_.counters;
  ++counters.operations;
  if (call.op == OpId::matmul) {
    int64_t contracted = 1;
    for (int64_t d : call.dot.lhs_contract) contracted *= operands[0].shape()[static_cast<int>(d)];
    counters.flops += 2 * contracted * result.size();
  } else if (info(call.op).cost == CostClass::eup) {
    counters.transcendentals += result.size();
  }
}

bool MachineState::go_on() {
  if (!options || !options->go_on || options->go_on()) return true;
  cancelled = true;
  return false;
}

void MachineState::ask_to_go_on() {
  pulses_left = kPulses;
  if (!go_on()) throw StopRun{};
}

void MachineState::report(Finding finding) {
  if (finding.step.empty()) finding.step = step;
  finding.device = device;
  finding.core = core;
  const bool stops = info(finding.kind).stops_run;
  findings->add(std::move(finding));
  if (stops) throw StopRun{};
}

namespace {

std::unique_ptr<Buffer> make_buffer(MachineState& state, const std::string& name, Space space, DType dtype,
                                    const Shape& shape, const Loc& at) {
  auto buffer = std::make_unique<Buffer>(name, space == Space::any ? Space::hbm : space, dtype, state.repr_of(dtype),
                                         shape, state.device, state.core, state.pool.get());
  buffer->garbage = state.options->garbage;
  buffer->allocated_at = at;
  if (!state.options->check_definedness) buffer->shadow.set_all(true);
  return buffer;
}

Ref shown_block(Buffer& slot, const Window& window) {
  Ref ref = Ref::whole(slot);
  for (size_t d = 0; d < window.block.size(); ++d)
    if (window.block[d].kind == BlockDim::Kind::squeezed) ref.hidden |= 1u << d;
  return ref;
}

void allocate_window(MachineState& state, const Window& window, Buffer& array) {
  WindowSlots& w = state.windows.emplace_back();
  const SlotCount count = slot_count(*state.spec, window);
  if (!window.pipelined()) {
    w.shown.push_back(Ref::whole(state.own(array)));
    return;
  }
  for (int i = 0; i < count.slots; ++i) {
    const std::string name = count.slots > 1 ? window.name + " (slot " + std::to_string(i) + ")" : window.name;
    w.slots.push_back(make_buffer(state, name, window.space, window.dtype, window.block_sizes(), window.at));
    w.shown.push_back(shown_block(*w.slots.back(), window));
  }
}

// Where `buffer` sits in a core's memories, as a path of indices.
template <typename List>
int index_of(const List& list, const Buffer* buffer) {
  for (size_t i = 0; i < list.size(); ++i)
    if (list[i].get() == buffer) return static_cast<int>(i);
  return -1;
}

}  // namespace

std::vector<std::unique_ptr<Buffer>>& MachineState::scoped_at(int site, std::span<const Scratch> allocations,
                                                              const Loc& at) {
  std::vector<std::unique_ptr<Buffer>>& buffers = scoped[site];
  if (buffers.empty()) {
    for (const Scratch& a : allocations) buffers.push_back(make_buffer(*this, a.name, a.space, a.dtype, a.shape, at));
    for (auto& b : buffers) b->alive = false;
  }
  return buffers;
}

Buffer& MachineState::own(Buffer& array) {
  if (core == 0 || !is_semaphore(array.dtype)) return array;
  std::unique_ptr<Buffer>& mine = own_semaphores[&array];
  if (!mine) mine = make_buffer(*this, array.name, Space::semaphore, array.dtype, array.shape, array.allocated_at);
  return *mine;
}

std::unique_ptr<Buffer> smem_copy(MachineState& state, size_t i) {
  Buffer& array = *state.memory->prefetch[i];
  auto copy = make_buffer(state, state.spec->prefetch[i].name, Space::smem, array.dtype, array.shape, state.spec->at);
  copy_elements(Ref::whole(array), Ref::whole(*copy));
  return copy;
}

void allocate_window_semaphores(MachineState& state) {
  const KernelSpec& spec = *state.spec;
  for (size_t i = 0; i < state.windows.size(); ++i) {
    WindowSlots& w = state.windows[i];
    if (w.slots.empty()) continue;
    const Window& window = i < spec.in.size() ? spec.in[i] : spec.out[i - spec.in.size()];
    w.semaphores = make_buffer(state, window.name + " pipeline semaphore", Space::semaphore, DType::dma_semaphore,
                               {static_cast<int64_t>(w.slots.size())}, window.at);
  }
}

void allocate(MachineState& state, bool through_engine) {
  const KernelSpec& spec = *state.spec;
  for (size_t i = 0; i < spec.prefetch.size(); ++i) {
    state.prefetch.push_back(smem_copy(state, i));
  }
  for (size_t i = 0; i < spec.in.size(); ++i) allocate_window(state, spec.in[i], *state.memory->in[i]);
  for (size_t i = 0; i < spec.out.size(); ++i) allocate_window(state, spec.out[i], *state.memory->out[i]);
  if (through_engine) allocate_window_semaphores(state);
  for (const Scratch& s : spec.scratch)
    state.scratch.push_back(make_buffer(state, s.name, s.space, s.dtype, s.shape, spec.at));
  if (spec.collective_id)
    state.barrier = make_buffer(state, "barrier semaphore", Space::semaphore, DType::semaphore, {}, spec.at);
}

Ref same_address(const Ref& ref, MachineState& from, MachineState& to) {
  Ref out = ref;
  const Buffer* b = ref.buffer;
  for (const auto& [array, mine] : from.own_semaphores)
    if (mine.get() == b) b = array;
  if (int i = index_of(from.scratch, b); i >= 0) {
    out.buffer = to.scratch[static_cast<size_t>(i)].get();
    return out;
  }
  if (from.barrier.get() == b) {
    out.buffer = to.barrier.get();
    return out;
  }
  if (int i = index_of(from.memory->in, b); i >= 0) {
    out.buffer = &to.own(*to.memory->in[static_cast<size_t>(i)]);
    return out;
  }
  if (int i = index_of(from.memory->out, b); i >= 0) {
    out.buffer = &to.own(*to.memory->out[static_cast<size_t>(i)]);
    return out;
  }
  for (size_t w = 0; w < from.windows.size(); ++w)
    if (int i = index_of(from.windows[w].slots, b); i >= 0) {
      out.buffer = to.windows[w].slots[static_cast<size_t>(i)].get();
      return out;
    }
  if (int i = index_of(from.prefetch, b); i >= 0) {
    out.buffer = to.prefetch[static_cast<size_t>(i)].get();
    return out;
  }
  for (auto& [site, buffers] : from.scoped)
    if (int i = index_of(buffers, b); i >= 0) {
      std::vector<Scratch> like;
      for (const auto& s : buffers) like.push_back({s->name, s->dtype, s->shape, s->space});
      out.buffer =
          to.scoped_at(site, like, buffers[static_cast<size_t>(i)]->allocated_at)[static_cast<size_t>(i)].get();
      return out;
    }
  throw InputError(to_string(ref), "is not memory that another core has at the same address");
}

}  // namespace tilecheck
