#include "sim/machine/core.h"

#include <algorithm>

#include "sim/machine/state.h"
#include "sim/memory/transfer.h"
#include "sim/types/error.h"

namespace tilecheck {
namespace {

std::string at_step(const MachineState& s) {
  return s.spec->grid.empty() ? std::string() : "step " + step_text(s.step) + " ";
}

Finding finding_on(const MachineState& s, Kind kind, std::string message, const Ref& ref, Loc at) {
  Finding f = Finding::make(kind, at_step(s) + std::move(message), at);
  f.buffer = ref.buffer->name;
  f.range = to_string(ref.box);
  return f;
}

bool is_prefetch(const MachineState& s, const Buffer& b) {
  return std::any_of(s.prefetch.begin(), s.prefetch.end(), [&](const auto& p) { return p.get() == &b; });
}

bool is_vector_space(Space space) { return space == Space::vmem || space == Space::smem; }

// The parts of `ref` where `mask` is on: runs along the last dimension, whole columns where all rows have the same.
std::vector<Ref> lanes_on(const Ref& ref, const Tile& mask) {
  const Shape shape = ref.shape();
  const Tile on = mask.shape() == shape ? mask : broadcast_to(mask, shape);
  if (shape.empty()) return on.int_at(0) != 0 ? std::vector<Ref>{ref} : std::vector<Ref>{};
  using Runs = std::vector<std::pair<int64_t, int64_t>>;
  const int64_t last = shape.back(), rows = last == 0 ? 0 : element_count(shape) / last;
  std::vector<Runs> runs(static_cast<size_t>(rows));
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t i = 0; i < last; ++i) {
      if (on.int_at(r * last + i) == 0) continue;
      Runs& mine = runs[static_cast<size_t>(r)];
      if (!mine.empty() && mine.back().second == i)
        ++mine.back().second;
      else
        mine.push_back({i, i + 1});
    }
  const bool are_alike = std::ranges::all_of(runs, [&](const Runs& r) { return r == runs.front(); });
  std::vector<Ref> parts;
  for (int64_t r = 0; r < (are_alike ? std::min<int64_t>(rows, 1) : rows); ++r) {
    std::vector<Slice> slices(static_cast<size_t>(shape.rank()), all());
    int64_t rest = r;
    for (int d = shape.rank() - 2; d >= 0 && !are_alike; --d) {
      slices[static_cast<size_t>(d)] = ds(rest % shape[d], 1);
      rest /= shape[d];
    }
    for (const auto& [begin, end] : runs[static_cast<size_t>(r)]) {
      slices.back() = ds(begin, end - begin);
      parts.push_back(ref.slice(slices));
    }
  }
  return parts;
}

}  // namespace

int64_t Core::program_id(int axis) const {
  if (axis < 0 || axis >= state_.step.rank())
    throw InputError("program_id(" + std::to_string(axis) + ")",
                     "the grid has rank " + std::to_string(state_.step.rank()));
  return state_.step[axis];
}
int64_t Core::num_programs(int axis) const {
  if (axis < 0 || axis >= state_.spec->grid.rank())
    throw InputError("num_programs(" + std::to_string(axis) + ")",
                     "the grid has rank " + std::to_string(state_.spec->grid.rank()));
  return state_.spec->grid[axis];
}
const Dims& Core::grid_step() const { return state_.step; }
int Core::device_id() const { return state_.device; }
int Core::device_count() const { return state_.options->devices; }
int Core::core_index() const { return state_.core; }
int Core::core_count() const { return state_.options->cores; }
OpContext& Core::ops() { return state_.ops; }
std::shared_ptr<void>& Core::body_state() { return state_.body_state; }
void Core::pulse() { state_.pulse(); }
Engine& Core::engine() {
  state_.pulse();
  if (!state_.engine) throw NeedsSerialRun{};
  return *state_.engine;
}
Counters& Core::counters() { return state_.counters; }
void Core::report(Finding finding) { state_.report(std::move(finding)); }

void Core::undefined_use(const char* what, Loc at) {
  Finding f = Finding::make(Kind::undefined_use, at_step(state_) + what + " was computed from undefined memory", at);
  state_.report(std::move(f));
  throw StopRun{};
}

