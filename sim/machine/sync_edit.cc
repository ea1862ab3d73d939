#include "sim/machine/sync_edit.h"

#include <algorithm>
#include <cstring>

#include "sim/machine/state.h"

namespace tilecheck {
namespace {

using What = SyncCall::What;

const SemRef& semaphore_in(const SyncCall& call) {
  return call.what == What::start ? call.request.done : call.semaphore;
}
SemRef& semaphore_in(SyncCall& call) { return call.what == What::start ? call.request.done : call.semaphore; }

// Shows one of several blocks along its first dimension.
bool is_slot(const Ref& ref) {
  const Shape base = ref.buffer_base();
  const Box box = ref.buffer_box();
  return base.rank() > 1 && base[0] > 1 && box[0].n == 1 && ref.base == base;
}

void next_slot(Ref& ref) {
  if (is_slot(ref)) ref.box[0].lo = (ref.box[0].lo + 1) % ref.base[0];
}

// The semaphore array after `buffer` in the core's scratch that is alike; null: none.
Buffer* other_array(const MachineState& state, const Buffer& buffer) {
  const auto& all = state.scratch;
  const auto here = std::ranges::find_if(all, [&](const auto& b) { return b.get() == &buffer; });
  if (here == all.end()) return nullptr;
  for (size_t i = 1; i < all.size(); ++i) {
    Buffer& other = *all[(static_cast<size_t>(here - all.begin()) + i) % all.size()];
    if (other.dtype == buffer.dtype && other.shape == buffer.shape) return &other;
  }
  return nullptr;
}

void next_semaphore(const MachineState& state, SemRef& s) {
  const int64_t n = element_count(s.buffer->shape);
  if (n > 1) {
    s.element = (s.element + 1) % n;
  } else if (Buffer* other = other_array(state, *s.buffer)) {
    s.buffer = other;
  }
}

SyncSite site_of(const MachineState& state, const SyncCall& call) {
  const SemRef& s = semaphore_in(call);
  SyncSite site{.what = call.what, .at = call.at, .semaphore = s.buffer->name, .amount = call.amount};
  site.has_peer = call.what == What::start ? call.request.peer.device.has_value() : call.peer.device.has_value();
  site.has_other_semaphore = element_count(s.buffer->shape) > 1 || other_array(state, *s.buffer);
  site.is_remote = call.what == What::start && call.request.sent.has_value();
  if (call.what == What::start) {
    site.source_is_slot = is_slot(call.request.source);
    site.destination_is_slot = is_slot(call.request.destination);
  }
  return site;
}

void do_call(MachineState& state, Engine& engine, const SyncCall& call) {
  switch (call.what) {
    case What::start:
      if (state.before_own_copy) state.before_own_copy();
      engine.start(state.agent, call.request, call.at);
      return;
    case What::wait_bytes:
      engine.wait_copy(state.agent, call.semaphore, call.amount, call.at);
      return;
    case What::signal:
      engine.signal(state.agent, call.semaphore, call.amount, call.peer, call.at);
      return;
    case What::wait:
      engine.wait(state.agent, call.semaphore, call.amount, call.at);
      return;
  }
}

bool is_wait(const SyncCall& call) { return call.what == What::wait_bytes || call.what == What::wait; }

// The calls that are made in the place of one that the edit is about.
void do_edited(MachineState& state, Engine& engine, SyncCall call, const SyncEdit& edit) {
  using Change = SyncEdit::Change;
  std::optional<int>& device = call.what == What::start ? call.request.peer.device : call.peer.device;
  switch (edit.change) {
    case Change::none:
      break;
    case Change::drop:
      return;
    case Change::repeat:
      do_call(state, engine, call);
      break;
    case Change::half:
      call.amount /= 2;
      break;
    case Change::more:
      ++call.amount;
      break;
    case Change::other_semaphore:
      next_semaphore(state, semaphore_in(call));
      break;
    case Change::swap_semaphores:
      std::swap(call.request.done, call.request.sent);
      break;
    case Change::next_source_slot:
      next_slot(call.request.source);
      break;
    case Change::next_destination_slot:
      next_slot(call.request.destination);
      break;
    case Change::next_device:
      if (device) *device = (*device + 1) % edit.devices;
      break;
    case Change::late_start:
      state.late_starts.push_back(call);
      return;
    case Change::early_wait: {
      SyncCall wait = call;
      wait.what = What::wait_bytes;
      wait.semaphore = call.request.done;
      wait.amount = call.request.destination.size_bytes();
      state.waits_done_early.push_back(call.request.done);
      do_call(state, engine, wait);
      break;
    }
  }
  do_call(state, engine, call);
}

void perform(MachineState& state, Engine& engine, const SyncCall& call) {
  SyncEdit* edit = state.options->edit.get();
  if (edit->change == SyncEdit::Change::none) {
    if (std::ranges::none_of(edit->sites, [&](const SyncSite& s) { return s.is_for(call); }))
      edit->sites.push_back(site_of(state, call));
    return do_call(state, engine, call);
  }
  if (is_wait(call)) {
    const auto done = std::ranges::find_if(state.waits_done_early, [&](const SemRef& s) {
      return s.buffer == call.semaphore.buffer && s.element == call.semaphore.element;
    });
    if (done != state.waits_done_early.end()) {
      state.waits_done_early.erase(done);
      return;
    }
  }
  if (edit->site.is_for(call)) {
    do_edited(state, engine, call, *edit);
  } else {
    do_call(state, engine, call);
  }
  if (!is_wait(call)) return;
  for (const SyncCall& late : std::exchange(state.late_starts, {})) do_call(state, engine, late);
}

}  // namespace

bool SyncSite::is_for(const SyncCall& call) const {
  return call.what == what && call.at.line == at.line && call.at.column == at.column &&
         std::strcmp(call.at.file, at.file) == 0 && semaphore_in(call).buffer->name == semaphore;
}

std::string_view name(SyncEdit::Change change) {
  using Change = SyncEdit::Change;
  switch (change) {
    case Change::none:
      return "none";
    case Change::drop:
      return "drop";
    case Change::repeat:
      return "repeat";
    case Change::half:
      return "count-half";
    case Change::more:
      return "count-more";
    case Change::other_semaphore:
      return "other-semaphore";
    case Change::swap_semaphores:
      return "swap-semaphores";
    case Change::next_source_slot:
    case Change::next_destination_slot:
      return "next-slot";
    case Change::next_device:
      return "next-device";
    case Change::late_start:
      return "start-after-wait";
    case Change::early_wait:
      return "wait-before-start";
  }
  return "";
}

void start_edited(MachineState& state, Engine& engine, const CopyRequest& request, const Loc& at) {
  SyncCall call;
  call.what = What::start;
  call.request = request;
  call.at = at;
  perform(state, engine, call);
}

void wait_edited(MachineState& state, Engine& engine, What what, SemRef semaphore, int64_t amount, const Loc& at) {
  SyncCall call;
  call.what = what;
  call.semaphore = semaphore;
  call.amount = amount;
  call.at = at;
  perform(state, engine, call);
}

void signal_edited(MachineState& state, Engine& engine, SemRef semaphore, int64_t amount, const Peer& peer,
                   const Loc& at) {
  SyncCall call;
  call.what = What::signal;
  call.semaphore = semaphore;
  call.amount = amount;
  call.peer = peer;
  call.at = at;
  perform(state, engine, call);
}

}  // namespace tilecheck
