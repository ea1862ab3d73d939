#include "sim/fit/time_body.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>

#include "sim/fit/vmem_blocks.h"

namespace tilecheck::fit {
namespace {

// Iterations of a loop that are walked one by one when they differ; the rest go on as the last half of them did.
constexpr int64_t kWalkedIterations = 32;
constexpr int64_t kWalkedIterationsNested = 6;

bool parts_regions(OpKind kind) {
  switch (kind) {
    case OpKind::branch:
    case OpKind::loop:
    case OpKind::while_loop:
    case OpKind::scope:
    case OpKind::dma_wait:
    case OpKind::sem_wait:
    case OpKind::barrier:
      return true;
    default:
      return false;
  }
}

// A load waits for so many of the last stores to its Ref.
constexpr size_t kRememberedStores = 4;
// Copies in flight on one semaphore that are kept: more are never waited for.
constexpr size_t kRememberedCopies = 1024;

bool is_on_chip(Space space) { return space == Space::vmem || space == Space::smem || space == Space::semaphore; }

}  // namespace

double region_cycles(const RegionFeatures& features, const TimeTable& table) {
  if (features.busiest_cycles <= 0) return 0;
  // Two schedules: matmuls start as soon as their operands are there, or each not before the one ahead of it. The truth
  // lies between.
  std::array<double, 2> longest{};
  std::vector<double> done(features.chain.size());
  for (int in_order = 0; in_order < 2; ++in_order) {
    double last_matmul = 0;
    for (size_t i = 0; i < features.chain.size(); ++i) {
      const ChainNode& node = features.chain[i];
      double at = 0;
      for (int32_t before : node.after) at = std::max(at, done[static_cast<size_t>(before)]);
      switch (node.kind) {
        case ChainKind::none:
          break;
        case ChainKind::lane_reduce:
          at += table.lane_reduce + table.lane_accumulate * node.accumulated;
          break;
        case ChainKind::sublane_reduce:
          at += table.sublane_reduce;
          break;
        case ChainKind::transpose:
          at += table.transpose;
          break;
        case ChainKind::transcendental:
          at += table.transcendental;
          break;
        case ChainKind::matmul:
          if (in_order == 1) at = last_matmul = std::max(at, last_matmul);
          at += table.matmul + (node.transposes ? table.transpose : 0);
          break;
      }
      done[i] = at;
      longest[static_cast<size_t>(in_order)] = std::max(longest[static_cast<size_t>(in_order)], at);
    }
  }
  const double chain = (1 - table.matmul_in_order) * longest[0] + table.matmul_in_order * longest[1];
  return table.region + chain + table.busiest_unit * features.busiest_cycles +
         table.second_unit * features.second_cycles + table.weight_push * features.weight_pushes / 8;
}

std::string features_json(const RegionFeatures& f) {
  const auto number = [](double v) {
    char text[32];
    std::snprintf(text, sizeof text, "%.6g", v);
    return std::string(text);
  };
  std::string json = "{\"busiest\":" + number(f.busiest_cycles) + ",\"second\":" + number(f.second_cycles) +
                     ",\"push\":" + number(f.weight_pushes / 8) + ",\"mxu\":" + number(f.slots.mxu) +
                     ",\"xlu\":" + number(f.slots.xlu) + ",\"valu\":" + number(f.slots.valu) +
                     ",\"eup\":" + number(f.slots.eup) + ",\"load\":" + number(f.slots.load) +
                     ",\"store\":" + number(f.slots.store) + ",\"chain\":[";
  for (size_t i = 0; i < f.chain.size(); ++i) {
    const ChainNode& n = f.chain[i];
    json += (i == 0 ? "[[" : ",[[");
    for (size_t k = 0; k < n.after.size(); ++k) json += (k == 0 ? "" : ",") + std::to_string(n.after[k]);
    json += "]," + std::to_string(static_cast<int>(n.kind)) + "," + number(n.accumulated) + "," +
            (n.transposes ? "1]" : "0]");
  }
  return json + "]}";
}

BodyTimer::BodyTimer(const Body& body, const TimeTable& table, const Target& target, BodyTimeOptions options)
    : body_(body), table_(table), target_(target), options_(options), costs_(body, table), scalars_(body) {
  top_ = build(body.top);
}

TimedBlock BodyTimer::build(const Block& block) {
  TimedBlock out;
  std::vector<const Op*> run;
  size_t run_at = 0;  // where the pending run belongs: before the copies that were started in it
  const auto flush = [&] {
    if (!run.empty()) {
      TimedItem item = region(run);
      if (item.features.busiest_cycles > 0) out.items.push_back(std::move(item));
    }
    run.clear();
    run_at = out.items.size();
  };
  for (const Op& op : block.ops) {
    if (op.kind == OpKind::dma_start) {
      // Copies are issued as early as their operands allow: at the start of their run of code.
      TimedItem item;
      item.kind = TimedItem::Kind::copy_start;
      item.op = &op;
      const RefInfo& from = body_.refs[static_cast<size_t>(op.ref)];
      const RefInfo& to = body_.refs[static_cast<size_t>(op.ref2)];
      item.direction = is_on_chip(from.space) && !is_on_chip(to.space) ? CopyDirection::out : CopyDirection::in;
      item.bytes = padded_bytes(to.dtype, to.shape, target_);
      item.semaphore = op.sem == kNone ? kNone : root_of(body_, op.sem);
      out.is_constant = false;
      out.items.insert(out.items.begin() + static_cast<std::ptrdiff_t>(run_at++), std::move(item));
      continue;
    }
    if (!parts_regions(op.kind)) {
      run.push_back(&op);
      continue;
    }
    flush();
    TimedItem item;
    item.op = &op;
    switch (op.kind) {
      case OpKind::dma_wait:
        item.kind = TimedItem::Kind::copy_wait;
        item.semaphore = op.sem == kNone ? kNone : root_of(body_, op.sem);
        out.is_constant = false;
        break;
      case OpKind::branch:
        item.kind = TimedItem::Kind::branch;
        for (const Block& b : op.blocks) item.blocks.push_back(build(b));
        out.is_constant = false;
        break;
      case OpKind::loop:
      case OpKind::while_loop:
        item.kind = TimedItem::Kind::loop;
        for (const Block& b : op.blocks) item.blocks.push_back(build(b));
        for (const TimedBlock& b : item.blocks) out.is_constant &= b.is_constant;
        out.is_constant &= op.trips != kNone;
        break;
      case OpKind::scope:
        for (const Block& b : op.blocks) {
          TimedBlock inner = build(b);
          out.is_constant &= inner.is_constant;
          for (TimedItem& i : inner.items) out.items.push_back(std::move(i));
        }
        run_at = out.items.size();
        continue;
      default:  // sem_wait, barrier: no time of their own here
        continue;
    }
    out.items.push_back(std::move(item));
    run_at = out.items.size();
  }
  flush();
  if (out.is_constant) {
    for (const TimedItem& item : out.items) {
      if (item.kind == TimedItem::Kind::region) {
        out.cycles += item.cycles;
      } else {
        double once = table_.region;
        for (const TimedBlock& b : item.blocks) once += b.cycles;
        out.cycles += once * static_cast<double>(item.op->trips);
      }
    }
  }
  return out;
}

TimedItem BodyTimer::region(std::span<const Op* const> ops) const {
  TimedItem item;
  RegionFeatures& f = item.features;
  std::map<ValueId, int32_t> made;               // node that makes a value in this run
  std::map<RefId, std::vector<int32_t>> stored;  // stores to a Ref so far
  for (const Op* op : ops) {
    const OpCost& cost = costs_.of(*op);
    if (!cost.is_live) continue;
    f.slots += cost.slots;
    f.weight_pushes += cost.weight_pushes;
    ++f.operations;
    ChainNode node;
    node.kind = cost.chain;
    node.accumulated = cost.accumulated;
    node.transposes = op->kind == OpKind::matmul && op->matmul.lhs_transposed;
    for (ValueId v : op->in)
      if (const auto it = made.find(v); it != made.end()) node.after.push_back(it->second);
    const RefId root = op->ref == kNone ? kNone : root_of(body_, op->ref);
    if (op->kind == OpKind::load)
      if (const auto it = stored.find(root); it != stored.end())
        node.after.insert(node.after.end(), it->second.begin(), it->second.end());
    const int32_t id = static_cast<int32_t>(f.chain.size());
    for (ValueId v : op->out) made[v] = id;
    if (op->kind == OpKind::store) {
      std::vector<int32_t>& list = stored[root];
      if (list.size() >= kRememberedStores) list.erase(list.begin());
      list.push_back(id);
    }
    f.chain.push_back(std::move(node));
  }
  const UnitSlots& per = table_.slots_per_cycle;
  std::array<double, 7> units = {f.slots.mxu / per.mxu, f.slots.xlu / per.xlu,   f.slots.valu / per.valu,
                                 f.slots.eup / per.eup, f.slots.load / per.load, f.slots.store / per.store,
                                 f.slots.pop / per.pop};
  std::sort(units.begin(), units.end(), std::greater<>());
  f.busiest_cycles = units[0];
  f.second_cycles = units[1];
  item.cycles = region_cycles(f, table_);
  return item;
}

std::optional<int64_t> BodyTimer::trips_of(const Op& op) {
  if (op.kind == OpKind::loop) {
    if (op.trips != kNone) return op.trips;
    if (op.in.size() >= 3) {
      const std::optional<int64_t> lo = scalars_.get(op.in[0]), hi = scalars_.get(op.in[1]),
                                   step = scalars_.get(op.in[2]);
      if (lo && hi && step && *step > 0) return *hi <= *lo ? 0 : (*hi - *lo + *step - 1) / *step;
    }
  }
  assumed_trips_ = true;
  return std::nullopt;
}

void BodyTimer::loop(const TimedItem& item, Result& result, CopyTimer& copies, int depth) {
  const int64_t trips = trips_of(*item.op).value_or(options_.assumed_trips);
  bool alike = true;
  for (const TimedBlock& b : item.blocks) alike &= b.is_constant;
  if (alike) {
    double once = table_.region;
    for (const TimedBlock& b : item.blocks) once += b.cycles;
    result.end += once * static_cast<double>(trips);
    result.compute += once * static_cast<double>(trips);
    return;
  }
  const int64_t walked = std::min(trips, depth == 0 ? kWalkedIterations : kWalkedIterationsNested);
  const Block& inner = item.op->blocks.back();
  const std::optional<int64_t> lo = item.op->kind == OpKind::loop ? scalars_.get(item.op->in[0]) : std::nullopt;
  const std::optional<int64_t> step = item.op->kind == OpKind::loop ? scalars_.get(item.op->in[2]) : std::nullopt;
  Result half = result;
  for (int64_t i = 0; i < walked; ++i) {
    if (i == walked / 2) half = result;
    if (!inner.args.empty() && item.op->kind == OpKind::loop)
      scalars_.set(inner.args[0], lo && step ? std::optional(*lo + i * *step) : std::nullopt);
    result.end += table_.region;
    result.compute += table_.region;
    for (const TimedBlock& b : item.blocks) walk(b, result, copies, depth + 1);
  }
  if (trips > walked) {
    const double more = static_cast<double>(trips - walked) / static_cast<double>(walked - walked / 2);
    const Result last = result;
    result.end += more * (last.end - half.end);
    result.compute += more * (last.compute - half.compute);
    result.waited += more * (last.waited - half.waited);
  }
}

void BodyTimer::walk(const TimedBlock& block, Result& result, CopyTimer& copies, int depth) {
  if (block.is_constant) {
    result.end += block.cycles;
    result.compute += block.cycles;
    return;
  }
  for (const TimedItem& item : block.items) {
    switch (item.kind) {
      case TimedItem::Kind::region:
        result.end += item.cycles;
        result.compute += item.cycles;
        break;
      case TimedItem::Kind::branch: {
        const std::optional<int64_t> condition = scalars_.get(item.op->in[0]);
        if (!condition) assumed_branch_ = true;
        const size_t taken = !condition || *condition != 0 ? 0 : 1;
        if (taken < item.blocks.size()) walk(item.blocks[taken], result, copies, depth);
        break;
      }
      case TimedItem::Kind::loop:
        loop(item, result, copies, depth);
        break;
      case TimedItem::Kind::copy_start: {
        result.end += copies.issue_cycles();
        std::deque<double>& queue = in_flight_[item.semaphore];
        if (queue.size() >= kRememberedCopies) queue.pop_front();
        queue.push_back(copies.start(item.direction, item.bytes, result.end));
        copy_bytes_ += item.bytes;
        break;
      }
      case TimedItem::Kind::copy_wait: {
        std::deque<double>& queue = in_flight_[item.semaphore];
        if (queue.empty()) break;
        const double arrival = queue.front();
        queue.pop_front();
        if (arrival > result.end) {
          result.waited += arrival - result.end;
          result.end = arrival;
        }
        break;
      }
    }
  }
}

BodyTimer::Result BodyTimer::run(std::span<const int64_t> step, std::span<const int64_t> grid, double start,
                                 CopyTimer& copies) {
  Result result;
  result.end = start;
  if (!top_.is_constant) scalars_.move_to(step, grid);
  walk(top_, result, copies, 0);
  return result;
}

double BodyTimer::static_cycles() const {
  const auto sum = [](const auto& self, const TimedBlock& block) -> double {
    double n = 0;
    for (const TimedItem& item : block.items) {
      n += item.cycles;
      for (const TimedBlock& b : item.blocks) n += self(self, b);
    }
    return n;
  };
  return sum(sum, top_);
}

}  // namespace tilecheck::fit
