// The engine's insides, shared by its files: engine.cc (what cores call), order.cc (happens-before), messages.cc
// (remote copies), move.cc (bytes), turns.cc (who runs), explain.cc (findings).
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "sim/sync/chooser.h"
#include "sim/sync/engine.h"
#include "sim/sync/event.h"
#include "sim/sync/fiber.h"
#include "sim/sync/semaphore.h"
#include "sim/sync/trace.h"

namespace tilecheck {

// A race whose earlier side was several accesses in one: which of them it was is found in the next run, which does the
// same.
struct Watch {
  Event earlier, later;  // as this or an earlier run met them; their buffers may be gone
  Box within;            // elements of `later` that the access must have touched
  std::string buffer;
  int device = 0, core = 0;
  bool armed = false;  // asked for by an earlier run
  std::optional<Event> found;
  bool in(const Buffer& b) const;
};

struct Hindsight {
  std::map<SemaphoreId, LateItems> late;
  size_t items = 0;
  std::vector<Watch> watches;
};

struct Agent {
  AgentState state;
  Knowledge known;
  Semaphore* waiting = nullptr;  // blocked, or about to look
  int64_t needs = 0;
  Loc waiting_at;
  bool at_entry = false;  // in the entry barrier
  bool done = false;
  std::unique_ptr<Fiber> fiber;
  Operation next;  // what it does when it goes on
  // Reading the same semaphore over and over without anything else in between.
  Semaphore* polled = nullptr;
  int64_t polls = 0;
  int64_t idle_polls = 0;  // since anything else happened
};

struct Engine::Impl {
  Impl(const EngineOptions& options_in, FindingSink& sink_in);

  EngineOptions options;
  FindingSink& sink;
  Translate translate;
  std::vector<const Buffer*> barriers;
  Chooser chooser;
  std::deque<Agent> agents;
  bool started = false;
  bool stopping = false;
  CopyId copies = 0;
  int64_t in_flight = 0;
  int64_t looked_at = 0;
  bool independent = true;  // nothing unordered could have changed values or branches
  bool learnt = false;      // hindsight changed
  std::shared_ptr<Hindsight> hindsight;

  Agent& agent(AgentId id) { return agents[static_cast<size_t>(id)]; }
  bool single() const { return agents.size() == 1; }
  uint64_t time(AgentId id) { return agent(id).known.sure[id]; }
  // What the agent did so far is published with its clock; what it does next is not.
  void advance(AgentId id) { agent(id).known.set(id, time(id) + 1); }
  AgentId find_agent(AgentId from, const Peer& peer, const char* what, Loc at);
  Dims step_of(AgentId id) { return agent(id).state.step ? *agent(id).state.step : Dims{}; }

  // ---- Semaphores. Kept while their buffer lives.
  using Semaphores = std::unordered_map<const Buffer*, std::vector<std::unique_ptr<Semaphore>>>;
  Semaphores semaphores;
  std::vector<Semaphores::node_type> spare_semaphores;  // of scopes that ended
  size_t semaphores_made = 0;
  Semaphore& semaphore(const SemRef& ref);
  SemRef translated(const SemRef& ref, AgentId target);
  // Of buffers in scopes, with several agents: the place in the scope, and how many of its scopes have ended.
  struct ScopePlace {
    int position = 0;
    int64_t visits = 0;
  };
  std::unordered_map<const Buffer*, ScopePlace> scope_places;
  SemaphoreId id_of(const Semaphore& s) const;

  // ---- Records, recycled.
  std::deque<Copy> copy_store;
  Copy* free_copies = nullptr;
  std::deque<Item> item_store;
  std::vector<Item*> free_items;
  int64_t items_made = 0;
  std::deque<Event> event_store;
  std::vector<Event*> free_events;
  std::deque<AccessHistory> history_store;
  std::vector<AccessHistory*> free_histories;
  Copy* new_copy();
  void use(Copy& copy) { ++copy.uses; }
  void release(Copy& copy);
  Item* new_item();
  void free_item(Item* item);

  // ---- order.cc: what precedes what.
  void attach(Event& event);
  void detach(Event& event);
  void record_access(AgentId id, const Ref& ref, bool write, Loc at);
  // An access that is over, or a copy that is known to be: merged with what the history has of the same place.
  void remember(const Event& event);
  bool merge(Event& old, const Event& now);
  const std::vector<Event*>& near(const Event& event, int64_t margin);
  std::vector<Event*> near_events;
  // Reports everything in the buffer's history that `event` races with.
  void check(const Event& event, const Knowledge& known);
  Order order_of(const Event& earlier, const Event& later, const Knowledge& known) const;
  void check_entry(AgentId from, AgentId target, const std::string& what, const Buffer& buffer, Loc at);
  // The scopes of memory that another agent may address, by buffer: when their owner entered and left them last.
  struct ScopeTimes {
    uint64_t entered = 0, left = 0;
    bool inside = false;
  };
  std::unordered_map<const Buffer*, ScopeTimes> scopes;
  // A remote copy must be ordered after its target's entry to the scope of what it writes, and before its end.
  void check_scope(const Copy& copy);
  void claim(AgentId id, Semaphore& s, const char* what, Loc at);
  void add_item(Semaphore& s, Item* item, const Knowledge& known);
  void note_late(Semaphore& s, const Item& item, const Knowledge& known);
  void settle_wait(AgentId id, Semaphore& s);
  void learn(AgentId id, Item& item, bool sure);
  void forget_if_settled(Copy& copy);
  void sweep(Buffer& buffer);
  Clock floor_clock();
  std::vector<Item*> guaranteed;