void Core::incomplete(const std::string& what, Loc at) {
  throw Incomplete(what + (at.known() ? " at " + to_string(at) : std::string()));
}

void Core::admit_place(const Ref& ref, AccessKind kind, Loc at) {
  state_.pulse();
  const Buffer& b = *ref.buffer;
  if (!b.alive) [[unlikely]] {
    Finding f = finding_on(state_, Kind::use_after_scope, "uses '" + b.name + "' after its scope has ended", ref, at);
    if (b.allocated_at.known()) f.labels.push_back({b.allocated_at, "allocated here"});
    state_.report(std::move(f));
  }
  if (!is_vector_space(b.space)) [[unlikely]] {
    Finding f = finding_on(state_, Kind::memory_space,
                           std::string(kind == AccessKind::read ? "loads from" : "stores to") + " '" + b.name +
                               "' in " + std::string(tilecheck::name(b.space)),
                           ref, at);
    f.helps.push_back("copy the block to VMEM first, or give the operand a VMEM block");
    state_.report(std::move(f));
  }
  if (kind == AccessKind::write && b.read_only) [[unlikely]] {
    Finding f = finding_on(state_, Kind::alias_mismatch,
                           "stores to operand '" + b.name + "', which no result aliases and which lies in " +
                               std::string(tilecheck::name(b.space)) + " for later kernels too",
                           ref, at);
    f.helps.push_back("alias a result to the operand (input_output_aliases), or store to an output");
    state_.report(std::move(f));
    throw StopRun{};
  }
  if (!in_bounds(ref, false)) [[unlikely]] {
    const bool read = kind == AccessKind::read;
    Finding f = finding_on(state_, read ? Kind::out_of_bounds_read : Kind::out_of_bounds_write,
                           std::string(read ? "reads " : "writes ") + to_string(ref) + ", outside its shape " +
                               to_tuple(ref.buffer_base()),
                           ref, at);
    state_.report(std::move(f));
  }
  // A parallel part's index maps must see what a serial run's would.
  if (!state_.engine && kind == AccessKind::write && b.space == Space::smem && is_prefetch(state_, b)) [[unlikely]]
    throw NeedsSerialRun{};
}

void Core::admit(const Ref& ref, AccessKind kind, Loc at) {
  if (state_.recorder) [[unlikely]]
    return;
  admit_place(ref, kind, at);
  if (state_.engine && state_.engine->tracks(*ref.buffer)) [[unlikely]]
    state_.engine->access(state_.agent, ref, kind, at);
}

void Core::admit(const Ref& ref, const Tile& mask, AccessKind kind, Loc at) {
  admit_place(ref, kind, at);
  if (!state_.engine || !state_.engine->tracks(*ref.buffer)) return;
  for (const Ref& part : lanes_on(ref, mask)) state_.engine->access(state_.agent, part, kind, at);
}

Tile Core::load(const Ref& ref, const Access& access, Loc at) {
  if (state_.recorder) [[unlikely]] {
    Tile tile = Tile::shape_only(state_.ops, ref.dtype, ref.shape());
    state_.recorder->on_load(ref, access, tile, at);
    return tile;
  }
  if (access.mask.has_value())
    admit(ref, access.mask, AccessKind::read, at);
  else
    admit(ref, AccessKind::read, at);
  ++state_.counters.loads;
  state_.counters.load_bytes += ref.size_bytes();
  if (ref.space() == Space::smem && ref.element_count() != 1) [[unlikely]] {
    Finding f =
        finding_on(state_, Kind::memory_space, "loads a vector from '" + ref.buffer->name + "' in SMEM", ref, at);
    f.helps.push_back("SMEM is read one scalar at a time");
    state_.report(std::move(f));
  }
  return access.mask.has_value() ? load_tile_masked(state_.ops, ref, access.mask) : load_tile(state_.ops, ref);
}

