#include "sim/fit/time_model.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>

#include "sim/fit/time_body.h"
#include "sim/fit/time_pipeline.h"
#include "sim/fit/time_table.h"
#include "sim/fit/vmem_blocks.h"

namespace tilecheck::fit {
namespace {

// Advice is given when it costs at most this share of the time.
constexpr double kHarmlessShare = 0.01;
constexpr int64_t kAdviceMinBytes = 64 * 1024;

std::vector<int> pipeline_slots(const KernelSpec& spec) {
  std::vector<int> slots;
  const auto add = [&](const Window& window) {
    slots.push_back(window.pipelined() && !is_pinned(window) ? slot_count(spec, window).slots : 0);
  };
  for (const Window& window : spec.in) add(window);
  for (const Window& window : spec.out) add(window);
  return slots;
}

const Window& window_at(const KernelSpec& spec, size_t i) {
  return i < spec.in.size() ? spec.in[i] : spec.out[i - spec.in.size()];
}

std::string window_name(const KernelSpec& spec, size_t i) {
  const Window& window = window_at(spec, i);
  if (!window.name.empty()) return window.name;
  return i < spec.in.size() ? "input " + std::to_string(i) : "output " + std::to_string(i - spec.in.size());
}

// A slice whose length only the run knows has a shape of 1 there.
bool is_longer_than_counted(const RefInfo& ref) {
  for (size_t d = 0; d < ref.sizes.size(); ++d)
    if (!ref.sizes[d].is_constant() || ref.sizes[d].constant != ref.shape[static_cast<int>(d)]) return true;
  return false;
}

std::string format(const char* pattern, double value) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, value);
  return text;
}

// How the body reads each window.
struct WindowUse {
  bool is_read = false;          // loaded, copied from, or passed on
  bool is_read_as_tile = false;  // by a load that is not taken apart into single elements
};

void find_uses(const Body& body, const Block& block, const std::vector<std::vector<const Op*>>& users,
               std::vector<WindowUse>& uses) {
  const auto use_of = [&](RefId ref) -> WindowUse* {
    if (ref == kNone) return nullptr;
    const RefInfo& root = body.refs[static_cast<size_t>(root_of(body, ref))];
    if (root.root != RefRoot::window || static_cast<size_t>(root.root_index) >= uses.size()) return nullptr;
    return &uses[static_cast<size_t>(root.root_index)];
  };
  for (const Op& op : block.ops) {
    if (op.kind == OpKind::load) {
      if (WindowUse* use = use_of(op.ref); use != nullptr && !op.out.empty()) {
        const std::vector<const Op*>& readers = users[static_cast<size_t>(op.out[0])];
        use->is_read |= !readers.empty();
        const bool scalars_only = std::all_of(readers.begin(), readers.end(),
                                              [](const Op* reader) { return reader->kind == OpKind::extract; });
        const bool is_scalar = type_of(body, op.out[0]).shape.rank() == 0;
        use->is_read_as_tile |= !readers.empty() && !scalars_only && !is_scalar;
      }
    } else if (op.kind != OpKind::store) {
      for (RefId ref : {op.ref, op.ref2})
        if (WindowUse* use = use_of(ref)) use->is_read = use->is_read_as_tile = true;
    }
    for (const Block& inner : op.blocks) find_uses(body, inner, users, uses);
  }
}

void find_users(const Block& block, std::vector<std::vector<const Op*>>& users) {
  for (const Op& op : block.ops) {
    for (ValueId v : op.in) users[static_cast<size_t>(v)].push_back(&op);
    for (const Block& inner : op.blocks) find_users(inner, users);
  }
}

