#include "tests/unit/sync/world.h"

#include "sim/memory/transfer.h"

namespace tilecheck::testing_sync {

Ref Actor::ref(const std::string& buffer) { return Ref::whole(world_.buffer(buffer, id_)); }
Engine& Actor::engine() { return world_.engine(); }

CopyId Actor::copy(const Ref& from, const Ref& to, SemRef done, Loc at) {
  CopyRequest request;
  request.source = from;
  request.destination = to;
  request.done = done;
  return engine().start(id_, request, at);
}

CopyId Actor::window_copy(const Ref& from, const Ref& to, SemRef done, Loc at) {
  CopyRequest request;
  request.source = from;
  request.destination = to;
  request.done = done;
  request.pipeline = true;
  request.label = "window copy";
  return engine().start(id_, request, at);
}

CopyId Actor::send(const Ref& from, const Ref& to, SemRef sent, SemRef received, int device, Loc at) {
  CopyRequest request;
  request.source = from;
  request.destination = to;
  request.done = received;
  request.sent = sent;
  request.peer.device = device;
  return engine().start(id_, request, at);
}

void Actor::wait(SemRef semaphore, int64_t amount, Loc at) {
  if (semaphore.buffer->dtype == DType::dma_semaphore) {
    engine().wait_copy(id_, semaphore, amount, at);
  } else {
    engine().wait(id_, semaphore, amount, at);
  }
}

void Actor::signal(SemRef semaphore, int64_t amount, Loc at) { engine().signal(id_, semaphore, amount, {}, at); }

void Actor::signal_to(int device, SemRef semaphore, int64_t amount, Loc at) {
  Peer peer;
  (world_.setup().cores ? peer.core : peer.device) = device;
  engine().signal(id_, semaphore, amount, peer, at);
}

int64_t Actor::count(SemRef semaphore, Loc at) { return engine().read(id_, semaphore, at); }

float Actor::load(const Ref& ref, Loc at) {
  if (engine().tracks(*ref.buffer)) engine().access(id_, ref, AccessKind::read, at);
  const CopyImage image = read_image(ref);
  return image.elements.as<float>()[0];
}

void Actor::store(const Ref& ref, float value, Loc at) {
  if (engine().tracks(*ref.buffer)) engine().access(id_, ref, AccessKind::write, at);
  CopyImage image = read_image(ref);
  image.undefined.reset();
  for (int64_t i = 0; i < image.elements.size(); ++i) image.elements.as<float>()[i] = value;
  write_image(image, ref);
}

void Actor::scope(const std::string& name, const std::function<void()>& body, Loc at) {
  Buffer* const list[] = {ref(name).buffer};
  list[0]->alive = true;
  engine().enter_scope(id_, list, at);
  body();
  engine().leave_scope(id_, list, at);
}

void Actor::enter() { engine().entry_barrier(id_); }

World::World(const Machine& setup, const EngineOptions& options, std::vector<Finding>& findings)
    : setup_(setup), findings_(findings), sink_(findings_) {
  engine_ = std::make_unique<Engine>(options, sink_);
  for (AgentId id = 0; id < setup.devices; ++id) {
    Actor& actor = actors_.emplace_back(*this, id);
    engine_->add_agent({setup.cores ? 0 : id, setup.cores ? id : 0, actor.step_pointer()});
  }
  for (const char* name : {"x", "y", "z"}) {
    add(name, Space::hbm, DType::f32, {setup.rows, 8});
    for (Buffer* b : buffers_[name]) {
      for (int64_t i = 0; i < b->array.size(); ++i) b->array.set(i, static_cast<double>(i));
      b->shadow.set_all(true);
      b->filled = true;
    }
  }
  for (const char* name : {"a", "b", "s"}) {
    add(name, Space::vmem, DType::f32, {setup.rows, 8});
    for (Buffer* b : buffers_[name]) {
      b->shadow.set_all(true);
      b->filled = true;
      b->alive = *name != 's';
    }
  }
  add("sem", Space::semaphore, DType::dma_semaphore, {8});
  add("send", Space::semaphore, DType::dma_semaphore, {4});
  add("recv", Space::semaphore, DType::dma_semaphore, {4});
  add("reg", Space::semaphore, DType::semaphore, {4});
  add("barrier", Space::semaphore, DType::semaphore, {});
  for (const std::string& name : setup.adopted) {
    const std::vector<int64_t> counts(static_cast<size_t>(element_count(buffer(name, 0).shape)), 0);
    for (Buffer* b : buffers_[name]) engine_->adopt_semaphores(*b, counts);
  }
  for (const std::string& name : setup.barriers)
    for (Buffer* b : buffers_[name]) engine_->add_barrier_semaphore(*b);
  engine_->set_translate([this](const Ref& ref, int device, int core) {
    Ref out = ref;
    const size_t to = static_cast<size_t>(setup_.cores ? core : device);
    for (auto& [name, list] : buffers_)
      for (Buffer* b : list)
        if (b == ref.buffer) out.buffer = list[to];
    return out;
  });
}

void World::add(const std::string& name, Space space, DType dtype, const Shape& shape) {
  for (AgentId id = 0; id < setup_.devices; ++id) {
    if (setup_.cores && space == Space::hbm && id > 0) {
      buffers_[name].push_back(buffers_[name][0]);
      continue;
    }
    buffers_[name].push_back(&store_.emplace_back(name, space, dtype, dtype, shape, setup_.cores ? 0 : id,
                                                  space == Space::hbm ? -1
                                                  : setup_.cores      ? id
                                                                      : 0));
  }
}

Buffer& World::buffer(const std::string& name, AgentId agent) {
  const auto found = buffers_.find(name);
  if (found == buffers_.end()) throw std::runtime_error("no buffer " + name);
  return *found->second[static_cast<size_t>(agent)];
}

Outcome run(const Machine& setup, EngineOptions options, const Body& body) {
  Outcome out;
  options.hindsight = make_hindsight();
  for (bool again = true; again;) {
    ++out.runs;
    out.findings.clear();
    out.arrays.clear();
    World world(setup, options, out.findings);
    std::vector<std::function<void()>> bodies;
    for (Actor& actor : world.actors()) bodies.emplace_back([&body, &actor] { body(actor); });
    out.finished = world.engine().run(bodies);
    again = world.engine().judge_again();
    out.looked_at = world.engine().looked_at();
    out.independent = world.engine().schedule_independent();
    out.decisions = world.engine().decisions();
    out.alternatives = world.engine().alternatives();
    out.missed_orders = world.engine().missed_orders();
    for (AgentId id = 0; id < setup.devices; ++id) {
      auto& arrays = out.arrays.emplace_back();
      for (auto& [name, list] : world.buffers()) {
        Buffer& b = *list[static_cast<size_t>(id)];
        EXPECT_EQ(b.history, nullptr) << name;
        if (b.dtype != DType::f32) continue;
        const float* data = b.array.as<float>();
        arrays[name].assign(data, data + b.array.size());
      }
    }
    for (auto& [name, list] : world.buffers()) {
      if (!is_semaphore(list[0]->dtype)) continue;
      auto& counts = out.counts[name];
      counts.clear();
      for (int64_t i = 0; i < std::max<int64_t>(1, element_count(list[0]->shape)); ++i)
        counts.push_back(world.engine().final_count({list[0], i}));
    }
  }
  return out;
}

Outcome run(int devices, const std::string& schedule, const Body& body) {
  EngineOptions options;
  options.schedule = parse_schedule(schedule);
  Machine setup;
  setup.devices = devices;
  return run(setup, options, body);
}

const std::vector<std::string>& schedules() {
  static const std::vector<std::string> all{"lazy",     "eager",    "lifo",    "torn",    "random:1", "random:2",
                                            "random:3", "random:4", "pct:1:2", "pct:2:3", "pct:3:4"};
  return all;
}

std::string text(const std::vector<Finding>& findings) {
  std::string out;
  for (const Finding& f : findings) {
    out += std::string(name(f.severity)) + "[" + std::string(name(f.kind)) + "]: " + f.message + "\n";
    for (const Label& l : f.labels) out += "  line " + std::to_string(l.at.line) + ": " + l.text + "\n";
    for (const std::string& h : f.helps) out += "  help: " + h + "\n";
    for (const std::string& n : f.notes) out += "  note: " + n + "\n";
    if (f.repeats) out += "  repeats " + std::to_string(f.repeats) + "\n";
  }
  return out;
}

}  // namespace tilecheck::testing_sync
