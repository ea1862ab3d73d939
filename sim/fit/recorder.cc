#include "sim/fit/recorder.h"

#include <algorithm>
#include <sstream>

#include "sim/fit/recorded_op.h"
#include "sim/ops/recorded.h"
#include "sim/types/error.h"

namespace tilecheck::fit {
namespace {

// A body that does more in one step is not recorded to its end.
constexpr int64_t kMaxOperations = 1 << 20, kMaxRecordedOperations = 1 << 15;
// Iterations, questions for data and operations on what the body knows, too.
constexpr int64_t kMaxPasses = 1 << 22, kPassesBetweenLooks = 1 << 10;
// Iterations of a loop that are recorded in full; in the others only branches and loops are looked at.
constexpr int64_t kFullIterations = 3;
// Places at which an operation or a branch is looked at.
constexpr size_t kMaxSeen = 40, kMaxSiteSeen = 1 << 16;

TileType type_of(const Tile& tile) { return {tile.dtype(), tile.shape()}; }

bool same_type(const TileType& a, const TileType& b) { return a.dtype == b.dtype && a.shape == b.shape; }

bool same_ref(const Ref& a, const Ref& b) {
  if (a.buffer != b.buffer || a.dtype != b.dtype || a.hidden != b.hidden || a.pack != b.pack || !(a.base == b.base))
    return false;
  for (int d = 0; d < a.box.rank; ++d)
    if (a.box[d].n != b.box[d].n || a.box[d].step != b.box[d].step) return false;
  return true;
}

// The same operation but for values and for where Refs begin.
bool same_operation(const RecordedOp& a, const RecordedOp& b) {
  return a.op.kind == b.op.kind && a.op.fn == b.op.fn && a.op.axes == b.op.axes && a.site == b.site &&
         a.blocks == b.blocks && a.op.has_mask == b.op.has_mask && a.op.name == b.op.name &&
         std::equal(a.out.begin(), a.out.end(), b.out.begin(), b.out.end(), same_type) &&
         std::equal(a.refs.begin(), a.refs.end(), b.refs.begin(), b.refs.end(), same_ref) &&
         std::equal(a.in.begin(), a.in.end(), b.in.begin(), b.in.end(),
                    [](const Operand& x, const Operand& y) { return same_type(x.type, y.type); });
}

// Which of two runs of a block is kept: the one with more to do.
std::pair<size_t, int64_t> work(const std::vector<RecordedOp>& ops) {
  int64_t elements = 0;
  for (const RecordedOp& op : ops)
    for (const TileType& type : op.out) elements += element_count(type.shape);
  return {ops.size(), elements};
}

}  // namespace

void Recorder::run(RecordingRun& run, const Dims& step, int64_t stand_in, bool is_light) {
  if (blocks_.empty()) blocks_.emplace_back();
  visits_.clear();
  values_.clear();
  at_.assign(step.begin(), step.end());
  stand_in_ = at_.size();
  at_.push_back(stand_in);
  last_at_ = {};
  run_passes_ = run_operations_ = recorded_operations_ = 0;
  met_unrecorded_ = false;
  run_is_light_ = is_light;
  enter(0, is_light);
  run.run(step, *this);
  leave();
}

// ---- Blocks.

Recorder::Place Recorder::place(Loc at) {
  Visit& visit = visits_.back();
  return {visit.block, at.file, at.line, at.column, visit.passes[{at.file, at.line, at.column}]++};
}

int32_t Recorder::block_at(const Place& place, int side, bool is_loop) {
  const auto [it, is_new] = block_ids_.try_emplace({place, side}, static_cast<int32_t>(blocks_.size()));
  if (is_new) {
    const RecordedBlock& parent = blocks_[static_cast<size_t>(place.block)];
    RecordedBlock block{.parent = place.block, .depth = parent.depth + 1, .loop = parent.loop, .loops = parent.loops};
    if (is_loop) {
      block.loop = it->second;
      ++block.loops;
    }
    blocks_.push_back(std::move(block));
  }
  return it->second;
}

int32_t Recorder::site_at(const Place& place) {
  const auto [it, is_new] = site_ids_.try_emplace(place, static_cast<int32_t>(sites_.size()));
  if (is_new) sites_.push_back({place.block, {}});
  return it->second;
}

void Recorder::enter(int32_t block, bool is_light) {
  // A full run passes by nothing that is new.
  const bool is_new = !blocks_[static_cast<size_t>(block)].is_recorded;
  if (is_new && run_is_light_) met_unrecorded_ = true;
  visits_.push_back({.block = block, .is_light = run_is_light_ || (is_light && !is_new), .ops = {}, .passes = {}});
}

void Recorder::leave() {
  Visit visit = std::move(visits_.back());
  visits_.pop_back();
  RecordedBlock& block = blocks_[static_cast<size_t>(visit.block)];
  if (!visit.is_light) {
    merge(visit.block, visit.ops);
  } else if (static_cast<size_t>(visit.count) != block.ops.size()) {
    block.differs = true;
    met_unrecorded_ |= static_cast<size_t>(visit.count) > block.ops.size();
  }
}

bool Recorder::is_within(int32_t block, int32_t outer) const {
  while (block != kNone && block != outer) block = blocks_[static_cast<size_t>(block)].parent;
  return block == outer;
}

void Recorder::merge(int32_t id, std::vector<RecordedOp>& ops) {
  RecordedBlock& block = blocks_[static_cast<size_t>(id)];
  if (!block.is_recorded) {
    block.is_recorded = true;
    block.ops = std::move(ops);
    return;
  }
  if (!std::equal(ops.begin(), ops.end(), block.ops.begin(), block.ops.end(), same_operation)) {
    block.differs = true;
    if (work(ops) > work(block.ops)) block.ops = std::move(ops);
    return;
  }
  for (size_t i = 0; i < ops.size(); ++i) {
    RecordedOp& kept = block.ops[i];
    for (Seen& seen : ops[i].seen)
      if (kept.seen.size() < kMaxSeen) kept.seen.push_back(std::move(seen));
    for (size_t k = 0; k < kept.in.size(); ++k) {
      Operand& operand = kept.in[k];
      const ValueKey& key = ops[i].in[k].key;
      if (!key.known() || key == operand.key || operand.later.known()) continue;
      operand.later = key;
      // What a branch may have put in its place: the branch's result.
      if (!is_within(id, key.block) && (!operand.key.known() || is_within(id, operand.key.block)))
        std::swap(operand.key, operand.later);
    }
  }
}

// ---- Operations.

void Recorder::fail_endless(const std::string& limit) const {
  throw Incomplete("recording the body: it does not end within " + limit +
                   (last_at_.known() ? ", at " + to_string(last_at_) : ""));
}

void Recorder::pass() {
  if (++run_passes_ > kMaxPasses) fail_endless(std::to_string(kMaxPasses) + " iterations");
  if (run_passes_ % kPassesBetweenLooks == 0 && std::chrono::steady_clock::now() > deadline_) {
    std::ostringstream limit;
    limit << limit_seconds_ << " s";
    fail_endless(limit.str());
  }
}

template <typename Make>
int32_t Recorder::add(Make make) {
  pass();
  ++operations_;
  Visit& visit = visits_.back();
  const bool is_full = !visit.is_light;
  recorded_operations_ += is_full;
  if (++run_operations_ > kMaxOperations || recorded_operations_ > kMaxRecordedOperations)
    fail_endless(std::to_string(is_full ? kMaxRecordedOperations : kMaxOperations) + " operations");
  if (is_full) visit.ops.push_back(make());
  return visit.count++;
}

RecordedOp Recorder::with_refs(OpKind kind, Loc at, std::initializer_list<const Ref*> refs) const {
  RecordedOp r;
  r.op.kind = kind;
  r.op.at = at;
  Seen seen{at_, {}};
  for (const Ref* ref : refs) {
    if (!ref->has_value()) throw Incomplete("recording the body: a copy without a Ref, at " + to_string(at));
    r.refs.push_back(*ref);
    for (int d = 0; d < ref->box.rank; ++d) seen.numbers.push_back(ref->box[d].lo);
  }
  r.seen.push_back(std::move(seen));
  return r;
}

void Recorder::number(const Tile& tile, int32_t op) {
  set_value_number(tile, static_cast<int64_t>(values_.size()));
  values_.push_back({visits_.back().block, op});
}

Operand Recorder::operand(const Tile& tile) const {
  Operand operand{type_of(tile), {}, 0, {}};
  if (tile.layout() == Layout::splat) {
    operand.number = tile.at(0);
  } else if (const int64_t number = value_number(tile); number >= 0 && static_cast<size_t>(number) < values_.size()) {
    operand.key = values_[static_cast<size_t>(number)];
  } else {
    throw Incomplete("recording the body: it uses a tile of another step");
  }
  return operand;
}

// A scalar as a tile of `shape`.
Operand Recorder::operand(const Tile& tile, const Shape& shape) {
  Operand scalar = operand(tile);
  if (shape.rank() == 0 || tile.rank() > 0) return scalar;
  Operand stretched{{tile.dtype(), shape}, {}, scalar.number, {}};
  if (!scalar.key.known()) return stretched;
  const int32_t op = add([&] {
    RecordedOp r;
    r.op.kind = OpKind::broadcast;
    r.op.name = "broadcast";
    r.op.at = last_at_;
    r.in.push_back(scalar);
    r.out.push_back(stretched.type);
    return r;
  });
  stretched.key = {visits_.back().block, op};
  return stretched;
}

void Recorder::on_op(const OpCall& call, std::span<const Tile> operands, const Tile& result) {
  if (result.layout() != Layout::shape_only) return pass();  // the body knows it
  if (is_light()) {
    // Scalars are stretched by an operation of their own.
    if (info(call.op).elementwise && call.op != OpId::select && result.rank() > 0)
      for (const Tile& tile : operands)
        if (tile.rank() == 0 && tile.layout() == Layout::shape_only) add([] { return RecordedOp{}; });
    number(result, add([] { return RecordedOp{}; }));
    return;
  }
  RecordedOp r;
  r.op = recorded_op(call, operands);
  r.op.at = last_at_;  // operators have no place of their own
  const bool stretches = info(call.op).elementwise && call.op != OpId::select;
  for (const Tile& tile : operands) r.in.push_back(operand(tile, stretches ? result.shape() : Shape{}));
  r.out.push_back(type_of(result));
  // What a payload always has.
  const bool wants_start =
      (r.op.kind == OpKind::reduce && r.in.size() == 1) || (r.op.kind == OpKind::matmul && r.in.size() == 2);
  if (wants_start) r.in.push_back({r.out[0], {}, 0, {}});
  number(result, add([&] { return std::move(r); }));
}

void Recorder::on_load(const Ref& ref, const Access& access, const Tile& result, Loc at) {
  last_at_ = at;
  number(result, add([&] {
           RecordedOp r = with_refs(OpKind::load, at, {&ref});
           r.op.name = "load";
           r.op.has_mask = access.mask.has_value();
           if (r.op.has_mask) r.in.push_back(operand(access.mask));
           r.out.push_back(type_of(result));
           return r;
         }));
}

void Recorder::on_store(const Ref& ref, const Tile& value, const Access& access, Loc at) {
  last_at_ = at;
  add([&] {
    RecordedOp r = with_refs(OpKind::store, at, {&ref});
    r.op.name = "store";
    r.in.push_back(operand(value));
    r.op.has_mask = access.mask.has_value();
    if (r.op.has_mask) r.in.push_back(operand(access.mask));
    return r;
  });
}

int64_t Recorder::on_index(const Tile&, Loc at) {
  last_at_ = at;
  pass();
  if (std::ranges::find(data_places_, at) == data_places_.end()) data_places_.push_back(at);
  return at_[stand_in_];
}

bool Recorder::on_condition(const Tile&, Loc at) {
  last_at_ = at;
  pass();
  if (std::ranges::find(data_places_, at) == data_places_.end()) data_places_.push_back(at);
  return true;
}

// ---- Control.

void Recorder::on_branch(const Tile* condition, bool truth, const std::function<void()>& then,
                         const std::function<void()>& otherwise, Loc at) {
  last_at_ = at;
  const Place here = place(at);
  const int32_t site = condition ? kNone : site_at(here);
  const int32_t sides[2] = {block_at(here, 0, false), otherwise ? block_at(here, 1, false) : kNone};
  if (site != kNone)
    if (std::vector<Seen>& seen = sites_[static_cast<size_t>(site)].seen; seen.size() < kMaxSiteSeen)
      seen.push_back({at_, {truth ? 1 : 0}});
  add([&] {
    RecordedOp r;
    r.op.kind = OpKind::branch;
    r.op.at = at;
    r.op.name = "when";
    r.site = site;
    if (condition) r.in.push_back(operand(*condition));
    r.blocks.push_back(sides[0]);
    if (otherwise) r.blocks.push_back(sides[1]);
    return r;
  });
  const bool light = is_light();
  if (condition || truth) {
    enter(sides[0], light);
    then();
    leave();
  }
  if (otherwise && (condition || !truth)) {
    enter(sides[1], light);
    otherwise();
    leave();
  }
}

void Recorder::on_loop(int64_t lower, int64_t upper, const std::function<void(int64_t)>& body, Loc at) {
  last_at_ = at;
  const Place here = place(at);
  const int32_t site = site_at(here), block = block_at(here, 0, true);
  if (std::vector<Seen>& seen = sites_[static_cast<size_t>(site)].seen; seen.size() < kMaxSiteSeen)
    seen.push_back({at_, {lower, upper}});
  add([&] {
    RecordedOp r;
    r.op.kind = OpKind::loop;
    r.op.at = at;
    r.op.name = "loop";
    r.site = site;
    r.blocks.push_back(block);
    return r;
  });
  const bool light = is_light();
  for (int64_t i = lower; i < upper; ++i) {
    pass();
    at_.push_back(i);
    enter(block, light || i - lower >= kFullIterations);
    body(i);
    leave();
    at_.pop_back();
  }
}

void Recorder::on_scope(std::span<const Scratch> allocations, const std::function<void(std::span<const Ref>)>& body,
                        Loc at) {
  last_at_ = at;
  const int32_t block = block_at(place(at), 0, false);
  add([&] {
    RecordedOp r;
    r.op.kind = OpKind::scope;
    r.op.at = at;
    r.op.name = "scope";
    r.blocks.push_back(block);
    return r;
  });
  std::vector<Ref> refs;
  for (size_t i = 0; i < allocations.size(); ++i) {
    const Scratch& a = allocations[i];
    std::unique_ptr<Buffer>& buffer = scoped_[{block, i}];
    if (!buffer) buffer = shape_buffer(a.name, a.space, a.dtype, a.shape);
    if (!(buffer->shape == a.shape) || buffer->dtype != a.dtype)
      throw InputError(to_string(at),
                       "one scope allocates different shapes at different times; give each its own line");
    refs.push_back(Ref::whole(*buffer));
  }
  enter(block, is_light());
  for (const Ref& ref : refs)
    add([&] {
      RecordedOp r;
      r.op.kind = OpKind::alloc;
      r.op.at = at;
      r.op.name = "alloc";
      r.refs.push_back(ref);
      return r;
    });
  body(refs);
  leave();
}

// ---- Copies and semaphores.

void Recorder::on_copy(const CopyHandle& copy, Loc at) {
  last_at_ = at;
  add([&] {
    RecordedOp r = with_refs(OpKind::dma_start, at, {&copy.source, &copy.destination, &copy.done});
    r.op.name = "start_copy";
    r.op.is_remote = copy.remote;
    return r;
  });
}

void Recorder::on_copy_wait(const Ref& done, const Ref& source, const Ref& destination, Loc at) {
  last_at_ = at;
  add([&] {
    RecordedOp r = with_refs(OpKind::dma_wait, at, {&source, &destination, &done});
    r.op.name = "wait";
    return r;
  });
}

void Recorder::on_semaphore(Semaphore use, const Ref& semaphore, int64_t amount, bool is_remote, Loc at) {
  last_at_ = at;
  add([&] {
    RecordedOp r = with_refs(use == Semaphore::signal ? OpKind::sem_signal
                             : use == Semaphore::wait ? OpKind::sem_wait
                                                      : OpKind::sem_read,
                             at, {&semaphore});
    r.op.name = use == Semaphore::signal ? "signal" : use == Semaphore::wait ? "wait" : "read";
    r.op.is_remote = is_remote;
    if (use != Semaphore::read)
      r.in.push_back({{DType::i32, {}}, {}, static_cast<double>(amount), {}});
    else
      r.out.push_back({DType::i32, {}});
    return r;
  });
}

}  // namespace tilecheck::fit
