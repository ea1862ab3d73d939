// Who runs: agents in turn, each until it has to wait; and what is chosen where the schedule decides.
#include <algorithm>
#include <cassert>

#include "sim/sync/state.h"
#include "sim/types/error.h"

namespace tilecheck {
namespace {

constexpr size_t kMaxAlternatives = 4096;  // of one run

// Whether the outcome depends on which of two copies in flight moves first.
bool conflict(const Copy& a, const Copy& b) {
  const auto meet = [](const Event& x, const Event& y) { return x.buffer == y.buffer && share_element(x, y); };
  return meet(a.destination, b.destination) || meet(a.destination, b.source) || meet(a.source, b.destination);
}

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
  next_agent = 0;
  if (chooser.decides()) {
    list_choices(0);
    next_agent = static_cast<AgentId>(choices[chooser.choose(choices, 0, 0)].subject);
    for (Agent& a : agents) a.point = 0;
  }
  while (true) {
    AgentId id = next_agent;
    next_agent = -1;
    if (id < 0 && !stopping) {
      // The next in turn that can go on.
      for (AgentId i = 1; i <= n && id < 0; ++i) {
        const AgentId candidate = (running + i) % n;
        if (can_become_ready(agent(candidate))) id = candidate;
      }
    } else if (id < 0) {
      for (AgentId i = 0; i < n && id < 0; ++i)
        if (!agent(i).done) id = i;
    }
    if (id < 0) {
      const bool all_done = std::all_of(agents.begin(), agents.end(), [](const Agent& a) { return a.done; });
      if (all_done) break;
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
  while (s.count < amount) {
    if (chooser.decides()) {
      if (take_choice(id) != Turn::nobody) continue;
    } else if (bring(s, amount)) {
      break;
    }
    if (single()) deadlock();
    yield(id);
  }
  me.waiting = nullptr;
}

// Nobody goes on before everybody is here.
void Engine::Impl::enter_together(AgentId id) {
  if (single()) return;
  agent(id).at_entry = true;
  const bool all = std::all_of(agents.begin(), agents.end(), [](const Agent& a) { return a.at_entry; });
  if (!all) {
    while (agent(id).at_entry) yield(id);
    return;
  }
  Knowledge together = agent(id).known;
  for (const Agent& a : agents) together.join(a.known);
  for (size_t i = 0; i < agents.size(); ++i) {
    agents[i].known = together;
    advance(static_cast<AgentId>(i));
    agents[i].at_entry = false;
  }
  if (chooser.decides()) point(id);
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

Engine::Impl::Turn Engine::Impl::take_choice(AgentId id) {
  list_choices(id);
  if (choices.empty()) return Turn::nobody;
  const auto index_of = [&](const Choice& c) {
    const auto found = std::find(choices.begin(), choices.end(), c);
    return found == choices.end() ? choices.size() : static_cast<size_t>(found - choices.begin());
  };
  Agent& me = agent(id);
  const auto copy_for = [&](const Agent& a, bool youngest) {
    Copy* c = next_for(*a.waiting, youngest);
    if (!c) return choices.size();
    // What must be delivered before it comes first.
    if (a.waiting != c->sent || c->read_done) c = &first_to_move(*c);
    return index_of({Choice::What::copy, c->id});
  };
  // What lazy does: go on; else bring what this agent waits for; else the next in turn.
  size_t lazy = choices.size();
  if (ready(me)) lazy = index_of({Choice::What::agent, id});
  const auto n = static_cast<AgentId>(agents.size());
  for (AgentId i = 0; i < n && lazy == choices.size(); ++i) {
    const AgentId other = (id + i) % n;
    Agent& a = agent(other);
    if (ready(a)) {
      lazy = index_of({Choice::What::agent, other});
    } else if (a.waiting && can_become_ready(a)) {
      lazy = copy_for(a, false);
    }
  }
  if (lazy == choices.size()) return Turn::nobody;  // the pending copies help nobody
  size_t policy = lazy;
  if (options.schedule.kind == ScheduleSpec::Kind::eager || options.schedule.kind == ScheduleSpec::Kind::torn) {
    const auto what = options.schedule.kind == ScheduleSpec::Kind::eager ? Choice::What::copy : Choice::What::piece;
    for (size_t i = 0; i < choices.size(); ++i)
      if (choices[i].what == what) {
        policy = i;
        break;
      }
  } else if (options.schedule.kind == ScheduleSpec::Kind::lifo && choices[lazy].what == Choice::What::copy &&
             me.waiting) {
    policy = copy_for(me, true);
    if (policy == choices.size()) policy = lazy;
  }
  const size_t chosen = choices.size() == 1 ? 0 : chooser.choose(choices, lazy, policy);
  const Choice choice = choices[chosen];
  const int64_t here = choices.size() == 1 ? me.point : chooser.points() - 1;
  if (choice.what == Choice::What::agent) {
    if (choice.subject != id) {
      next_agent = static_cast<AgentId>(choice.subject);
      yield(id);
      me.point = chooser.points() - 1;  // the decision that gave it the turn
    } else {
      me.point = here;
    }
    return Turn::mine;
  }
  // Copies in flight that conflict with the one that moves could move first.
  if (options.record_decisions) {
    const Copy& c = pending_copy(choice.subject);
    for (Copy* d = pending_first; d; d = d->next)
      if (d != &c && conflict(c, *d) && !d->follows(c)) copy_could_move(here, *d);
  }
  perform(choice);
  return Turn::again;
}

void Engine::Impl::could_be(int64_t at_point, Choice::What what, int64_t subject) {
  if (!options.record_decisions || at_point < 0) return;
  if (alternatives.size() >= kMaxAlternatives) {
    too_many_alternatives = true;
    return;
  }
  const Decision d{at_point, {what, subject}};
  if (std::find(alternatives.begin(), alternatives.end(), d) == alternatives.end()) alternatives.push_back(d);
}

void Engine::Impl::copy_could_move(int64_t at_point, Copy& copy) {
  if (options.record_decisions) could_be(at_point, Choice::What::copy, first_to_move(copy).id);
}

void Engine::Impl::point_of_access(AgentId id, const Event& event) {
  const auto meets_pending = [&] {
    if (!event.buffer->history) return false;
    bool meets = false;
    for (const Event* earlier : event.buffer->history->events) {
      if (!earlier->copy || !(earlier->write || event.write)) continue;
      if (earlier->write ? earlier->copy->write_done : earlier->copy->read_done) continue;
      if (order_of(*earlier, event, agent(id).known) == Order::ordered || !share_element(*earlier, event)) continue;
      copy_could_move(chooser.points(), *earlier->copy);
      meets = true;
    }
    return meets;
  };
  while (meets_pending() && take_choice(id) == Turn::again) {
  }
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

void Engine::Impl::point(AgentId id) {
  while (take_choice(id) == Turn::again) {
  }
}

}  // namespace tilecheck