void Core::store(const Ref& ref, const Tile& tile, const Access& access, Loc at) {
  const Shape shape = ref.shape();
  if (tile.dtype() != ref.dtype)
    throw InputError(to_string(at), "stores a tile of " + std::string(tilecheck::name(tile.dtype())) + " to '" +
                                        ref.buffer->name + "' of " + std::string(tilecheck::name(ref.dtype)) +
                                        "; convert it first");
  if (!(tile.shape() == shape) && !tile.is_scalar())
    throw InputError(to_string(at), "stores a tile of shape " + to_tuple(tile.shape()) + " to " + to_string(ref) +
                                        " of shape " + to_tuple(shape));
  if (state_.recorder) [[unlikely]] {
    state_.recorder->on_store(ref, tile.shape() == shape ? tile : broadcast_to(tile, shape), access, at);
    return;
  }
  if (access.mask.has_value())
    admit(ref, access.mask, AccessKind::write, at);
  else
    admit(ref, AccessKind::write, at);
  ++state_.counters.stores;
  state_.counters.store_bytes += ref.size_bytes();
  if (ref.space() == Space::smem && ref.element_count() != 1) [[unlikely]] {
    Finding f =
        finding_on(state_, Kind::memory_space, "stores a vector to '" + ref.buffer->name + "' in SMEM", ref, at);
    f.helps.push_back("SMEM is written one scalar at a time");
    state_.report(std::move(f));
  }
  Tile value = tile.shape() == shape ? tile : broadcast_to(tile, shape);
  if (access.add) value = std::move(value) + load_tile(state_.ops, ref);
  if (access.mask.has_value()) {
    store_tile_masked(ref, value, access.mask);
  } else {
    store_tile(ref, value);
  }
}

Tile Core::swap(const Ref& ref, const Tile& tile, const Access& access, Loc at) {
  Tile old = load(ref, access, at);
  store(ref, tile, access, at);
  return old;
}

void Core::store(const Ref& ref, double value, Loc at) { store(ref, full(ref.dtype, ref.shape(), value), {}, at); }

uint64_t Core::load_scalar(const Ref& ref, uint8_t* undefined, Loc at) {
  if (state_.recorder) incomplete("a scalar load of a payload in a recording run", at);
  admit(ref, AccessKind::read, at);
  ++state_.counters.loads;
  return tilecheck::load_scalar(ref, undefined);
}

void Core::store_scalar(const Ref& ref, uint64_t bits, uint8_t undefined, Loc at) {
  if (state_.recorder) incomplete("a scalar store of a payload in a recording run", at);
  admit(ref, AccessKind::write, at);
  ++state_.counters.stores;
  tilecheck::store_scalar(ref, bits, undefined);
}

int64_t Core::load_index(const Ref& scalar, Loc at) {
  if (scalar.element_count() != 1)
    throw InputError(to_string(at),
                     "load_index needs one element; " + to_string(scalar) + " shows " + to_tuple(scalar.shape()));
  if (state_.recorder) return as_index(load(scalar, {}, at), at);
  uint8_t undefined = 0;
  const uint64_t bits = load_scalar(scalar, &undefined, at);
  if (undefined) undefined_use("an index", at);
  return static_cast<int64_t>(bits);
}

int64_t Core::as_index(const Tile& scalar, Loc at) {
  if (scalar.layout() == Layout::shape_only) return state_.recorder->on_index(scalar, at);
  if (scalar.any_undefined()) undefined_use("an index", at);
  return scalar.int_value();
}

bool Core::as_condition(const Tile& scalar, Loc at) {
  if (scalar.layout() == Layout::shape_only) return state_.recorder->on_condition(scalar, at);
  if (scalar.any_undefined()) undefined_use("a branch condition", at);
  return scalar.int_value() != 0;
}

void Core::when(bool condition, const std::function<void()>& then, const std::function<void()>& otherwise, Loc at) {
  if (state_.recorder) [[unlikely]]
    state_.recorder->on_branch(nullptr, condition, then, otherwise, at);
  else if (condition) {
    then();
  } else if (otherwise) {
    otherwise();
  }
}

void Core::when(const Tile& condition, const std::function<void()>& then, const std::function<void()>& otherwise,
                Loc at) {
  if (condition.layout() == Layout::shape_only)
    state_.recorder->on_branch(&condition, true, then, otherwise, at);
  else
    when(as_condition(condition, at), then, otherwise, at);
}

void Core::loop(int64_t lower, int64_t upper, const std::function<void(int64_t)>& body, Loc at) {
  if (state_.recorder) [[unlikely]] {
    state_.recorder->on_loop(lower, upper, body, at);
    return;
  }
  for (int64_t i = lower; i < upper; ++i) {
    pulse();
    body(i);
  }
}

