// Who runs: agents in turn, each until it has to wait; and what is chosen where the schedule decides.
#include <algorithm>
#include <cassert>

#include "sim/sync/state.h"
#include "sim/types/error.h"

namespace tilecheck {
namespace {

// Reads of one semaphore in a row by one agent while nothing else happens, where others could go on.
constexpr int64_t kMaxIdlePolls = 8;

}  // namespace

bool Engine::Impl::run(std::span<const std::function<void()>> bodies) {
  if (single()) {
    // On the caller's own stack, so that a debugger shows one thread of calls.
    running = 0;
    try {
      bodies[0]();
    } catch (const StopRun&) {
      stopping = true;
    } catch (...) {
      forget_buffers();
      throw;
    }
    agents[0].done = true;
  } else {
    run_fibers(bodies);
  }
  if (!stopping) {
    try {
      finish();
    } catch (const StopRun&) {
      stopping = true;
    }
  }
  close_trace();
  move_everything();
  flush_repeats();
  forget_buffers();
  return !stopping;
}

// Buffers may outlive the engine.
void Engine::Impl::forget_buffers() {
  for (AccessHistory& history : history_store)
    if (!history.events.empty()) history.events.front()->buffer->history = nullptr;
}

void Engine::Impl::run_fibers(std::span<const std::function<void()>> bodies) {
  for (size_t i = 0; i < agents.size(); ++i) agents[i].fiber = std::make_unique<Fiber>(bodies[i]);
  const auto n = static_cast<AgentId>(agents.size());
  std::exception_ptr error;
  while (true) {
    AgentId id = next_agent;
    next_agent = -1;
    if (id < 0 && !stopping) {
      id = next_in_turn();
    } else if (id < 0) {
      for (AgentId i = 0; i < n && id < 0; ++i)
        if (!agent(i).done) id = i;
    }
    if (id < 0) {
      const bool all_done = std::all_of(agents.begin(), agents.end(), [](const Agent& a) { return a.done; });
      if (all_done) break;
      close_trace();
      try {
        deadlock();
      } catch (const StopRun&) {
        stopping = true;
      }
      continue;
    }
    running = id;
    Agent& a = agent(id);
    if (stopping && !a.fiber->entered()) {
      a.done = true;
      continue;
    }
    a.fiber->resume();
    if (!a.fiber->done()) continue;
    a.done = true;
    if (!a.fiber->error()) continue;
    close_trace();
    stopping = true;
    next_agent = -1;
    try {
      std::rethrow_exception(a.fiber->error());
    } catch (const StopRun&) {
    } catch (...) {
      if (!error) error = std::current_exception();
    }
  }
  for (Agent& a : agents) a.fiber.reset();
  if (error) {
    forget_buffers();
    std::rethrow_exception(error);
  }
}

// That can go on; -1: nobody.
AgentId Engine::Impl::next_in_turn() {
  const auto n = static_cast<AgentId>(agents.size());
  if (!chooser.decides()) {
    for (AgentId i = 1; i <= n; ++i)
      if (const AgentId id = (running + i) % n; can_become_ready(agent(id))) return id;
    return -1;
  }
  while (const std::optional<Choice> choice = decide((running + 1) % n)) {
    if (choice->what == Choice::What::agent) return static_cast<AgentId>(choice->subject);
    perform(*choice);
  }
  return -1;
}

void Engine::Impl::yield(AgentId id) {
  assert(!single());
  agent(id).fiber->yield();
  if (stopping) throw StopRun();
}

bool Engine::Impl::ready(const Agent& a) const {
  if (a.done || a.at_entry) return false;
  return !a.waiting || a.waiting->count >= a.needs;
}

bool Engine::Impl::can_become_ready(Agent& a) {
  if (a.done || a.at_entry) return false;
  return !a.waiting || a.waiting->count + a.waiting->unmoved >= a.needs;
}

void Engine::Impl::block(AgentId id, Semaphore& s, int64_t amount, Loc at) {
  Agent& me = agent(id);
  me.waiting = &s;
  me.needs = amount;
  me.waiting_at = at;
  if (chooser.decides()) {
    me.next = {Operation::How::take, {s.buffer, s.element}};
    while (true) {
      const Turn turn = take_choice(id);
      if (turn == Turn::mine) break;
      if (turn == Turn::again) continue;
      if (single()) deadlock();
      yield(id);
    }
  } else {
    while (s.count < amount && !bring(s, amount)) {
      if (single()) deadlock();
      yield(id);
    }
  }
  me.waiting = nullptr;
}

// Nobody goes on before everybody is here.
void Engine::Impl::enter_together(AgentId id) {
  if (single()) return;
  agent(id).at_entry = true;
  const bool all = std::all_of(agents.begin(), agents.end(), [](const Agent& a) { return a.at_entry; });
  if (!all) {
    while (agent(id).at_entry)
      if (!chooser.decides() || take_choice(id) == Turn::nobody) yield(id);
    return;
  }
  Knowledge together = agent(id).known;
  for (const Agent& a : agents) together.join(a.known);
  for (size_t i = 0; i < agents.size(); ++i) {
    agents[i].known = together;
    advance(static_cast<AgentId>(i));
    agents[i].at_entry = false;
  }
  if (trace.on()) trace.join_agents();
  if (chooser.decides()) point(id, {});
}

// ---- Choices.

void Engine::Impl::list_choices(AgentId first) {
  choices.clear();
  const auto n = static_cast<AgentId>(agents.size());
  for (AgentId i = 0; i < n; ++i) {
    const AgentId id = (first + i) % n;
    if (ready(agent(id))) choices.push_back({Choice::What::agent, id});
  }
  for (const Copy* c = pending_first; c; c = c->next) {
    // A remote copy that must wait for another's delivery can still read its source.
    const bool must_wait = held_back(*c);
    if (must_wait && !(c->remote && !c->read_done)) continue;
    choices.push_back({Choice::What::copy, c->id});
    if (chooser.offers_pieces() && !must_wait && !c->read_done) choices.push_back({Choice::What::piece, c->id});
  }
}

Copy& Engine::Impl::pending_copy(int64_t id) {
  for (Copy* c = pending_first; c; c = c->next)
    if (c->id == id) return *c;
  assert(false);
  throw StopRun();
}

// The copy itself, or the oldest message that has to be delivered before it.
Copy& Engine::Impl::first_to_move(Copy& copy) {
  const std::vector<Copy*> before = held_back_by(copy);
  return before.empty() ? copy : first_to_move(*before.front());
}

size_t Engine::Impl::index_of(const Choice& choice) const {
  return static_cast<size_t>(std::find(choices.begin(), choices.end(), choice) - choices.begin());
}

size_t Engine::Impl::copy_for(Semaphore& s, bool youngest) {
  Copy* c = next_for(s, youngest);
  if (!c) return choices.size();
  // What must be delivered before it comes first.
  if (&s != c->sent || c->read_done) c = &first_to_move(*c);
  return index_of({Choice::What::copy, c->id});
}

bool Engine::Impl::is_polling(const Agent& a) const {
  return a.polled && a.next.how == Operation::How::look && a.next.semaphore.buffer == a.polled->buffer &&
         a.next.semaphore.element == a.polled->element;
}

// Go on; else bring what this agent waits for; else the next in turn. Who reads a semaphore again waits for it.
size_t Engine::Impl::lazy_choice(AgentId first, Semaphore*& served) {
  const auto n = static_cast<AgentId>(agents.size());
  const bool polls = ready(agent(first)) && is_polling(agent(first));
  if (polls && agent(first).polled->unmoved > 0) {
    served = agent(first).polled;
    if (const size_t copy = copy_for(*served, false); copy < choices.size()) return copy;
  }
  for (AgentId i = polls ? 1 : 0; i < (polls ? n + 1 : n); ++i) {
    const AgentId id = (first + i) % n;
    Agent& a = agent(id);
    size_t found = choices.size();
    if (ready(a)) {
      found = index_of({Choice::What::agent, id});
    } else if (a.waiting && can_become_ready(a)) {
      served = a.waiting;
      found = copy_for(*served, false);
    }
    if (found < choices.size()) return found;
  }
  return choices.size();
}

size_t Engine::Impl::policy_choice(size_t lazy, Semaphore* served) {
  using Schedule = ScheduleSpec::Kind;
  const Schedule kind = options.schedule.kind;
  if (kind == Schedule::eager || kind == Schedule::torn) {
    const auto what = kind == Schedule::eager ? Choice::What::copy : Choice::What::piece;
    for (size_t i = 0; i < choices.size(); ++i)
      if (choices[i].what == what) return i;
  }
  if (kind != Schedule::lifo || choices[lazy].what != Choice::What::copy) return lazy;
  const size_t youngest = copy_for(*served, true);
  return youngest < choices.size() ? youngest : lazy;
}

// Agents that only read one semaphore over and over go on when something else has happened, where it can.
void Engine::Impl::leave_out_idle_polls(AgentId first, size_t& lazy, Semaphore*& served) {
  const auto idles = [&](const Choice& c) {
    if (c.what != Choice::What::agent) return false;
    const Agent& a = agent(static_cast<AgentId>(c.subject));
    return a.idle_polls >= kMaxIdlePolls && is_polling(a);
  };
  if (std::none_of(choices.begin(), choices.end(), idles)) return;
  const std::vector<Choice> all = choices;
  std::erase_if(choices, idles);
  Semaphore* other_served = nullptr;
  if (const size_t other = lazy_choice(first, other_served); other < choices.size()) {
    lazy = other;
    served = other_served;
    trace.miss("a semaphore is read more than " + std::to_string(kMaxIdlePolls) +
               " times in a row while others could go on");
  } else {
    choices = all;
  }
}

std::optional<Choice> Engine::Impl::decide(AgentId first) {
  list_choices(first);
  Semaphore* served = nullptr;
  size_t lazy = lazy_choice(first, served);
  if (lazy == choices.size()) return std::nullopt;  // what copies are pending help nobody
  leave_out_idle_polls(first, lazy, served);
  const size_t chosen = choices.size() == 1 ? 0 : chooser.choose(choices, lazy, policy_choice(lazy, served));
  const Choice choice = choices[chosen];
  for (Agent& a : agents)
    if (choice.what != Choice::What::agent || &a != &agent(static_cast<AgentId>(choice.subject))) a.idle_polls = 0;
  if (trace.on()) record(choice, lazy);
  if (choice.what == Choice::What::agent) agent(static_cast<AgentId>(choice.subject)).next = {};
  return choice;
}

void Engine::Impl::record(const Choice& choice, size_t lazy) {
  const int64_t point = choices.size() == 1 ? -1 : chooser.points() - 1;
  if (choice.what == Choice::What::piece) trace.miss("copies move in parts");
  if (choice.what == Choice::What::agent) {
    const auto id = static_cast<AgentId>(choice.subject);
    trace.add_agent(id, agent(id).next, point, choices, lazy);
    return;
  }
  Copy& copy = pending_copy(choice.subject);
  const Trace::Step step = trace.add_copy(copy, point, choices, lazy);
  if (copy.written_in == step) deliver_in_order(copy, step);
}

// What everybody would do next when the run ends.
void Engine::Impl::close_trace() {
  if (!trace.on() || trace_closed) return;
  trace_closed = true;
  for (size_t i = 0; i < agents.size(); ++i)
    if (!agents[i].done) trace.add_unfinished(static_cast<AgentId>(i), agents[i].next);
  for (Copy* c = pending_first; c; c = c->next)
    if (const Trace::Step step = trace.add_unfinished(*c); c->read_done) deliver_in_order(*c, step);
}

Engine::Impl::Turn Engine::Impl::take_choice(AgentId id) {
  const std::optional<Choice> choice = decide(id);
  if (!choice) return Turn::nobody;
  if (choice->what != Choice::What::agent) {
    perform(*choice);
    return Turn::again;
  }
  if (choice->subject != id) {
    next_agent = static_cast<AgentId>(choice->subject);
    yield(id);
  }
  return Turn::mine;
}

void Engine::Impl::perform(const Choice& choice) {
  Copy& c = pending_copy(choice.subject);
  if (choice.what == Choice::What::piece) {
    move_piece(c);
  } else if (c.remote && !c.read_done && c.piece == 0) {
    move_source(c);
  } else {
    move(c);
  }
}

void Engine::Impl::point(AgentId id, const Operation& next) {
  agent(id).next = next;
  while (take_choice(id) != Turn::mine) {
  }
}

bool Engine::Impl::point_of_access(AgentId id, const Event& event) {
  if (!event.buffer->history) return false;
  for (const Event* earlier : event.buffer->history->events) {
    if (!earlier->copy || !(earlier->write || event.write)) continue;
    if (earlier->write ? earlier->copy->write_done : earlier->copy->read_done) continue;
    if (order_of(*earlier, event, agent(id).known) == Order::ordered || !share_element(*earlier, event)) continue;
    point(id, {.place = &event});
    return true;
  }
  return false;
}

}  // namespace tilecheck
