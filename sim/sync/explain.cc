// Findings: what happened, with both sides, and what to change.
#include <algorithm>
#include <cstring>

#include "sim/sync/state.h"

namespace tilecheck {
namespace {

bool same_place(const Loc& a, const Loc& b) {
  return a.line == b.line && a.column == b.column && std::strcmp(a.file, b.file) == 0;
}

int64_t bytes_of(const Event& event) { return (event.box.element_count() * bits(event.buffer->dtype) + 7) / 8; }

std::string range_of(const Event& event) { return event.box.rank ? to_string(event.box) : ""; }

std::string in_buffer(const Event& event) {
  std::string text = event.buffer->name + range_of(event);
  if (!(event.base == event.buffer->shape)) text += " of shape " + to_tuple(event.base);
  return text;
}

std::string list(const std::vector<std::string>& names) {
  constexpr size_t kMost = 4;
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i == kMost && names.size() > kMost + 1) return text + " and " + std::to_string(names.size() - i) + " more";
    if (i) text += i + 1 == names.size() ? " and " : ", ";
    text += names[i];
  }
  return text;
}

// The copies that have added, or will add, to a semaphore and are not known to be over.
std::vector<std::string> copies_on(const Semaphore& s) {
  std::vector<std::string> names;
  for (const Item* item : s.items)
    if (item->copy) names.push_back("DMA #" + std::to_string(item->copy->id));
  return names;
}

}  // namespace

std::string where(const Dims& step) { return step.empty() ? "" : ", step " + step_text(step); }

std::string name_of(const Event& copy) {
  const std::string number = "DMA #" + std::to_string(copy.dma);
  return copy.label.empty() ? number : number + " (" + copy.label + ")";
}

std::string Engine::Impl::who(AgentId id) const {
  const AgentState& own = agents[static_cast<size_t>(id)].state;
  bool devices = false, cores = false;
  for (const Agent& a : agents) {
    devices = devices || a.state.device != own.device;
    cores = cores || a.state.core != own.core;
  }
  if (!devices) return "core " + std::to_string(own.core);
  const std::string device = "device " + std::to_string(own.device);
  return cores ? device + ", core " + std::to_string(own.core) : device;
}

std::string Engine::Impl::name_of(const Semaphore& s) const {
  std::string text = s.buffer->name;
  const Shape& shape = s.buffer->shape;
  if (shape.rank() > 0) {
    const Dims strides = row_major_strides(shape);
    int64_t rest = s.element;
    text += '[';
    for (int d = 0; d < shape.rank(); ++d) {
      text += (d ? ", " : "") + std::to_string(rest / strides[d]);
      rest %= strides[d];
    }
    text += ']';
  }
  bool devices = false;
  for (const Agent& a : agents) devices = devices || a.state.device != agents[0].state.device;
  if (devices) text += " of device " + std::to_string(s.buffer->device);
  return text;
}

std::string Engine::Impl::amount_on(const Semaphore& s, int64_t amount) const {
  return std::to_string(amount) + (s.dma ? " B" : "");
}

std::string Engine::Impl::describe(const Event& event) const {
  const std::string actor =
      event.dma ? tilecheck::name_of(event) + (single() ? "" : " of " + who(event.actor)) : who(event.actor);
  return actor + (event.write ? " writes " : " reads ") + std::string(name(event.buffer->space)) + " " +
         in_buffer(event) + " (" + std::to_string(bytes_of(event)) + " B)" + where(event.step);
}

// ---- Collecting.

bool Engine::Impl::tell_again(Kind kind, const Loc& at, const Loc& other, const std::string& buffer) {
  for (Told& t : told) {
    const Finding& f = t.finding;
    if (f.kind != kind || f.buffer != buffer || !same_place(f.at, at)) continue;
    if (f.labels.size() < 2 ? other.known() : !same_place(f.labels[1].at, other)) continue;
    ++t.again;
    return true;
  }
  return false;
}

void Engine::Impl::add(Finding finding, AgentId id) {
  const AgentState& state = agent(id).state;
  finding.device = state.device;
  finding.core = state.core;
  if (finding.step.empty() && state.step) finding.step = *state.step;
  const bool stops = info(finding.kind).stops_run;
  told.push_back({finding, 0});
  sink.add(std::move(finding));
  if (stops) throw StopRun();
}

void Engine::Impl::stop(Finding finding, AgentId id) {
  add(std::move(finding), id);
  throw StopRun();
}

void Engine::Impl::flush_repeats() {
  for (Told& t : told) {
    if (t.again == 0) continue;
    Finding more = t.finding;
    more.repeats = t.again - 1;
    sink.add(std::move(more));
  }
  told.clear();
}

