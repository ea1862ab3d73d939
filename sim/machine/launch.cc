#include "sim/machine/launch.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "sim/machine/counters.h"
#include "sim/machine/fp_control.h"
#include "sim/machine/parallel.h"
#include "sim/machine/pipeline.h"
#include "sim/machine/split.h"
#include "sim/machine/state.h"
#include "sim/memory/transfer.h"
#include "sim/types/error.h"

namespace tilecheck {
namespace {

std::string operand_name(const KernelSpec& spec, const std::string& what, const std::string& name) {
  return "kernel " + spec.name + ", " + what + " '" + name + "'";
}

void check_array(const KernelSpec& spec, const std::string& what, const std::string& name, const HostArray& array,
                 DType dtype, const Shape& shape) {
  if (array.dtype() == dtype && array.shape() == shape && array.has_value()) return;
  throw InputError(operand_name(spec, what, name), "expected " + std::string(tilecheck::name(dtype)) + to_tuple(shape) +
                                                       ", got " + std::string(tilecheck::name(array.dtype())) +
                                                       to_tuple(array.shape()));
}

// An operand's array in HBM, without a copy unless it will be written or its storage differs.
std::shared_ptr<Buffer> operand_buffer(const std::string& name, const HostArray& array, DType repr, bool written,
                                       int device) {
  const bool convert = repr != array.dtype();
  auto buffer = std::make_shared<Buffer>(name, is_semaphore(array.dtype()) ? Space::semaphore : Space::hbm,
                                         convert   ? array.convert(repr)
                                         : written ? array.clone()
                                                   : array,
                                         device, -1);
  buffer->dtype = array.dtype();
  buffer->read_only = !written;
  return buffer;
}

DeviceMemory device_memory(const KernelSpec& spec, const DeviceArgs& args, const LaunchOptions& options, int device) {
  DeviceMemory m;
  m.device = device;
  OpContext context;
  context.numerics = options.numerics;
  if (args.prefetch.size() != spec.prefetch.size() || args.in.size() != spec.in.size())
    throw InputError("kernel " + spec.name, "takes " + std::to_string(spec.prefetch.size()) +
                                                " scalar-prefetch operands and " + std::to_string(spec.in.size()) +
                                                " inputs; got " + std::to_string(args.prefetch.size()) + " and " +
                                                std::to_string(args.in.size()));
  for (size_t i = 0; i < spec.prefetch.size(); ++i) {
    const Prefetch& p = spec.prefetch[i];
    check_array(spec, "scalar prefetch", p.name, args.prefetch[i], p.dtype, p.shape);
    m.prefetch.push_back(operand_buffer(p.name, args.prefetch[i], context.repr_of(p.dtype), false, device));
  }
  for (size_t i = 0; i < spec.in.size(); ++i) {
    const Window& w = spec.in[i];
    check_array(spec, "input", w.name, args.in[i], w.dtype, w.array);
    const bool aliased = std::any_of(spec.aliases.begin(), spec.aliases.end(),
                                     [&](const Alias& a) { return a.input == static_cast<int>(i); });
    m.in.push_back(operand_buffer(w.name, args.in[i], context.repr_of(w.dtype), aliased, device));
  }
  for (size_t i = 0; i < spec.out.size(); ++i) {
    const Window& w = spec.out[i];
    const auto alias = std::find_if(spec.aliases.begin(), spec.aliases.end(),
                                    [&](const Alias& a) { return a.output == static_cast<int>(i); });
    if (alias != spec.aliases.end()) {
      m.out.push_back(m.in[static_cast<size_t>(alias->input)]);
      continue;
    }
    auto buffer = std::make_shared<Buffer>(w.name, is_semaphore(w.dtype) ? Space::semaphore : Space::hbm, w.dtype,
                                           context.repr_of(w.dtype), w.array, device, -1);
    buffer->garbage = options.garbage;
    if (!options.check_definedness) buffer->shadow.set_all(true);
    m.out.push_back(std::move(buffer));
  }
  return m;
}

// Whether window copies could meet another access to the same bytes: through an alias, or from another core.
bool needs_engine(const KernelSpec& spec, const LaunchOptions& options) {
  return !spec.aliases.empty() || options.cores > 1;
}

// As before the first step, after an attempt that is not to count.
void reset_results(const KernelSpec& spec, DeviceMemory& memory, const LaunchOptions& options) {
  for (size_t i = 0; i < spec.out.size(); ++i) {
    if (std::any_of(spec.aliases.begin(), spec.aliases.end(),
                    [&](const Alias& a) { return a.output == static_cast<int>(i); }))
      continue;
    memory.out[i]->filled = false;
    memory.out[i]->shadow.set_all(!options.check_definedness);
  }
}

void note_undefined_output(FindingSink& sink, const Window& w, const std::vector<uint8_t>& undefined, int device) {
  int64_t count = 0, first = -1;
  bool computed = false;
  const bool has_flag = storage_bytes(w.dtype) < 8;
  for (size_t i = 0; i < undefined.size(); ++i) {
    if (!undefined[i]) continue;
    if (first < 0) first = static_cast<int64_t>(i);
    ++count;
    computed = computed || (has_flag && (undefined[i] & kComputedFlag));
  }
  if (count == 0) return;
  Dims at;
  for (int d = w.array.rank() - 1, rest = 0; d >= 0; --d) {
    (void)rest;
    at.insert(0, first % w.array[d]);
    first /= w.array[d];
  }
  Finding f =
      Finding::make(Kind::undefined_output,
                    std::to_string(count) + " of " + std::to_string(undefined.size()) + " elements of '" + w.name +
                        "' are undefined" + (computed ? ": computed together with undefined memory" : "") +
                        ", the first at " + to_tuple(at),
                    w.at);
  f.severity = computed ? Severity::warning : Severity::note;
  f.buffer = w.name;
  f.device = device;
  sink.add(std::move(f));
}

DeviceResults collect(const KernelSpec& spec, DeviceMemory& memory, const Engine& engine, FindingSink& sink) {
  DeviceResults results;
  for (size_t i = 0; i < spec.out.size(); ++i) {
    Buffer& b = *memory.out[i];
    if (is_semaphore(b.dtype)) {
      HostArray counts(b.dtype, b.shape);
      for (int64_t e = 0; e < counts.size(); ++e) counts.set(e, static_cast<double>(engine.final_count({&b, e})));
      results.out.push_back(counts);
      results.undefined.emplace_back();
      continue;
    }
    b.ensure_filled();
    results.out.push_back(b.repr == b.dtype ? b.array : b.array.convert(b.dtype));
    std::vector<uint8_t>& undefined = results.undefined.emplace_back();
    b.shadow.settle();
    if (!b.shadow.all_defined()) {
      const uint8_t* bytes = b.shadow.bytes();
      undefined.assign(bytes, bytes + b.array.size());
      note_undefined_output(sink, spec.out[i], undefined, memory.device);
    }
  }
  return results;
}

// One run. Adds to options.sync.hindsight what has to be known before the first wait; `again` says that it did.
LaunchResult run_once(const KernelSpec& spec, const Body& body, std::span<const DeviceArgs> args,
                      const LaunchOptions& options, bool& again) {
  const auto start = std::chrono::steady_clock::now();
  validate(spec);
  if (options.devices < 1 || options.cores < 1) throw InputError("launch", "devices and cores must be at least 1");
  if (static_cast<int>(args.size()) != options.devices)
    throw InputError("launch", "operands for " + std::to_string(args.size()) + " devices, but " +
                                   std::to_string(options.devices) + " run");
  LaunchResult result;
  result.report.kernel = spec.name;
  result.report.target = options.target ? options.target->name : "v5e";
  result.report.grid = spec.grid;
  result.report.threads = options.threads;
  result.report.seed = options.sync.seed;
  result.report.schedule = to_string(options.sync.schedule);
  result.report.numerics = options.numerics == Numerics::exact ? "exact"
                           : options.numerics == Numerics::mxu ? "mxu"
                                                               : "f64";
  FindingSink sink(result.report.findings);
  std::vector<DeviceMemory> memory;
  for (int d = 0; d < options.devices; ++d)
    memory.push_back(device_memory(spec, args[static_cast<size_t>(d)], options, d));

  const FpControl fp;
  if (std::optional<ParallelRun> run = run_parallel(spec, body, memory[0], options)) {
    result.report.counters = std::move(run->counters);
    result.report.schedule_independent = true;
    const Engine idle(options.sync, sink);
    result.devices.push_back(collect(spec, memory[0], idle, sink));
    if (result.report.findings.empty()) {
      result.report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      return result;
    }
    result.devices.clear();
    result.report.findings.clear();
  }
  if (options.threads > 1) reset_results(spec, memory[0], options);

  const bool through_engine = needs_engine(spec, options);
  EngineOptions sync = options.sync;
  sync.disable_semaphore_checks = sync.disable_semaphore_checks || spec.disable_semaphore_checks;
  Engine engine(sync, sink);
  ScopeSites sites;
  const std::vector<GridPart> parts = split_over_cores(spec, options.cores, options.core_split);
  std::vector<std::unique_ptr<MachineState>> states;
  std::vector<std::function<void()>> agents;
  int64_t done = 0, total = 0;
  bool cancelled = false;
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
      s.ops.pool = &s.pool;
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
          if (!options.progress || options.progress(done, total)) return true;
          cancelled = true;
          return false;
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
  for (DeviceMemory& m : memory) {
    for (auto* list : {&m.in, &m.out})
      for (auto& b : *list)
        if (is_semaphore(b->dtype)) {
          std::vector<int64_t> counts(static_cast<size_t>(element_count(b->shape)), 0);
          if (b->array.size() > 0)
            for (size_t i = 0; i < counts.size(); ++i)
              counts[i] = static_cast<int64_t>(b->array.at(static_cast<int64_t>(i)));
          engine.adopt_semaphores(*b, counts);
        }
  }
  bool finished = false;
  try {
    finished = engine.run(agents);
  } catch (const Incomplete& e) {
    result.report.incomplete.push_back(e.what());
  }
  if (cancelled)
    result.report.incomplete.push_back("cancelled after " + std::to_string(done) + " of " + std::to_string(total) +
                                       " steps");
  (void)finished;
  for (auto& s : states) {
    add_counters(result.report.counters, s->counters);
    result.steps.insert(result.steps.end(), s->steps.begin(), s->steps.end());
    for (std::string& text : s->incomplete) result.report.incomplete.push_back(std::move(text));
  }
  for (DeviceMemory& m : memory) result.devices.push_back(collect(spec, m, engine, sink));
  result.report.replay = engine.decisions();
  result.report.schedule_independent = engine.schedule_independent();
  result.report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  again = engine.judge_again();
  return result;
}

}  // namespace

LaunchResult launch(const KernelSpec& spec, const Body& body, std::span<const DeviceArgs> args,
                    const LaunchOptions& options) {
  LaunchOptions judged = options;
  if (!judged.sync.hindsight) judged.sync.hindsight = make_hindsight();
  double seconds = 0;
  while (true) {
    bool again = false;
    LaunchResult result = run_once(spec, body, args, judged, again);
    seconds += result.report.seconds;
    // A run that was cancelled, or met what is not modelled, says nothing that another would say better.
    if (again && result.report.incomplete.empty()) continue;
    result.report.seconds = seconds;
    return result;
  }
}

}  // namespace tilecheck