void advise_spaces(const KernelSpec& spec, const Body& body, const std::vector<int>& slots,
                   std::vector<std::string>& advice) {
  std::vector<std::vector<const Op*>> users(body.values.size());
  find_users(body.top, users);
  std::vector<WindowUse> uses(spec.in.size() + spec.out.size());
  find_uses(body, body.top, users, uses);
  for (size_t i = 0; i < spec.in.size(); ++i) {
    if (slots[i] == 0) continue;
    const bool aliased = std::any_of(spec.aliases.begin(), spec.aliases.end(), [&](const Alias& alias) {
      return alias.input == static_cast<int>(i) || alias.input == static_cast<int>(i + spec.prefetch.size());
    });
    if (!uses[i].is_read) {
      advice.push_back(window_name(spec, i) + " is copied to VMEM but never read: " +
                       (aliased ? "memory_space=pl.ANY keeps the alias without the copies"
                                : "memory_space=pl.ANY leaves it in HBM"));
    } else if (!uses[i].is_read_as_tile && spec.in[i].space == Space::vmem) {
      advice.push_back(window_name(spec, i) + " is read one element at a time: memory_space=pltpu.SMEM serves scalars");
    }
  }
}

}  // namespace

std::string_view name(Bound bound) {
  switch (bound) {
    case Bound::compute:
      return "compute";
    case Bound::hbm:
      return "HBM";
    case Bound::latency:
      return "latency";
  }
  return "?";
}

std::string label(const TimeEstimate& estimate) {
  if (!estimate.not_modelled.empty()) return "not modelled: " + estimate.not_modelled;
  std::string text = "libtpu's estimate, not a chip";
  if (estimate.error_median > 0)
    text += "; median error " + format("%.0f%%", std::max(1.0, std::round(100 * estimate.error_median)));
  return text;
}

