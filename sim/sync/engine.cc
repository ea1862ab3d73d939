// What cores call.
#include "sim/sync/engine.h"

#include <algorithm>
#include <cassert>
#include <limits>

#include "sim/sync/state.h"
#include "sim/types/error.h"

namespace tilecheck {
namespace {

// Copies in flight, and additions to one semaphore that nobody took: beyond these a kernel only leaks. A copy takes
// about 3 KiB, and 16 B for each core: 0.8 GiB on one core, 1.8 GiB on 256.
constexpr int64_t kMaxInFlight = 1 << 18;
constexpr size_t kMaxItems = 1 << 20;
// Reads of one semaphore without anything in between, while nothing else can happen.
constexpr int64_t kMaxPolls = 100000;

}  // namespace

SemRef semaphore_of(const Ref& ref) {
  if (!ref.has_value() || !is_semaphore(ref.buffer->dtype) || ref.element_count() != 1)
    throw InputError(to_string(ref), "expected a Ref that shows exactly one semaphore");
  const Shape base = ref.buffer_base();
  const Box box = ref.buffer_box();
  const Dims strides = row_major_strides(base);
  int64_t element = 0;
  for (int d = 0; d < base.rank(); ++d) {
    if (box[d].lo < 0 || box[d].lo >= base[d])
      throw InputError(to_string(ref), "there is no such semaphore: its array has shape " + to_tuple(base));
    element += box[d].lo * strides[d];
  }
  return {ref.buffer, element};
}

std::shared_ptr<Hindsight> make_hindsight() { return std::make_shared<Hindsight>(); }

Engine::Impl::Impl(const EngineOptions& options_in, FindingSink& sink_in)
    : options(options_in),
      sink(sink_in),
      chooser(options_in.schedule, options_in.seed, options_in.record_decisions || options_in.find_alternatives),
      hindsight(options_in.hindsight ? options_in.hindsight : make_hindsight()) {
  for (Watch& watch : hindsight->watches) {
    watch.armed = true;
    watch.found.reset();
  }
}

Engine::Engine(const EngineOptions& options, FindingSink& findings)
    : impl_(std::make_unique<Impl>(options, findings)) {}
Engine::~Engine() = default;

AgentId Engine::add_agent(const AgentState& state) {
  Impl& e = *impl_;
  assert(!e.started);
  e.agents.emplace_back().state = state;
  several_ = e.agents.size() > 1;
  return static_cast<AgentId>(e.agents.size()) - 1;
}

void Engine::set_translate(Translate translate) { impl_->translate = std::move(translate); }
void Engine::add_barrier_semaphore(const Buffer& buffer) { impl_->barriers.push_back(&buffer); }

bool Engine::run(std::span<const std::function<void()>> bodies) {
  Impl& e = *impl_;
  assert(!e.started && bodies.size() == e.agents.size());
  e.started = true;
  const int n = static_cast<int>(e.agents.size());
  for (AgentId id = 0; id < n; ++id) {
    e.agent(id).known.resize(n);
    e.agent(id).known.set(id, 1);
  }
  if (e.options.find_alternatives) e.trace.turn_on(e.agents.size());
  return e.run(bodies);
}

AgentId Engine::Impl::find_agent(AgentId from, const Peer& peer, const char* what, Loc at) {
  const AgentState& own = agent(from).state;
  const int device = peer.device.value_or(own.device), core = peer.core.value_or(own.core);
  int devices = 0, cores = 0;
  for (size_t i = 0; i < agents.size(); ++i) {
    const AgentState& a = agents[i].state;
    if (a.device == device && a.core == core) return static_cast<AgentId>(i);
    devices = std::max(devices, a.device + 1);
    cores = std::max(cores, a.core + 1);
  }
  Finding f = Finding::make(Kind::collective_mismatch,
                            std::string(what) + " device " + std::to_string(device) + ", core " + std::to_string(core) +
                                ", which does not exist",
                            at);
  f.labels.push_back({at, "there are " + std::to_string(devices) + " devices of " + std::to_string(cores) +
                              (cores == 1 ? " core" : " cores")});
  f.helps.push_back("take the neighbour's id modulo the number of devices, or run with more devices or cores");
  stop(std::move(f), from);
}

// ---- Records.

Copy* Engine::Impl::new_copy() {
  Copy* copy = free_copies;
  if (copy) {
    free_copies = copy->next;
  } else {
    copy = &copy_store.emplace_back();
  }
  copy->read.clear();
  copy->written.clear();
  copy->twins.clear();
  copy->done = copy->sent = nullptr;
  copy->remote = copy->reported_read = copy->reported_written = copy->read_done = copy->write_done = false;
  copy->piece = 0;
  copy->started_in = copy->read_in = copy->written_in = -1;
  copy->message = copy->followed_from = 0;
  copy->done_item = copy->sent_item = nullptr;
  copy->previous = copy->next = nullptr;
  copy->uses = 0;
  ++in_flight;
  return copy;
}

void Engine::Impl::release(Copy& copy) {
  if (--copy.uses > 0) return;
  if (copy.message > 0) leave_channel(copy);
  copy.next = free_copies;
  free_copies = &copy;
  --in_flight;
}

Item* Engine::Impl::new_item() {
  Item* item;
  if (free_items.empty()) {
    item = &item_store.emplace_back();
  } else {
    item = free_items.back();
    free_items.pop_back();
  }
  item->number = ++items_made;
  return item;
}

void Engine::Impl::free_item(Item* item) {
  if (item->copy) {
    (item->sent ? item->copy->sent_item : item->copy->done_item) = nullptr;
    release(*item->copy);
  }
  item->copy = nullptr;
  item->sent = false;
  item->given = Guarantee::none;
  item->number = 0;
  item->of_semaphore = item->of_unmoved = {};
  item->next_signal = nullptr;
  item->sent_before_followers = -1;
  free_items.push_back(item);
}

Semaphore& Engine::Impl::semaphore(const SemRef& ref) {
  auto found = semaphores.find(ref.buffer);
  if (found == semaphores.end()) {
    if (spare_semaphores.empty()) {
      found = semaphores.try_emplace(ref.buffer).first;
    } else {
      spare_semaphores.back().key() = ref.buffer;
      found = semaphores.insert(std::move(spare_semaphores.back())).position;
      spare_semaphores.pop_back();
    }
    found->second.resize(static_cast<size_t>(std::max<int64_t>(1, element_count(ref.buffer->shape))));
  }
  auto& s = found->second[static_cast<size_t>(ref.element)];
  if (!s) {
    s = std::make_unique<Semaphore>();
    s->buffer = ref.buffer;
    s->element = ref.element;
    s->index = semaphores_made++;
    s->dma = ref.buffer->dtype == DType::dma_semaphore;
    if (!single())
      if (const auto place = scope_places.find(ref.buffer); place != scope_places.end())
        s->visits = place->second.visits;
    s->barrier = std::find(barriers.begin(), barriers.end(), ref.buffer) != barriers.end();
  }
  return *s;
}

SemRef Engine::Impl::translated(const SemRef& ref, AgentId target) {
  if (!ref.has_value() || !translate) return ref;
  const AgentState& there = agent(target).state;
  Buffer* buffer = translate(Ref::whole(*ref.buffer), there.device, there.core).buffer;
  if (const auto here = scope_places.find(ref.buffer); here != scope_places.end())
    scope_places[buffer].position = here->second.position;
  return {buffer, ref.element};
}

SemaphoreId Engine::Impl::id_of(const Semaphore& s) const {
  const Buffer& b = *s.buffer;
  const auto place = scope_places.find(&b);
  return {b.device,
          b.core,
          b.name,
          b.allocated_at.file,
          b.allocated_at.line,
          b.allocated_at.column,
          place == scope_places.end() ? 0 : place->second.position,
          s.visits,
          s.element};
}

// ---- Copies.

CopyId Engine::start(AgentId id, const CopyRequest& request, Loc at) {
  Impl& e = *impl_;
  assert(request.done.has_value());
  Agent& me = e.agent(id);
  me.polled = nullptr;
  if (e.chooser.decides()) e.point(id, {});
  const CopyId number = ++e.copies;
  const bool remote = request.peer.device || request.peer.core;
  const AgentId target = remote ? e.find_agent(id, request.peer, "remote copy to", at) : id;
  for (const Ref* ref : {&request.source, &request.destination})
    if (!ref->buffer->alive) e.report_dead(*ref->buffer, "DMA #" + std::to_string(number), id, at);

  Copy& c = *e.new_copy();
  c.id = number;
  c.agent = id;
  c.target = target;
  c.remote = remote;
  c.request = request;
  if (target != id) {
    const AgentState& there = e.agent(target).state;
    if (e.translate) c.request.destination = e.translate(request.destination, there.device, there.core);
    c.request.done = e.translated(request.done, target);
  }
  c.bytes = request.destination.size_bytes();
  c.issued = me.known;
  if (e.trace.on()) c.started_in = e.trace.last_of(id);
  if (target != id) e.advance(id);
  for (Event* event : {&c.source, &c.destination}) {
    event->copy = &c;
    event->agent = event->actor = id;
    event->dma = number;
    event->pipeline = request.pipeline;
    event->label = request.label;
    event->at = at;
    if (me.state.step) {
      event->step = *me.state.step;
    } else {
      event->step.clear();
    }
  }
  c.source.write = false;
  c.source.cover(c.request.source);
  c.destination.write = true;
  c.destination.cover(c.request.destination);
  if (c.bytes == 0) {  // legal, and over at once
    e.use(c);
    e.release(c);
    return number;
  }
  if (remote && target != id) e.join_channel(c);

  if (e.options.check_races) {
    e.check(c.source, c.issued);
    e.check(c.destination, c.issued);
    if (c.source.buffer == c.destination.buffer && !same_elements(c.source, c.destination) &&
        share_element(c.source, c.destination))
      e.report_race(c.source, c.destination, Order::unordered);
    if (e.agent(target).state.device != me.state.device)
      e.check_entry(id, target, "DMA #" + std::to_string(number) + " writes", *c.destination.buffer, at);
    if (target != id) e.check_scope(c);
    e.attach(c.source);
    e.attach(c.destination);
  }

  c.done = &e.semaphore(c.request.done);
  Item* item = e.new_item();
  item->copy = &c;
  item->agent = id;
  item->amount = c.done->dma ? c.bytes : 1;
  item->partial = e.options.atomic_progress || !c.done->dma ? 0 : c.bytes - 1;
  item->at = at;
  c.done->unmoved += item->amount;
  e.add_item(*c.done, item, c.issued);
  if (remote && request.sent.has_value()) {
    c.sent = &e.semaphore(request.sent);
    Item* sent = e.new_item();
    sent->copy = &c;
    sent->sent = true;
    sent->agent = id;
    sent->amount = c.sent->dma ? c.bytes : 1;
    sent->partial = e.options.atomic_progress || !c.sent->dma ? 0 : c.bytes - 1;
    sent->at = at;
    c.sent->unmoved += sent->amount;
    e.add_item(*c.sent, sent, c.issued);
  }
  e.add_pending(c);
  if (e.in_flight > kMaxInFlight)
    throw Incomplete("more than " + std::to_string(kMaxInFlight) + " copies that not every core knows to be over, at " +
                     to_string(at));
  if (!e.chooser.decides()) {
    if (e.options.schedule.kind == ScheduleSpec::Kind::eager) e.move(c);
    if (e.options.schedule.kind == ScheduleSpec::Kind::torn) e.tear();
  }
  return number;
}

void Engine::wait_copy(AgentId agent, SemRef semaphore, int64_t bytes, Loc at) { wait(agent, semaphore, bytes, at); }

void Engine::wait(AgentId id, SemRef ref, int64_t amount, Loc at) {
  Impl& e = *impl_;
  e.agent(id).polled = nullptr;
  if (amount == 0) return;
  if (!ref.buffer->alive) e.report_dead(*ref.buffer, "a wait", id, at);
  if (amount < 0) {
    Finding f = Finding::make(Kind::semaphore_misuse, "a wait for " + std::to_string(amount), at);
    f.helps.push_back("wait for a positive amount");
    e.stop(std::move(f), id);
  }
  Semaphore& s = e.semaphore(ref);
  e.claim(id, s, "waits on", at);
  if (e.options.schedule.kind == ScheduleSpec::Kind::torn && !e.chooser.decides()) e.tear();
  if (s.count < amount || e.chooser.decides()) e.block(id, s, amount, at);
  s.count -= amount;
  s.waited += amount;
  s.waited_at = at;
  s.waited_amount = amount;
  e.settle_wait(id, s);
}

// A core has its own semaphores, and instructions that wait for or read one name it there (machine-rules 11).
void Engine::Impl::claim(AgentId id, Semaphore& s, const char* what, Loc at) {
  if (s.waiter == -1) s.waiter = id;
  if (s.waiter == id) return;
  Finding f = Finding::make(Kind::semaphore_misuse,
                            who(id) + " " + what + " " + name_of(s) + ", which is " + who(s.waiter) + "'s", at);
  f.buffer = s.buffer->name;
  f.labels.push_back({at, who(id) + where(step_of(id))});
  if (s.waited_at.known()) f.labels.push_back({s.waited_at, who(s.waiter) + " waits on it here"});
  f.helps.push_back("give each core a semaphore of its own, and signal that of the core that waits");
  f.notes.push_back("a core can wait for, and read, its own semaphores only");
  stop(std::move(f), id);
}

// ---- Regular semaphores.

void Engine::signal(AgentId id, SemRef ref, int64_t amount, Peer peer, Loc at) {
  Impl& e = *impl_;
  Agent& me = e.agent(id);
  me.polled = nullptr;
  if (amount == 0) return;
  AgentId target = id;
  if (peer.device || peer.core) {
    target = e.find_agent(id, peer, "signal to", at);
    if (target != id) ref = e.translated(ref, target);
  }
  if (e.chooser.decides()) e.point(id, {Operation::How::add, ref});
  // A scoped semaphore of another core is there before and after its scope (machine-rules 20).
  if (!ref.buffer->alive && target == id) e.report_dead(*ref.buffer, "a signal", id, at);
  Semaphore& s = e.semaphore(ref);
  if (amount < 0 || s.dma) {
    Finding f = Finding::make(Kind::semaphore_misuse,
                              s.dma ? "a signal to a DMA semaphore, " + e.name_of(s)
                                    : "a signal of " + std::to_string(amount) + " to " + e.name_of(s),
                              at);
    f.helps.push_back(s.dma ? "signal a regular semaphore; only copies add to DMA semaphores"
                            : "signal a positive amount");
    e.stop(std::move(f), id);
  }
  // A semaphore that came as an operand was there before the kernel.
  if (e.options.check_races && !s.barrier && !s.adopted && e.agent(target).state.device != me.state.device)
    e.check_entry(id, target, "signal to", *s.buffer, at);
  Item* item = e.new_item();
  item->agent = id;
  item->amount = amount;
  item->partial = 0;
  item->known = me.known;
  if (e.trace.on()) item->signalled_in = e.trace.last_of(id);
  item->at = at;
  if (me.state.step) {
    item->step = *me.state.step;
  } else {
    item->step.clear();
  }
  if (target != id) e.advance(id);
  s.count += amount;
  if (s.added + amount - s.waited > std::numeric_limits<int32_t>::max() || s.items.size() >= kMaxItems) {
    Finding f =
        Finding::make(Kind::semaphore_overflow,
                      e.name_of(s) + " may hold " + std::to_string(s.added + amount - s.waited) + " signals", at);
    f.buffer = s.buffer->name;
    f.labels.push_back({at, "a signal of " + std::to_string(amount) + " that nothing has waited for yet"});
    f.notes.push_back("a count is 32 bits wide; Tilecheck stops after 1048576 signals that nobody took");
    f.helps.push_back("wait for earlier signals before sending more");
    e.free_item(item);
    e.stop(std::move(f), id);
  }
  e.add_item(s, item, item->known);
}

int64_t Engine::read(AgentId id, SemRef ref, Loc at) {
  Impl& e = *impl_;
  Agent& me = e.agent(id);
  if (!ref.buffer->alive) e.report_dead(*ref.buffer, "a read", id, at);
  Semaphore& s = e.semaphore(ref);
  e.claim(id, s, "reads", at);
  const bool again = me.polled == &s;
  if (e.chooser.decides()) e.point(id, {Operation::How::look, ref});
  // Whoever reads again waits for something: let it happen.
  if (again) {
    me.waiting_at = at;
    if (!e.chooser.decides()) {
      if (s.unmoved > 0) {
        e.bring(s, s.count + 1);
      } else if (!e.single()) {
        e.yield(id);
      }
    }
    ++me.idle_polls;
    if (++me.polls > kMaxPolls) {
      me.waiting = &s;
      me.needs = s.count + 1;
      e.deadlock();
    }
  } else {
    me.polled = &s;
    me.polls = me.idle_polls = 0;
  }
  // What it sees depends on the schedule unless all that may have been added is known.
  if (!s.items.empty()) e.independent = false;
  if (s.dma && !s.items.empty() && !e.options.atomic_progress)
    e.trace.miss("a DMA semaphore is read while copies may have added a part of their bytes");
  s.read_at = e.time(id);
  return s.count;
}

void Engine::access(AgentId agent, const Ref& ref, AccessKind kind, Loc at) {
  Impl& e = *impl_;
  if (!ref.buffer->alive) e.report_dead(*ref.buffer, kind == AccessKind::write ? "a store" : "a load", agent, at);
  if (!e.options.check_races) return;
  if (!several_ && !ref.buffer->history) return;
  e.record_access(agent, ref, kind == AccessKind::write, at);
}

void Engine::entry_barrier(AgentId id) { impl_->enter_together(id); }

int64_t Engine::final_count(SemRef semaphore) const { return impl_->semaphore(semaphore).count; }

bool Engine::judge_again() const { return impl_->learnt; }
std::string Engine::decisions() const { return to_string(impl_->chooser.decisions()); }
bool Engine::schedule_independent() const { return impl_->independent; }
bool Engine::followed_schedule() const { return impl_->chooser.followed(); }
std::vector<std::vector<std::string>> Engine::alternatives() const {
  return impl_->trace.alternatives(impl_->chooser.decisions(), impl_->options.reduce_alternatives);
}
std::string Engine::missed_orders() const {
  return followed_schedule() ? impl_->trace.missed() : "a run does not begin as the one before it";
}
int64_t Engine::copies_started() const { return impl_->copies; }
int64_t Engine::looked_at() const { return impl_->looked_at; }

}  // namespace tilecheck
