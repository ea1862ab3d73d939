#include "kernels/nested_pipeline_twins.h"

#include "kernels/list.h"
#include "kernels/tiling.h"
#include "kernels/twins.h"

namespace tilecheck {
namespace {

// inner_pipeline.cc's loop inside nested_pipeline.cc's body, with the flaws.
class Flawed {
 public:
  Flawed(NestedFlaw flaw, const NestedPipeline& p) : flaw_(flaw), p_(p) {}

  void operator()(Core& core, std::span<const Ref> refs) const {
    int64_t i = core.program_id(0);
    if (is(NestedFlaw::cores_share_rows)) i %= core.num_programs(0) / p_.cores;
    if (i * p_.block_m >= p_.m) return;
    const std::vector<InnerWindow> windows = p_.windows(i, refs);
    core.scope(inner_slots(windows), [&](std::span<const Ref> scratch) {
      std::vector<State> states;
      for (size_t w = 0; w < windows.size(); ++w)
        states.push_back({.window = &windows[w], .slots = scratch[2 * w], .done = scratch[2 * w + 1]});
      run(core, states, refs[3]);
    });
  }

 private:
  struct State {
    const InnerWindow* window;
    Ref slots, done;
    int64_t entered = 0;
    std::vector<Dims> stored;  // what has been started to be stored, a block each

    Ref block(const Dims& step) const { return window->block_at(window->index(step)); }
    Ref slot(int64_t i) const { return slots({i % 2}); }
  };

  bool is(NestedFlaw flaw) const { return flaw_ == flaw; }

  void fetch(Core& core, State& s, int64_t i) const {
    const Ref block = s.block(inner_step(p_.inner_grid(), i));
    const int64_t slot = is(NestedFlaw::fetches_into_current_slot) && s.entered > 0 ? s.entered - 1 : s.entered;
    core.start_copy(block, filled_part(s.slot(slot), block), s.done({s.entered % 2}));
    ++s.entered;
  }
  void store(Core& core, State& s, const Dims& step) const {
    s.stored.push_back(s.window->index(step));
    const Ref block = s.block(step);
    core.start_copy(filled_part(s.slot(s.entered - 1), block), block, s.done({(s.entered - 1) % 2}));
  }
  void wait_stored(Core& core, const State& s, int64_t number) const {
    if (number >= 0 && number < static_cast<int64_t>(s.stored.size()))
      core.wait_bytes_of(s.done({number % 2}), s.window->block_at(s.stored[static_cast<size_t>(number)]));
  }

  // Makes an input's slot ready, and begins to fill the next.
  void enter_input(Core& core, State& s, int64_t i, bool last, bool is_b) const {
    const Dims grid = p_.inner_grid();
    const int64_t current = s.entered - 1;
    if (!last && (enters_block(*s.window, grid, i + 1) || is(NestedFlaw::fetches_at_every_step))) fetch(core, s, i + 1);
    if (is(NestedFlaw::fetch_not_awaited) || (is(NestedFlaw::b_not_awaited) && is_b)) return;
    if (enters_block(*s.window, grid, i)) core.wait_bytes_of(s.done({current % 2}), s.block(inner_step(grid, i)));
  }

  void run(Core& core, std::vector<State>& states, const Ref& sum) const {
    const Dims grid = p_.inner_grid();
    const int64_t steps = grid[0] * grid[1];
    for (State& s : states)
      if (!s.window->output) fetch(core, s, 0);
    for (int64_t i = 0; i < steps; ++i) {
      const bool last = i + 1 == steps;
      const Dims step = inner_step(grid, i);
      State& out = states[2];
      if (enters_block(*out.window, grid, i)) {
        ++out.entered;
        if (!is(NestedFlaw::slot_not_free)) wait_stored(core, out, out.entered - 3);
      }
      std::vector<Ref> slots;
      for (State& s : states) {
        slots.push_back(s.slot(s.entered - 1));
        if (!s.window->output) enter_input(core, s, i, last, &s == &states[1]);
      }
      const bool leaves = last || enters_block(*out.window, grid, i + 1);
      if (is(NestedFlaw::stored_before_work) && leaves) store(core, out, step);
      p_.work(core, step, slots, sum);
      if (is(NestedFlaw::stores_at_every_step) || (leaves && !is(NestedFlaw::stored_before_work)))
        store(core, out, step);
    }
    if (is(NestedFlaw::last_stores_not_awaited)) return;
    const auto stores = static_cast<int64_t>(states[2].stored.size());
    const int64_t first = is(NestedFlaw::slot_not_free) ? 0 : stores - 2;
    for (int64_t number = first; number < stores; ++number) wait_stored(core, states[2], number);
  }

  NestedFlaw flaw_;
  NestedPipeline p_;
};

BrokenTwin flawed(std::string name, std::string what, Kind kind, NestedFlaw flaw,
                  const std::map<std::string, std::string>& more = {}) {
  std::map<std::string, std::string> set{{"m", "16"},      {"n", "300"},       {"k", "80"},
                                         {"block_m", "8"}, {"block_n", "128"}, {"block_k", "32"}};
  for (const auto& [key, value] : more) set[key] = value;
  return {.name = std::move(name),
          .what = std::move(what),
          .kind = kind,
          .set = std::move(set),
          .make = [flaw](const ParamValues& values) { return nested_pipeline_with(flaw, NestedPipeline(values)); }};
}

}  // namespace

KernelCase nested_pipeline_with(NestedFlaw flaw, const NestedPipeline& p) {
  KernelCase c = nested_pipeline_case(p);
  c.body = Flawed(flaw, p);
  return c;
}

std::vector<BrokenTwin> nested_pipeline_twins() {
  return {
      flawed("fetches_into_current_slot", "the next block is fetched into the slot that is worked on", Kind::race,
             NestedFlaw::fetches_into_current_slot),
      flawed("fetch_not_awaited", "blocks are read while they may still be on their way", Kind::race,
             NestedFlaw::fetch_not_awaited),
      flawed("b_not_awaited", "of the two fetches only that of a is awaited", Kind::race, NestedFlaw::b_not_awaited),
      flawed("fetches_at_every_step", "a block that stays is fetched again, and awaited once", Kind::dma_not_awaited,
             NestedFlaw::fetches_at_every_step, {{"k", "32"}, {"n", "200"}}),
      flawed("slot_not_free", "a block of c is written to a slot whose last store is still in flight", Kind::race,
             NestedFlaw::slot_not_free),
      flawed("stores_at_every_step", "a block of c is stored at every step, not at its last", Kind::race,
             NestedFlaw::stores_at_every_step),
      flawed("last_stores_not_awaited", "the scope of the slots ends with the last stores in flight",
             Kind::dma_not_awaited, NestedFlaw::last_stores_not_awaited),
      flawed("stored_before_work", "the store of a block starts before its last step has written it", Kind::race,
             NestedFlaw::stored_before_work),
      flawed("cores_share_rows", "both cores work on the first half of the rows", Kind::race,
             NestedFlaw::cores_share_rows, {{"cores", "2"}, {"m", "32"}}),
  };
}

}  // namespace tilecheck