TimeEstimate estimate_time(const KernelSpec& spec, const Body& body, const Target& target, const TimeOptions& options) {
  TimeEstimate out;
  const TimeTable* table = time_table(target);
  if (table == nullptr) {
    out.not_modelled = "no timing figures for " + target.name;
    return out;
  }
  const double clock_hz = static_cast<double>(target[FigureId::clock_hz]);
  const double chip_bytes_per_cycle = static_cast<double>(target[FigureId::hbm_bytes_per_second]) / clock_hz;
  const bool is_measured = table->target == target.name;
  // A target of the user's own has its own bandwidth; copies of a measured one run at libtpu's rate.
  const double bytes_per_cycle =
      options.share_hbm_bandwidth || !is_measured ? chip_bytes_per_cycle : table->bytes_per_cycle;
  const CopyTimer copies(*table, bytes_per_cycle, options.share_hbm_bandwidth);
  BodyTimer timer(body, *table, target, {options.assumed_trips});
  out.body_static_cycles =
      timer.static_cycles() + table->step + table->window * static_cast<double>(spec.in.size() + spec.out.size());
  for (int axis = 0; axis < spec.grid.rank(); ++axis)
    if (spec.grid[axis] < 0) {
      out.not_modelled = "grid axis " + std::to_string(axis) + " is known only at run time";
      return out;
    }
  if (spec.step_count() == 0) {
    out.not_modelled = "the grid has no step";
    return out;
  }
  const std::vector<int> slots = pipeline_slots(spec);
  const CoreGrid grid = core_grid(spec, target);
  out.steps = spec.step_count();
  out.steps_per_core = grid.step_count;
  Pipeline pipeline(spec, target, *table, timer, slots, options.prefetch);
  PipelineTotals totals = pipeline.run(grid, copies, options.timeline_steps);
  out.cycles = totals.cycles;
  out.us = totals.cycles / clock_hz * 1e6;
  out.compute_cycles = totals.compute;
  out.exposed_dma_cycles = totals.waited;
  const double steps = static_cast<double>(std::max<int64_t>(1, grid.step_count));
  out.body_cycles = totals.compute / steps;
  out.body_cycles_min = totals.body_min;
  out.body_cycles_max = totals.body_max;
  out.timeline = std::move(totals.timeline);
  for (size_t i = 0; i < slots.size(); ++i) {
    out.hbm_bytes += totals.bytes[i];
    if (slots[i] == 0) continue;
    WindowTime w;
    w.name = window_name(spec, i);
    w.is_input = i < spec.in.size();
    w.slots = slots[i];
    w.copies = totals.copies[i];
    w.bytes_per_copy = pipeline.full_block_bytes(i);
    w.cycles_per_copy = copies.cycles(w.is_input ? CopyDirection::in : CopyDirection::out, w.bytes_per_copy);
    w.total_cycles = w.cycles_per_copy * static_cast<double>(w.copies);
    out.windows.push_back(std::move(w));
  }
  out.hbm_bytes += timer.copy_bytes();
  out.hbm_cycles = static_cast<double>(out.hbm_bytes) / bytes_per_cycle;
  // The largest part of the time: work, bytes at full bandwidth, or the rest (copies too small or too serial to fill
  // either).
  const double rest = out.cycles - std::max(out.compute_cycles, out.hbm_cycles);
  if (rest > std::max(out.compute_cycles, out.hbm_cycles))
    out.bound = Bound::latency;
  else
    out.bound = out.compute_cycles >= out.hbm_cycles ? Bound::compute : Bound::hbm;
  const bool has_kernel_error = table->kernel_error_median > 0 && is_measured;
  out.error_median = has_kernel_error ? table->kernel_error_median : table->body_error_median;
  out.error_p90 = has_kernel_error ? table->kernel_error_p90 : table->body_error_p90;

  if (!is_measured)
    out.notes.push_back("timed as " + std::string(table->target) + " with this target's clock and bandwidth");
  if (!table->copies_measured) out.notes.push_back("copy rates of " + std::string(table->target) + " are not measured");
  if (timer.assumed_trips())
    out.notes.push_back("a loop's trip count depends on data: " + std::to_string(options.assumed_trips) + " assumed");
  out.notes.insert(out.notes.end(), body.notes.begin(), body.notes.end());
  if (std::ranges::any_of(body.refs, is_longer_than_counted))
    out.notes.push_back("how much a copy moves is known only at run time: its least is counted");
  if (timer.assumed_branch()) out.notes.push_back("a branch depends on data: taken as entered");
  for (size_t i = 0; i < slots.size(); ++i) {
    const Window& window = window_at(spec, i);
    if (slots[i] > 0 && window.index && options.prefetch == nullptr &&
        window.index.dependence(spec.grid.rank()).prefetch) {
      out.notes.push_back("index maps read scalar prefetch: a new block at each step that could bring one is assumed");
      break;
    }
  }

  if (!options.advise) return out;
  for (size_t i = 0; i < spec.in.size(); ++i) {
    if (slots[i] < 2 || pipeline.full_block_bytes(i) < kAdviceMinBytes) continue;
    if (4 * totals.copies[i] > grid.step_count) continue;  // fetched too often to be harmless
    std::vector<int> fewer = slots;
    fewer[i] = 1;
    Pipeline other(spec, target, *table, timer, fewer, options.prefetch);
    const double cycles = other.run(grid, copies, 0).cycles;
    if (cycles <= out.cycles * (1 + kHarmlessShare))
      out.advice.push_back(window_name(spec, i) + " needs no second buffer: pl.Buffered(1) frees " +
                           std::to_string(pipeline.full_block_bytes(i)) + " bytes for " +
                           format("%.1f%%", std::max(0.0, 100 * (cycles / out.cycles - 1))) + " more time");
  }
  advise_spaces(spec, body, slots, out.advice);
  return out;
}

namespace {

bool is_work(const Op& op, const Body& body) {
  switch (op.kind) {
    case OpKind::loop:
    case OpKind::while_loop:
    case OpKind::branch:
    case OpKind::scope:
    case OpKind::store:
    case OpKind::opaque:
      return true;
    case OpKind::load:
      return !op.is_dead && !op.out.empty() && type_of(body, op.out[0]).shape.rank() > 0;
    case OpKind::dma_start:
    case OpKind::dma_wait:
    case OpKind::sem_signal:
    case OpKind::sem_wait:
    case OpKind::sem_read:
      return false;
    default:
      return !op.out.empty() && type_of(body, op.out[0]).shape.rank() > 0 && op.kind != OpKind::constant;
  }
}

// Whether two Refs, or two scalars, are the same at every step, as far as their definitions tell.
class SamePlace {
 public:
  explicit SamePlace(const Body& body) : body_(body), definitions_(body.values.size(), nullptr) { index(body.top); }