// ---- Copies.

namespace {

void check_copy(MachineState& s, const Ref& source, const Ref& destination, Loc at) {
  for (const Ref* ref : {&source, &destination}) {
    const Buffer& b = *ref->buffer;
    if (!b.alive) {
      Finding f = finding_on(s, Kind::use_after_scope, "copies '" + b.name + "' after its scope has ended", *ref, at);
      s.report(std::move(f));
    }
    if (is_semaphore(b.dtype))
      s.report(finding_on(s, Kind::semaphore_misuse, "copies semaphores of '" + b.name + "'", *ref, at));
    if (!in_bounds(*ref, b.space != Space::smem)) {
      const bool read = ref == &source;
      s.report(finding_on(s, read ? Kind::out_of_bounds_read : Kind::out_of_bounds_write,
                          std::string("copies ") + (read ? "from " : "to ") + to_string(*ref) + ", outside its shape " +
                              to_tuple(ref->buffer_base()),
                          *ref, at));
    }
  }
  if (!(source.shape() == destination.shape()) || source.dtype != destination.dtype) {
    Finding f = finding_on(s, Kind::type_mismatch,
                           "copies " + std::string(name(source.dtype)) + to_tuple(source.shape()) + " to " +
                               std::string(name(destination.dtype)) + to_tuple(destination.shape()),
                           destination, at);
    s.report(std::move(f));
    throw StopRun{};
  }
  if (destination.buffer->read_only) {
    Finding f =
        finding_on(s, Kind::alias_mismatch,
                   "copies into operand '" + destination.buffer->name + "', which no result aliases", destination, at);
    f.helps.push_back("alias a result to the operand (input_output_aliases), or copy to an output");
    s.report(std::move(f));
    throw StopRun{};
  }
}

void start(MachineState& s, Engine& engine, const CopyRequest& request, Loc at) {
  if (s.options->edit) return start_edited(s, engine, request, at);
  if (s.before_own_copy) s.before_own_copy();
  engine.start(s.agent, request, at);
}

}  // namespace

CopyHandle Core::start_copy(const Ref& source, const Ref& destination, const Ref& done, int priority, Loc at) {
  CopyHandle handle{source, destination, done, {}, false};
  if (state_.recorder) [[unlikely]] {
    state_.recorder->on_copy(handle, at);
    return handle;
  }
  check_copy(state_, source, destination, at);
  CopyRequest request;
  request.source = source;
  request.destination = destination;
  request.done = semaphore_of(done);
  request.priority = priority;
  ++state_.counters.dma_copies;
  state_.counters.dma_bytes += source.size_bytes();
  start(state_, engine(), request, at);
  return handle;
}

CopyHandle Core::start_remote_copy(const Ref& source, const Ref& destination, const Ref& sent, const Ref& received,
                                   Peer peer, Loc at) {
  CopyHandle handle{source, destination, received, sent, true};
  if (state_.recorder) [[unlikely]] {
    state_.recorder->on_copy(handle, at);
    return handle;
  }
  check_copy(state_, source, destination, at);
  CopyRequest request;
  request.source = source;
  request.destination = destination;
  request.done = semaphore_of(received);
  request.sent = semaphore_of(sent);
  request.peer = peer;
  if (!request.peer.device && !request.peer.core) request.peer.device = state_.device;
  ++state_.counters.dma_copies;
  state_.counters.dma_bytes += source.size_bytes();
  start(state_, engine(), request, at);
  return handle;
}

void Core::wait(const CopyHandle& copy, Loc at) {
  if (copy.remote) wait_sent(copy, at);
  wait_received(copy, at);
}

void Core::wait_sent(const CopyHandle& copy, Loc at) { wait_bytes_of(copy.sent, copy.source, at); }

void Core::wait_received(const CopyHandle& copy, Loc at) {
  if (state_.recorder) [[unlikely]]
    return state_.recorder->on_copy_wait(copy.done, copy.source, copy.destination, at);
  wait_bytes_of(copy.done, copy.destination, at);
}