  // ---- messages.cc: remote copies in order.
  std::map<std::pair<AgentId, AgentId>, Channel> channels;  // by sender and target; only those with messages
  Channel& channel_of(const Copy& copy) { return channels[{copy.agent, copy.target}]; }
  void join_channel(Copy& copy);
  void let_follow(Channel& channel, int64_t number);
  void learn_message(AgentId id, Copy& copy, bool sent, bool sure);
  bool held_back(const Copy& copy);
  std::vector<Copy*> held_back_by(const Copy& copy);
  std::vector<int64_t> followed_by(const Copy& copy);
  void deliver_in_order(const Copy& copy, Trace::Step step);
  void leave_channel(Copy& copy);

  // ---- move.cc: bytes.
  Copy* pending_first = nullptr;  // copies that have not moved, in order of start
  Copy* pending_last = nullptr;
  void add_pending(Copy& copy);
  void move_source(Copy& copy);
  void move(Copy& copy);           // all that is left of it, and of copies that must be delivered before it
  void move_by_force(Copy& copy);  // where nothing was chosen
  bool move_piece(Copy& copy);     // true: it is complete
  void move_everything();
  void tear();  // a piece of every copy
  void arrive(Semaphore& s, int64_t amount);
  void finish_move(Copy& copy);
  void leave_unmoved(Semaphore* s, Item* item);
  Copy* next_for(Semaphore& s, bool youngest);
  // Moves what is pending on `s`, as the schedule prefers, until it has `amount`; false when that cannot be.
  bool bring(Semaphore& s, int64_t amount);

  // ---- turns.cc: who runs.
  AgentId running = -1;
  AgentId next_agent = -1;
  bool run(std::span<const std::function<void()>> bodies);
  void run_fibers(std::span<const std::function<void()>> bodies);
  void point(AgentId id, const Operation& next);  // the running agent is about to do something visible
  // ... that conflicts with copies in flight: they may move before it. False: with none.
  bool point_of_access(AgentId id, const Event& event);
  Trace trace;
  Copy& first_to_move(Copy& copy);
  void block(AgentId id, Semaphore& s, int64_t amount, Loc at);
  void yield(AgentId id);
  bool ready(const Agent& a) const;  // it can go on as things are
  bool can_become_ready(Agent& a);   // ... or once copies on its semaphore have moved
  std::vector<Choice> choices;
  void list_choices(AgentId first);
  bool is_polling(const Agent& a) const;
  void leave_out_idle_polls(AgentId first, size_t& lazy, Semaphore*& served);
  enum class Turn : uint8_t {
    mine,    // go on: chosen, or it is this agent's turn again after others
    again,   // something moved: look again
    nobody,  // nothing that could happen lets anybody go on
  };
  // Chooses what happens next; agents come in turn from `first`. None: nothing lets anybody go on.
  std::optional<Choice> decide(AgentId first);
  // What lazy does, an index of `choices`; their number: nothing. served: what a copy moves for.
  size_t lazy_choice(AgentId first, Semaphore*& served);
  size_t policy_choice(size_t lazy, Semaphore* served);
  size_t index_of(const Choice& choice) const;
  size_t copy_for(Semaphore& s, bool youngest);
  void record(const Choice& choice, size_t lazy);
  // Takes one choice at a place where agent `id` wants to go on or, blocked, cannot.
  Turn take_choice(AgentId id);
  void perform(const Choice& choice);
  AgentId next_in_turn();
  bool trace_closed = false;
  void close_trace();
  Copy& pending_copy(int64_t id);
  [[noreturn]] void deadlock();

  void enter_together(AgentId id);
  void forget_buffers();

  // ---- explain.cc: findings.
  // Findings told so far, by what makes them alike; repeats are counted here and folded at the end.
  struct Told {
    Finding finding;
    int64_t again = 0;
  };
  std::vector<Told> told;
  bool tell_again(Kind kind, const Loc& at, const Loc& other, const std::string& buffer);
  void add(Finding finding, AgentId id);  // throws StopRun when its kind stops the run
  void flush_repeats();
  [[noreturn]] void stop(Finding finding, AgentId id);
  // within: the elements of `later` that matter, null: all.
  void report_race(const Event& earlier, const Event& later, Order order, const Box* within = nullptr);
  // The particular access of `earlier`, where it is several and a run before this one asked for it; else null.
  const Event* exact(const Event& earlier, const Event& later) const;
  // Has the next run find it: it shares an element with `within`, in the coordinates of `later`.
  void watch_for(const Event& earlier, const Event& later, const Box& within);
  void watch(const Event& event);  // it may be one that is looked for
  void report_not_awaited(Copy& copy, bool write, const std::string& end, AgentId id, Loc at);
  void check_drained(Semaphore& s, const std::string& end, AgentId id, Loc at);
  [[noreturn]] void report_dead(const Buffer& buffer, const std::string& what, AgentId id, Loc at);
  void finish();
  std::string who(AgentId id) const;                                // "core 0", "device 2"
  std::string name_of(const Semaphore& s) const;                    // "sem[0]"
  std::string amount_on(const Semaphore& s, int64_t amount) const;  // "4096 B", "2"
  std::string describe(const Event& event) const;  // "DMA #7 writes VMEM kv_buf[1, 0:64] (32768 B), step (0,2)"
  std::string describe_wait(AgentId id);
};

std::string where(const Dims& step);     // ", step (0,3)"; "" without a grid
std::string name_of(const Event& copy);  // "DMA #7", "DMA #7 (fetch of k for step (0,1))"

}  // namespace tilecheck