  // Whether `part` is `whole` or cut out of it.
  bool is_part(RefId part, RefId whole) const {
    for (; part != kNone; part = body_.refs[static_cast<size_t>(part)].base)
      if (refs(part, whole)) return true;
    return false;
  }
  bool refs(RefId a, RefId b) const {
    if (a == b) return true;
    const RefInfo &x = body_.refs[static_cast<size_t>(a)], &y = body_.refs[static_cast<size_t>(b)];
    if (x.base == kNone || y.base == kNone || x.dtype != y.dtype || !(x.shape == y.shape) ||
        !offsets(x.starts, y.starts) || !offsets(x.sizes, y.sizes))
      return false;
    return refs(x.base, y.base);
  }

 private:
  void index(const Block& block) {
    for (const Op& op : block.ops) {
      for (ValueId v : op.out) definitions_[static_cast<size_t>(v)] = &op;
      for (const Block& inner : op.blocks) index(inner);
    }
  }
  bool offsets(const std::vector<Offset>& a, const std::vector<Offset>& b) const {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](const Offset& p, const Offset& q) {
      if (p.is_constant() != q.is_constant()) return false;
      return p.is_constant() ? p.constant == q.constant : scalars(p.value, q.value);
    });
  }
  bool scalars(ValueId a, ValueId b, int depth = 0) const {
    constexpr int kMaxDepth = 16;
    if (a == b) return true;
    const Op *x = definitions_[static_cast<size_t>(a)], *y = definitions_[static_cast<size_t>(b)];
    if (x == nullptr || y == nullptr || depth > kMaxDepth || x->kind != y->kind || x->fn != y->fn ||
        !(x->axes == y->axes) || x->in.size() != y->in.size())
      return false;
    if (x->kind == OpKind::constant) return x->is_splat && y->is_splat && x->number == y->number;
    if (x->kind == OpKind::grid_index || x->kind == OpKind::grid_size) return true;
    if (x->kind != OpKind::elementwise && x->kind != OpKind::convert) return false;
    for (size_t i = 0; i < x->in.size(); ++i)
      if (!scalars(x->in[i], y->in[i], depth + 1)) return false;
    return true;
  }

  const Body& body_;
  std::vector<const Op*> definitions_;
};

void find_serialized(const Body& body, const Block& block, const SamePlace& same, std::vector<Finding>& findings) {
  for (size_t i = 0; i < block.ops.size(); ++i) {
    const Op& start = block.ops[i];
    for (const Block& inner : start.blocks) find_serialized(body, inner, same, findings);
    if (start.kind != OpKind::dma_start || start.is_remote || start.sem == kNone) continue;
    for (size_t j = i + 1; j < block.ops.size(); ++j) {
      const Op& op = block.ops[j];
      if (is_work(op, body)) break;
      if (op.kind != OpKind::dma_wait || op.sem == kNone || op.ref2 == kNone || start.ref2 == kNone) continue;
      // The same copy: another slot's may have been on its way for long.
      if (!same.refs(op.sem, start.sem) || !same.is_part(op.ref2, start.ref2)) continue;
      Finding f = Finding::make(Kind::dma_serialized, "a copy is waited for as soon as it is started: nothing hides it",
                                start.at);
      f.labels.push_back({op.at, "the wait"});
      f.helps.push_back("start the copy earlier (a second buffer and semaphore), and wait where the data is used");
      findings.push_back(std::move(f));
      break;
    }
  }
}

}  // namespace

std::vector<Finding> find_serialized_copies(const Body& body) {
  std::vector<Finding> findings;
  find_serialized(body, body.top, SamePlace(body), findings);
  return findings;
}

}  // namespace tilecheck::fit