void Core::wait_bytes_of(const Ref& done, const Ref& like, Loc at) {
  if (state_.recorder) [[unlikely]]
    return state_.recorder->on_copy_wait(done, like, like, at);
  ++state_.counters.semaphore_waits;
  const SemRef semaphore = semaphore_of(done);
  const int64_t bytes = like.size_bytes();
  if (state_.options->edit) return wait_edited(state_, engine(), SyncCall::What::wait_bytes, semaphore, bytes, at);
  engine().wait_copy(state_.agent, semaphore, bytes, at);
}

void Core::sync_copy(const Ref& source, const Ref& destination, Loc at) {
  const Scratch semaphore{"copy semaphore", DType::dma_semaphore, {}, Space::semaphore};
  scope(
      std::span(&semaphore, 1),
      [&](std::span<const Ref> refs) { wait(start_copy(source, destination, refs[0], 0, at), at); }, at);
}

// ---- Regular semaphores.

void Core::signal(const Ref& semaphore, int64_t amount, Peer peer, Loc at) {
  if (state_.recorder) [[unlikely]]
    return state_.recorder->on_semaphore(BodyRecorder::Semaphore::signal, semaphore, amount,
                                         peer.device.has_value() || peer.core.has_value(), at);
  ++state_.counters.semaphore_signals;
  if (state_.options->edit) return signal_edited(state_, engine(), semaphore_of(semaphore), amount, peer, at);
  engine().signal(state_.agent, semaphore_of(semaphore), amount, peer, at);
}

void Core::wait(const Ref& semaphore, int64_t amount, Loc at) {
  if (state_.recorder) [[unlikely]]
    return state_.recorder->on_semaphore(BodyRecorder::Semaphore::wait, semaphore, amount, false, at);
  ++state_.counters.semaphore_waits;
  if (state_.options->edit)
    return wait_edited(state_, engine(), SyncCall::What::wait, semaphore_of(semaphore), amount, at);
  engine().wait(state_.agent, semaphore_of(semaphore), amount, at);
}

int64_t Core::read(const Ref& semaphore, Loc at) {
  if (state_.recorder) [[unlikely]] {
    state_.recorder->on_semaphore(BodyRecorder::Semaphore::read, semaphore, 0, false, at);
    return 0;
  }
  return engine().read(state_.agent, semaphore_of(semaphore), at);
}

Ref Core::barrier_semaphore(Loc at) {
  if (!state_.barrier && state_.recorder) incomplete("a barrier semaphore without a collective_id", at);
  if (!state_.barrier) {
    Finding f = Finding::make(Kind::semaphore_misuse, "a barrier semaphore needs a collective_id", at);
    f.helps.push_back("set collective_id in the kernel's compiler parameters");
    state_.report(std::move(f));
    throw StopRun{};
  }
  return Ref::whole(*state_.barrier);
}

// ---- Scopes.

void Core::scope(std::span<const Scratch> allocations, const std::function<void(std::span<const Ref>)>& body, Loc at,
                 int site_key) {
  if (state_.recorder) [[unlikely]] {
    state_.recorder->on_scope(allocations, body, at);
    return;
  }
  state_.pulse();
  const int site = site_key >= 0 ? state_.sites->id({}, site_key, 0)
                                 : state_.sites->id(at, state_.scope_depth, static_cast<int>(allocations.size()));
  std::vector<std::unique_ptr<Buffer>>& buffers = state_.scoped_at(site, allocations, at);
  std::vector<Ref> refs;
  std::vector<Buffer*> list;
  for (size_t i = 0; i < buffers.size(); ++i) {
    Buffer& b = *buffers[i];
    if (!(b.shape == allocations[i].shape) || b.dtype != allocations[i].dtype)
      throw InputError(to_string(at),
                       "one scope allocates different shapes at different times; give each its own line");
    b.alive = true;
    if (!is_semaphore(b.dtype)) {
      b.forget();
      b.shadow.set_all(!state_.options->check_definedness);
    }
    refs.push_back(Ref::whole(b));
    list.push_back(&b);
  }
  if (state_.engine) state_.engine->enter_scope(state_.agent, list, at);
  ++state_.scope_depth;
  struct Restore {  // also when a finding stops the run
    int& depth;
    ~Restore() { --depth; }
  } restore{state_.scope_depth};
  body(refs);
  if (state_.engine) state_.engine->leave_scope(state_.agent, list, at);
  for (Buffer* b : list) b->alive = false;
}

}  // namespace tilecheck
