#include "sim/machine/pipeline.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "sim/machine/smem_prefetch.h"
#include "sim/memory/transfer.h"
#include "sim/spec/traffic.h"
#include "sim/types/error.h"

namespace tilecheck {
namespace {

class Pipeline {
 public:
  Pipeline(MachineState& state, bool through_engine) : state_(state), through_engine_(through_engine) {
    const KernelSpec& spec = *state.spec;
    input_count_ = spec.in.size();
    for (const Window& w : spec.in) windows_.push_back(&w);
    for (const Window& w : spec.out) windows_.push_back(&w);
    aliased_.assign(windows_.size(), false);
    left_by_other_.resize(windows_.size());
    for (size_t i = 0; i < spec.semantics.size(); ++i)
      if (spec.semantics[i] != Semantics::arbitrary && spec.grid[static_cast<int>(i)] > 1) parallel_axes_ |= 1u << i;
    for (const Alias& a : spec.aliases) aliased_[input_count_ + static_cast<size_t>(a.output)] = true;
  }

  void run(const Body& body, const GridPart& part, const StepHook& after_step);

 private:
  bool pipelined(size_t w) const { return windows_[w]->pipelined(); }
  bool single(size_t w) const { return state_.windows[w].slots.size() == 1; }
  bool is_output(size_t w) const { return w >= input_count_; }
  Buffer& array(size_t w) { return is_output(w) ? *state_.memory->out[w - input_count_] : *state_.memory->in[w]; }
  bool loads_output(size_t w) const { return is_output(w) && windows_[w]->revisit == Revisit::any; }

  // The parts of array and slot that a block moves. False: nothing of the block exists in the array.
  bool parts(size_t w, const Visit& visit, Ref& in_array, Ref& in_slot, bool& whole_block);
  void check_range(size_t w, const Visit& visit, const Dims& step);
  void start(size_t w, const Visit& visit, const Dims& step, bool fetch);
  void submit(size_t w, int slot, const Ref& in_array, const Ref& in_slot, const Dims& step, bool fetch);
  void resubmit(size_t w, const Visit& visit, const Dims& step, bool fetch);
  void enter_engine(const PlanCursor& cursor);
  void wait(size_t w, const Visit& visit);
  void enter_output(size_t w, const Visit& visit);
  void check_write_back(size_t w, const Visit& visit);
  void record(size_t w, const Visit& visit, bool fetched, bool written, int64_t bytes);

  void change_parallel_coordinate(std::span<const Visit> visits);
  void compare_with_other(size_t w, const Visit& visit);