// ---- Races.

namespace {

// Whether two runs of the same decisions mean the same event.
bool is_same(const Event& a, const Event& b) {
  return a.write == b.write && a.agent == b.agent && a.time == b.time && a.actor == b.actor && a.dma == b.dma &&
         a.at == b.at && a.base == b.base && a.box == b.box && a.step == b.step;
}

bool is_for(const Watch& w, const Event& earlier, const Event& later) {
  return w.in(*earlier.buffer) && is_same(w.earlier, earlier) && is_same(w.later, later);
}

}  // namespace

bool Watch::in(const Buffer& b) const { return b.device == device && b.core == core && b.name == buffer; }

const Event* Engine::Impl::exact(const Event& earlier, const Event& later) const {
  if (!earlier.several) return nullptr;
  for (const Watch& w : hindsight->watches)
    if (w.found && is_for(w, earlier, later)) return &*w.found;
  return nullptr;
}

void Engine::Impl::watch_for(const Event& earlier, const Event& later, const Box& within) {
  for (const Watch& w : hindsight->watches)
    if (is_for(w, earlier, later)) return;
  const Buffer& b = *earlier.buffer;
  hindsight->watches.push_back({earlier, later, within, b.name, b.device, b.core, false, {}});
  learnt = true;
}

void Engine::Impl::watch(const Event& event) {
  for (Watch& w : hindsight->watches) {
    const Event& e = w.earlier;
    if (!w.armed || e.agent != event.agent || e.time != event.time || e.also.time != event.also.time ||
        e.actor != event.actor || e.write != event.write || (e.dma == 0) != (event.dma == 0) || !(e.at == event.at) ||
        !(e.base == event.base) || !w.in(*event.buffer))
      continue;
    Event place = w.later;
    place.box = w.within;
    if (share_element(place, event)) w.found = event;
  }
}

void Engine::Impl::report_race(const Event& earlier_in, const Event& later, Order order, const Box* within) {
  const Kind kind = order == Order::by_message_order ? Kind::relies_on_message_order : Kind::race;
  // Schedules keep the order of messages, so what follows from it happens in no other order.
  if (kind == Kind::race) {
    independent = false;
    if (earlier_in.merged_in >= 0 && later.copy) trace.add_race(earlier_in.merged_in, later.copy->started_in);
    if (!earlier_in.dma && !later.dma) trace.miss("loads and stores of two cores race");
  }
  const std::string& buffer = later.buffer->name;
  if (tell_again(kind, later.at, earlier_in.at, buffer)) return;
  const Event* const found = exact(earlier_in, later);
  if (!found && earlier_in.several) watch_for(earlier_in, later, within ? *within : later.box);
  const Event& earlier = found ? *found : earlier_in;

  const std::string second = later.dma                         ? tilecheck::name_of(later)
                             : later.step.empty() || !single() ? who(later.actor) + where(later.step)
                                                               : where(later.step).substr(2);
  const std::string first = earlier.dma ? tilecheck::name_of(earlier) : who(earlier.actor);
  const bool self = later.dma && later.dma == earlier.dma;
  std::string message = second + (later.write ? " writes " : " reads ") + in_buffer(later) + " while " +
                        (self ? "it" : first) + " may still be " + (earlier.write ? "writing" : "reading") +
                        (self ? " the same bytes" : " it");
  if (kind == Kind::relies_on_message_order) message += ", unless messages between two devices arrive in order";
  // A payload need not say where its windows come from.
  Finding f = Finding::make(kind, std::move(message), later.at.known() ? later.at : earlier.at);
  f.buffer = buffer;
  f.range = range_of(later);
  f.step = later.step;
  f.labels.push_back({later.at, describe(later) + "; no wait orders them"});
  f.labels.push_back({earlier.at, describe(earlier)});
  if (kind == Kind::relies_on_message_order) f.labels[0].text = describe(later);

  // The wait that does not do what it seems to.
  const Copy* copy = earlier.copy;
  const Semaphore* s = copy ? (earlier.write || !copy->sent ? copy->done : copy->sent) : nullptr;
  const bool waited = s && s->waited_at.known() && s->waited > 0 && !s->items.empty();
  if (waited) {
    const std::vector<std::string> sharing = copies_on(*s);
    f.labels.push_back({s->waited_at, "takes " + amount_on(*s, s->waited_amount) + " from " + name_of(*s) + ", where " +
                                          list(sharing) + (sharing.size() == 1 ? " adds " : " add ") +
                                          amount_on(*s, s->added) + ": guarantees " +
                                          (sharing.size() == 1   ? "nothing"
                                           : sharing.size() == 2 ? "neither"
                                                                 : "none of them")});
  }
  if (kind == Kind::relies_on_message_order) {
    f.helps.push_back("give each message in flight its own receive semaphore, or its own slot");
    f.notes.push_back(
        "nothing documents that remote copies between two cores arrive in order; "
        "--remote-order none makes this a race");
  } else if (self) {
    f.helps.push_back("copy through a second buffer: the source and destination of one copy must not overlap");
  } else if (waited && s->items.size() > 1) {
    f.helps.push_back(
        "one semaphore per slot, so that a wait tells its copy from the others, or wait for all of them first");
  } else if (waited) {
    f.helps.push_back("wait for all " + amount_on(*s, s->added) + " of " + first);
  } else if (s) {
    f.helps.push_back("wait for " + first + " on " + name_of(*s) + " before this " +
                      (later.dma     ? "copy is started"
                       : later.write ? "store"
                                     : "load"));
  } else if (earlier.dma && earlier.actor == later.actor) {
    f.helps.push_back("wait for " + first + " before this " +
                      (later.dma     ? "copy is started"
                       : later.write ? "store"
                                     : "load"));
  } else {
    f.helps.push_back("have " + who(earlier.actor) + " signal " + who(later.actor) + " when it is done with " + buffer +
                      ", and wait for that signal first");
  }
  add(std::move(f), later.actor);
}

