#include "sim/machine/serial.h"

#include <algorithm>

#include "sim/machine/counters.h"
#include "sim/machine/device_memory.h"
#include "sim/machine/pipeline.h"
#include "sim/machine/split.h"
#include "sim/types/error.h"

namespace tilecheck {
namespace {

// Whether window copies could meet another access to the same bytes: through an alias, or from another core or device.
// What the body's own copies could meet is seen when it starts the first (MachineState::before_own_copy).
bool needs_engine(const KernelSpec& spec, const LaunchOptions& options) {
  return !spec.aliases.empty() || options.cores > 1 || options.devices > 1;
}

// Semaphores that are operands or results keep the counts that they came with, on each core.
void adopt_semaphores(Engine& engine, MachineState& state) {
  for (auto* list : {&state.memory->in, &state.memory->out})
    for (auto& b : *list) {
      if (!is_semaphore(b->dtype)) continue;
      std::vector<int64_t> counts(static_cast<size_t>(element_count(b->shape)), 0);
      if (b->array.size() > 0)
        for (size_t i = 0; i < counts.size(); ++i)
          counts[i] = static_cast<int64_t>(b->array.at(static_cast<int64_t>(i)));
      engine.adopt_semaphores(state.own(*b), counts);
    }
}

// One array stands for the semaphores of all cores, so they have to agree.
void compare_semaphores(const Engine& engine, const MachineState& state, std::vector<std::string>& incomplete) {
  for (const auto& [array, mine] : state.own_semaphores)
    for (int64_t i = 0; i < element_count(array->shape); ++i)
      if (engine.final_count({const_cast<Buffer*>(array), i}) != engine.final_count({mine.get(), i})) {
        incomplete.push_back("the semaphores '" + array->name + "' are left with different counts by different cores");
        break;
      }
}

}  // namespace

SerialRun run_serial(const KernelSpec& spec, const Body& body, std::span<const DeviceArgs> args,
                     const LaunchOptions& options, bool set_parallel_steps_apart) {
  SerialRun run;
  LaunchResult& result = run.result;
  FindingSink sink(result.report.findings);
  std::vector<DeviceMemory> memory;
  for (int d = 0; d < options.devices; ++d)
    memory.push_back(device_memory(spec, args[static_cast<size_t>(d)], options, d));

  const bool through_engine = needs_engine(spec, options);
  EngineOptions sync = options.sync;
  sync.disable_semaphore_checks = sync.disable_semaphore_checks || spec.disable_semaphore_checks;
  Engine engine(sync, sink);
  ScopeSites sites;
  const std::vector<GridPart> parts = split_over_cores(spec, options.cores, options.core_split);
  std::vector<std::unique_ptr<MachineState>> states;
  std::vector<std::function<void()>> agents;
  int64_t done = 0, total = 0;
  for (int d = 0; d < options.devices; ++d)
    for (int c = 0; c < options.cores; ++c) {
      MachineState& s = *states.emplace_back(std::make_unique<MachineState>());
      s.spec = &spec;
      s.options = &options;
      s.engine = &engine;
      s.findings = &sink;
      s.sites = &sites;
      s.memory = &memory[static_cast<size_t>(d)];
      s.device = d;
      s.core = c;
      s.set_parallel_steps_apart = set_parallel_steps_apart;
      s.ops.pool = s.pool.get();
      s.ops.numerics = options.numerics;
      s.ops.observer = &s.work;
      s.agent = engine.add_agent({d, c, &s.step});
      allocate(s, through_engine);
      if (s.barrier) engine.add_barrier_semaphore(*s.barrier);
      total += parts[static_cast<size_t>(c)].step_count();
      agents.push_back([&, c] {
        if (spec.has_communication && !spec.collective_id && !spec.skip_device_barrier && options.devices > 1)
          engine.entry_barrier(s.agent);
        const StepHook hook = [&] {
          ++done;
          if (options.progress) options.progress(done, total);
          return s.go_on();
        };
        run_part(s, body, parts[static_cast<size_t>(c)], through_engine, hook);
      });
    }
  engine.set_translate([&](const Ref& ref, int device, int core) {
    if (device < 0 || device >= options.devices || core < 0 || core >= options.cores)
      throw InputError(to_string(ref), "addressed on device " + std::to_string(device) + " core " +
                                           std::to_string(core) + ", which does not exist");
    // The owner is the state whose device (and core, where it has one) the buffer names.
    MachineState* from = nullptr;
    for (auto& s : states)
      if (s->device == ref.buffer->device && (ref.buffer->core < 0 || s->core == ref.buffer->core)) {
        from = s.get();
        break;
      }
    MachineState& to = *states[static_cast<size_t>(device * options.cores + core)];
    return same_address(ref, *from, to);
  });
  for (auto& state : states) adopt_semaphores(engine, *state);
  try {
    engine.run(agents);
  } catch (const Incomplete& e) {
    result.report.incomplete.push_back(e.what());
  }
  if (std::ranges::any_of(states, [](const auto& s) { return s->cancelled; }))
    result.report.incomplete.push_back("cancelled after " + std::to_string(done) + " of " + std::to_string(total) +
                                       " steps");
  for (auto& s : states) {
    run.set_apart = run.set_apart || s->set_apart;
    add_counters(result.report.counters, s->counters);
    result.steps.insert(result.steps.end(), s->steps.begin(), s->steps.end());
    for (std::string& text : s->incomplete) result.report.incomplete.push_back(std::move(text));
  }
  for (auto& state : states) compare_semaphores(engine, *state, result.report.incomplete);
  for (DeviceMemory& m : memory) result.devices.push_back(collect_results(spec, m, engine, sink));
  run.judge_again = engine.judge_again();
  result.report.replay = engine.decisions();
  result.alternatives = engine.alternatives();
  result.missed_orders = engine.missed_orders();
  result.followed_schedule = engine.followed_schedule();
  result.report.schedule_independent = engine.schedule_independent();
  return run;
}

}  // namespace tilecheck