  MachineState& state_;
  bool through_engine_;
  size_t input_count_ = 0;
  std::vector<const Window*> windows_;
  std::vector<bool> aliased_;
  uint32_t parallel_axes_ = 0;
  // Outputs: what the block held when the last parallel coordinate ended, while the block stays. No value: nothing yet.
  std::vector<std::optional<CopyImage>> left_by_other_;
  StepRecord* record_ = nullptr;
  // A write-back that is waited for at the end of the step after its own.
  struct WriteBack {
    size_t window;
    Visit visit;
    Dims step;
  };
  std::vector<WriteBack> in_flight_;
};

bool Pipeline::parts(size_t w, const Visit& visit, Ref& in_array, Ref& in_slot, bool& whole_block) {
  const Coverage c = coverage(*windows_[w], visit);
  in_array = Ref::whole(array(w));
  in_slot = Ref::whole(*state_.windows[w].slots[static_cast<size_t>(visit.slot)]);
  whole_block = true;
  bool any = true;
  for (int d = 0; d < c.lo.rank(); ++d) {
    if (c.extents[d] != in_slot.box[d].n) whole_block = false;
    if (c.extents[d] <= 0) any = false;
    in_array.box[d] = {c.lo[d], c.extents[d], 1};
    in_slot.box[d] = {c.lo[d] - visit.origin[d], c.extents[d], 1};
  }
  return any;
}

void Pipeline::check_range(size_t w, const Visit& visit, const Dims& step) {
  const Window& window = *windows_[w];
  for (int d = 0; d < window.array.rank() && !window.block.empty(); ++d) {
    const BlockDim& b = window.block[static_cast<size_t>(d)];
    const int64_t last = b.kind == BlockDim::Kind::element ? window.array[d] + b.pad_lo + b.pad_hi - 1
                                                           : (window.array[d] + b.size - 1) / b.size - 1;
    if (visit.block[d] >= 0 && visit.block[d] <= std::max<int64_t>(last, 0)) continue;
    if (window.array[d] == 0) continue;
    Finding f = Finding::make(Kind::out_of_bounds_block,
                              "index map of '" + window.name + "' gives block " + to_tuple(visit.block) + " at step " +
                                  step_text(step) + "; dimension " + std::to_string(d) + " has blocks 0 to " +
                                  std::to_string(last),
                              window.at);
    f.step = step;
    f.buffer = window.name;
    state_.report(std::move(f));
    return;
  }
}

void Pipeline::record(size_t w, const Visit& visit, bool fetched, bool written, int64_t bytes) {
  if (record_) record_->events.push_back({static_cast<int>(w), visit.slot, visit.block, fetched, written, bytes});
}

void Pipeline::start(size_t w, const Visit& visit, const Dims& step, bool fetch) {
  if (fetch) check_range(w, visit, step);
  Ref in_array, in_slot;
  bool whole_block = false;
  const bool any = parts(w, visit, in_array, in_slot, whole_block);
  record(w, visit, fetch, !fetch, any ? in_array.size_bytes() : 0);
  // What an edge fetch does not fill keeps its bytes and loses its definedness.
  if (fetch && !whole_block) {
    if (state_.options->garbage != 0) in_slot.buffer->fill_fresh();
    in_slot.buffer->ensure_filled();
    if (state_.options->check_definedness) in_slot.buffer->shadow.set_all(false);
  }
  if (!any) return;
  if (!through_engine_) {
    if (fetch) {
      borrow_elements(state_.ops, in_array, in_slot);
    } else {
      copy_elements(in_slot, in_array);
    }
    return;
  }
  submit(w, visit.slot, in_array, in_slot, step, fetch);
}

void Pipeline::submit(size_t w, int slot, const Ref& in_array, const Ref& in_slot, const Dims& step, bool fetch) {
  CopyRequest request;
  request.source = fetch ? in_array : in_slot;
  request.destination = fetch ? in_slot : in_array;
  request.done = {state_.windows[w].semaphores.get(), slot};
  request.pipeline = true;
  request.label =
      std::string(fetch ? "fetch of '" : "write-back of '") + windows_[w]->name + "' for step " + step_text(step);
  state_.engine->start(state_.agent, request, windows_[w]->at);
}

void Pipeline::resubmit(size_t w, const Visit& visit, const Dims& step, bool fetch) {
  Ref in_array, in_slot;
  bool whole_block = false;
  if (parts(w, visit, in_array, in_slot, whole_block)) submit(w, visit.slot, in_array, in_slot, step, fetch);
}

// The body of cursor's step is about to start its first own copy: from now on window copies can meet another access.
// Those in flight have moved already and are told to the engine now; moving them again changes nothing, unless
// something that races with them came between.
void Pipeline::enter_engine(const PlanCursor& cursor) {
  state_.before_own_copy = nullptr;
  through_engine_ = true;
  allocate_window_semaphores(state_);
  for (const WriteBack& b : in_flight_) resubmit(b.window, b.visit, b.step, false);
  if (!cursor.has_next()) return;
  const std::span<const Visit> next = cursor.next_visits();
  for (size_t w = 0; w < input_count_; ++w)
    if (pipelined(w) && !single(w) && next[w].enter) resubmit(w, next[w], cursor.next_step(), true);
}

void Pipeline::wait(size_t w, const Visit& visit) {
  if (!through_engine_) return;
  Ref in_array, in_slot;
  bool whole_block = false;
  if (!parts(w, visit, in_array, in_slot, whole_block)) return;
  state_.engine->wait_copy(state_.agent, {state_.windows[w].semaphores.get(), visit.slot}, in_slot.size_bytes(),
                           windows_[w]->at);
}

void Pipeline::enter_output(size_t w, const Visit& visit) {
  check_range(w, visit, state_.step);
  if (!visit.first && !aliased_[w] && !loads_output(w)) {
    Finding f = Finding::make(Kind::output_revisited,
                              "output '" + windows_[w]->name + "' enters block " + to_tuple(visit.block) +
                                  " again at step " + step_text(state_.step) + " after leaving it",
                              windows_[w]->at);
    f.buffer = windows_[w]->name;
    f.helps.push_back("order the grid so that all steps of one output block follow each other");
    state_.report(std::move(f));
  }
  if (loads_output(w)) return;
  // A new block keeps the slot's old bytes and loses its definedness.
  Buffer& slot = *state_.windows[w].slots[static_cast<size_t>(visit.slot)];
  if (state_.options->garbage != 0) slot.fill_fresh();
  if (state_.options->check_definedness) slot.shadow.set_all(false);
}

void Pipeline::check_write_back(size_t w, const Visit& visit) {
  const Buffer& slot = *state_.windows[w].slots[static_cast<size_t>(visit.slot)];
  if (slot.shadow.state() != Shadow::State::undefined || slot.array.size() == 0) return;
  Finding f = Finding::make(Kind::undefined_output,
                            "block " + to_tuple(visit.block) + " of output '" + windows_[w]->name +
                                "' is written back at step " + step_text(state_.step) + " with no element written",
                            windows_[w]->at);
  f.severity = Severity::warning;
  f.buffer = windows_[w]->name;
  f.helps.push_back("store to the output in at least one of the steps that visit the block");
  state_.report(std::move(f));
}

// Between the steps of two parallel coordinates: an output block that stays is remembered, and, in a run that holds the
// coordinates apart, it and all scratch count as undefined for the next.
void Pipeline::change_parallel_coordinate(std::span<const Visit> visits) {
  for (size_t w = input_count_; w < windows_.size(); ++w) {
    if (!pipelined(w) || visits[w].enter || loads_output(w)) continue;
    Visit before = visits[w];
    compare_with_other(w, before);
    if (state_.set_parallel_steps_apart) {
      Buffer& slot = *state_.windows[w].slots[static_cast<size_t>(visits[w].slot)];
      slot.shadow.set_all(false);
      state_.set_apart = true;
    }
  }
  if (!state_.set_parallel_steps_apart) return;
  for (auto& b : state_.scratch) {
    if (is_semaphore(b->dtype)) continue;
    b->shadow.set_all(false);
    state_.set_apart = true;
  }
}

// Different bytes from two parallel coordinates: which of them the result keeps depends on their order.
void Pipeline::compare_with_other(size_t w, const Visit& visit) {
  Ref in_array, in_slot;
  bool whole_block = false;
  if (!parts(w, visit, in_array, in_slot, whole_block)) return;
  CopyImage now = read_image(in_slot);
  std::optional<CopyImage>& other = left_by_other_[w];
  if (other &&
      std::memcmp(other->elements.data(), now.elements.data(), static_cast<size_t>(now.elements.size_bytes())) != 0) {
    Finding f = Finding::make(Kind::parallel_order_dependent,
                              "block " + to_tuple(visit.block) + " of output '" + windows_[w]->name +
                                  "' is written with different bytes by steps of different parallel coordinates",
                              windows_[w]->at);
    f.buffer = windows_[w]->name;
    f.helps.push_back("make the dimension arbitrary, or give each parallel coordinate a block of its own");
    state_.report(std::move(f));
  }
  other = std::move(now);
}

void Pipeline::run(const Body& body, const GridPart& part, const StepHook& after_step) {
  const SmemPrefetch prefetch(state_);
  PlanCursor cursor(*state_.spec, part, &prefetch);
  TrafficCounter traffic(*state_.spec);
  const size_t n = windows_.size();
  std::vector<Ref> refs;
  for (auto& p : state_.prefetch) refs.push_back(Ref::whole(*p));
  const size_t first_window = refs.size();
  for (size_t w = 0; w < n; ++w) refs.push_back(state_.windows[w].shown[0]);
  for (auto& s : state_.scratch) refs.push_back(Ref::whole(*s));
  Core core(state_);
  std::vector<WriteBack> started;
  Dims previous;
  if (!through_engine_) state_.before_own_copy = [&] { enter_engine(cursor); };

  while (cursor.advance()) {
    const std::span<const Visit> visits = cursor.visits();
    const int64_t number = cursor.number();
    state_.step = cursor.step();
    traffic.step(visits);
    if (parallel_axes_ && number > 0) {
      bool changed = false;
      for (int i = 0; i < previous.rank(); ++i)
        changed = changed || ((parallel_axes_ >> i & 1u) && previous[i] != cursor.step()[i]);
      if (changed) change_parallel_coordinate(visits);
    }
    previous = cursor.step();
    const LaunchOptions& o = *state_.options;
    record_ = nullptr;
    if (o.record_steps && number >= o.step_begin && (o.step_end < 0 || number < o.step_end)) {
      record_ = &state_.steps.emplace_back();
      record_->step = cursor.step();
    }
    // Rule 1: fetches of this step into single slots (and, before the loop, of step 0 into all), then of the next step.
    if (number == 0)
      for (size_t w = 0; w < input_count_; ++w)
        if (pipelined(w) && !single(w)) start(w, visits[w], cursor.step(), true);
    for (size_t w = 0; w < n; ++w)
      if (pipelined(w) && visits[w].enter && ((!is_output(w) && single(w)) || loads_output(w)))
        start(w, visits[w], cursor.step(), true);
    if (cursor.has_next()) {
      const std::span<const Visit> next = cursor.next_visits();
      for (size_t w = 0; w < input_count_; ++w)
        if (pipelined(w) && !single(w) && next[w].enter) start(w, next[w], cursor.next_step(), true);
    }
    for (size_t w = 0; w < n; ++w) {
      if (!pipelined(w) || !visits[w].enter) continue;
      if (!is_output(w) || loads_output(w)) wait(w, visits[w]);
      if (is_output(w)) enter_output(w, visits[w]);
    }
    for (size_t w = 0; w < n; ++w)
      if (pipelined(w)) refs[first_window + w] = state_.windows[w].shown[static_cast<size_t>(visits[w].slot)];

    ++state_.counters.grid_steps;
    try {
      body(core, refs);
    } catch (const InputError&) {
      throw;
    } catch (const Incomplete&) {
      throw;
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& e) {
      throw InputError("kernel " + state_.spec->name, "its body threw at step " + step_text(cursor.step()) +
                                                          " of device " + std::to_string(state_.device) + ": " +
                                                          e.what());
    }

    // Copy-outs of blocks that end here; single slots are waited for at once, others at the end of the next step.
    started.clear();
    for (size_t w = input_count_; w < n; ++w) {
      if (!pipelined(w) || !visits[w].leave) continue;
      check_write_back(w, visits[w]);
      if (left_by_other_[w]) compare_with_other(w, visits[w]);
      left_by_other_[w].reset();
      start(w, visits[w], cursor.step(), false);
      if (single(w)) {
        wait(w, visits[w]);
      } else {
        started.push_back({w, visits[w], cursor.step()});
      }
    }
    for (const WriteBack& b : in_flight_) wait(b.window, b.visit);
    std::swap(in_flight_, started);
    if (after_step && !after_step()) throw StopRun{};
  }
  for (const WriteBack& b : in_flight_) wait(b.window, b.visit);
  state_.before_own_copy = nullptr;
  state_.counters.windows = traffic.windows();
}

}  // namespace

void run_part(MachineState& state, const Body& body, const GridPart& part, bool through_engine,
              const StepHook& after_step) {
  Pipeline(state, through_engine).run(body, part, after_step);
}

}  // namespace tilecheck