void Engine::Impl::report_dead(const Buffer& buffer, const std::string& what, AgentId id, Loc at) {
  Finding f = Finding::make(Kind::use_after_scope, what + " uses " + buffer.name + ", whose scope has ended", at);
  f.buffer = buffer.name;
  f.labels.push_back({at, what + " by " + who(id) + where(step_of(id))});
  if (buffer.allocated_at.known()) f.labels.push_back({buffer.allocated_at, buffer.name + " was allocated here"});
  f.helps.push_back("use it inside the scope only, or allocate it as scratch of the kernel");
  stop(std::move(f), id);
}

// ---- Ends.

void Engine::Impl::report_not_awaited(Copy& copy, bool write, const std::string& end, AgentId id, Loc at) {
  if (write ? copy.reported_written : copy.reported_read) return;
  (write ? copy.reported_written : copy.reported_read) = true;
  if (!copy.remote) copy.reported_read = copy.reported_written = true;
  const Event& event = write ? copy.destination : copy.source;
  if (tell_again(Kind::dma_not_awaited, copy.at(), at, event.buffer->name)) return;
  const Semaphore* s = write || !copy.sent ? copy.done : copy.sent;
  const bool scope = at.known();
  Finding f = Finding::make(
      Kind::dma_not_awaited,
      scope ? end + " ends while " + tilecheck::name_of(event) + " may still be " + (write ? "writing " : "reading ") +
                  in_buffer(event)
            : tilecheck::name_of(event) + (copy.remote ? (write ? " is never waited for where it arrives"
                                                                : " is never waited for where it was sent")
                                                       : " is never waited for"),
      copy.at());
  if (options.disable_semaphore_checks) f.severity = Severity::warning;
  f.buffer = event.buffer->name;
  f.range = range_of(event);
  f.step = event.step;
  f.labels.push_back({copy.at(), describe(event)});
  if (scope) f.labels.push_back({at, end + " ends here"});
  if (s)
    f.helps.push_back("wait on " + name_of(*s) + " for its " + amount_on(*s, s->dma ? copy.bytes : 1) + " before " +
                      end + " ends");
  add(std::move(f), copy.agent);
  (void)id;
}

void Engine::Impl::check_drained(Semaphore& s, const std::string& end, AgentId id, Loc at) {
  if (s.adopted) return;
  int64_t left = s.added - s.waited;
  if (left == 0) return;
  if (s.waited <= 0) {
    // Nothing was taken of what the copies add.
    for (Item* item : s.items) {
      if (!item->copy) continue;
      report_not_awaited(*item->copy, !item->sent, end, id, at);
      left -= item->amount;
    }
    if (left == 0) return;
  }
  if (tell_again(Kind::semaphore_not_drained, s.produced_at, Loc{}, s.buffer->name)) return;
  Finding f =
      Finding::make(Kind::semaphore_not_drained,
                    name_of(s) + " still holds " + amount_on(s, left) + " when " + end + " ends", s.produced_at);
  if (options.disable_semaphore_checks) f.severity = Severity::warning;
  f.buffer = s.buffer->name;
  std::string text = s.last_producer >= 0 ? who(s.last_producer) + " added to it last, here" : "";
  const std::vector<std::string> from = copies_on(s);
  if (s.waited > 0 && !from.empty())
    text = list(from) + (from.size() == 1 ? " adds " : " add ") + amount_on(s, s.added) + ", and only " +
           amount_on(s, s.waited) + " were waited for";
  f.labels.push_back({s.produced_at, text});
  f.helps.push_back("wait for " + amount_on(s, left) + " more, or " + (from.empty() ? "signal less" : "copy less"));
  f.notes.push_back("the chip halts when a kernel leaves a semaphore that is not zero");
  add(std::move(f), s.last_producer >= 0 ? s.last_producer : id);
}

void Engine::Impl::finish() {
  std::vector<Semaphore*> all;
  for (auto& [buffer, elements] : semaphores)
    for (auto& s : elements)
      if (s) all.push_back(s.get());
  std::sort(all.begin(), all.end(), [](const Semaphore* a, const Semaphore* b) { return a->index < b->index; });
  for (Semaphore* s : all) check_drained(*s, "the kernel", s->waiter >= 0 ? s->waiter : 0, Loc{});
}

// ---- Deadlocks.

std::string Engine::Impl::describe_wait(AgentId id) {
  const Agent& a = agent(id);
  if (a.at_entry) return who(id) + " waits for all devices to enter the kernel";
  const Semaphore& s = *a.waiting;
  std::string text = who(id) + " waits for " + amount_on(s, a.needs) + " on " + name_of(s) + where(step_of(id)) +
                     "; it has " + amount_on(s, s.count);
  if (s.unmoved > 0) text += ", and copies in flight bring " + amount_on(s, s.unmoved);
  if (!s.ever_added) return text + (s.dma ? "; no copy on it was ever started" : "; nobody has ever signalled it");
  if (s.last_producer < 0) return text;
  text += "; " + who(s.last_producer) + " added to it last";
  if (s.last_producer == id) return text + ", itself";
  const Agent& producer = agent(s.last_producer);
  return text + (producer.done ? ", and has ended" : ", and waits too");
}

void Engine::Impl::deadlock() {
  std::vector<AgentId> waiters;
  bool ended = false, collective = false;
  for (AgentId id = 0; id < static_cast<AgentId>(agents.size()); ++id) {
    const Agent& a = agent(id);
    ended = ended || a.done;
    if (a.done || !(a.at_entry || a.waiting)) continue;
    waiters.push_back(id);
    collective = collective || a.at_entry || a.waiting->barrier;
  }
  const AgentId first_id = waiters.front();
  const Agent& first = agent(first_id);
  const bool without_start = single() && first.waiting->dma;
  const Kind kind = without_start         ? Kind::wait_without_start
                    : collective && ended ? Kind::collective_mismatch
                                          : Kind::deadlock;
  std::string message;
  if (without_start) {
    const Semaphore& s = *first.waiting;
    message = "a wait for " + amount_on(s, first.needs) + " on " + name_of(s) +
              (s.count + s.unmoved == 0 ? ", but no copy on it is in flight"
                                        : ", but copies on it bring only " + amount_on(s, s.count + s.unmoved));
  } else if (waiters.size() == 1) {
    message = who(first_id) + " waits for ever" + (agents.size() > 1 ? ", and all others have ended" : "");
  } else {
    message = std::to_string(waiters.size()) + " of " + std::to_string(agents.size()) +
              " cores wait for ever, each for another";
    if (ended) message += " or for one that has ended";
  }
  Finding f = Finding::make(kind, message, first.waiting_at);
  if (first.waiting) f.buffer = first.waiting->buffer->name;
  for (const AgentId id : waiters) f.labels.push_back({agent(id).waiting_at, describe_wait(id)});
  if (single() && !without_start) f.labels[0].text += "; nothing else runs that could signal it";
  for (size_t i = 0; i < agents.size(); ++i)
    if (agents[i].done && agents.size() > 1) f.notes.push_back(who(static_cast<AgentId>(i)) + " has ended");
  if (without_start) {
    f.helps.push_back("start the copy before this wait, on the same semaphore and of the same size");
  } else if (kind == Kind::collective_mismatch) {
    f.helps.push_back("every device must signal the barrier as often as its neighbours wait for");
  } else if (single()) {
    f.helps.push_back("signal " + name_of(*first.waiting) + " before this wait, or wait for less");
  } else {
    f.helps.push_back("signal what the first waiter needs before its partner waits; check the neighbour's id");
  }
  stop(std::move(f), first_id);
}

}  // namespace tilecheck
