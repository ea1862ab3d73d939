// A few simulated devices whose agents call the engine directly: what tests of ordering are written in.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/sync/engine.h"

namespace tilecheck::testing_sync {

// Every device has the same buffers at the same addresses. f32 arrays unless said otherwise; copies of `kRow` bytes
// move one row of 8 elements.
inline constexpr int64_t kRow = 32;

class World;

// One core while it runs.
class Actor {
 public:
  Actor(World& world, AgentId id) : world_(world), id_(id) {}
  int device() const { return id_; }
  AgentId id() const { return id_; }
  Ref ref(const std::string& buffer);  // whole
  Ref row(const std::string& buffer, int64_t i) { return rows(buffer, i, 1); }
  Ref rows(const std::string& buffer, int64_t begin, int64_t n) { return ref(buffer)({ds(begin, n)}); }
  SemRef sem(const std::string& buffer, int64_t i = 0) { return {ref(buffer).buffer, i}; }

  CopyId copy(const Ref& from, const Ref& to, SemRef done, Loc at = std::source_location::current());
  CopyId window_copy(const Ref& from, const Ref& to, SemRef done, Loc at = std::source_location::current());
  CopyId send(const Ref& from, const Ref& to, SemRef sent, SemRef received, int device,
              Loc at = std::source_location::current());
  void wait(SemRef semaphore, int64_t amount, Loc at = std::source_location::current());
  void signal(SemRef semaphore, int64_t amount = 1, Loc at = std::source_location::current());
  void signal_to(int device, SemRef semaphore, int64_t amount = 1, Loc at = std::source_location::current());
  int64_t count(SemRef semaphore, Loc at = std::source_location::current());
  float load(const Ref& ref, Loc at = std::source_location::current());  // the first element
  void store(const Ref& ref, float value, Loc at = std::source_location::current());
  void enter();
  // Runs `body` in a scope that allocates the buffer.
  void scope(const std::string& buffer, const std::function<void()>& body, Loc at = std::source_location::current());
  void step(int64_t i) { step_ = Dims{i}; }
  Engine& engine();
  const Dims* step_pointer() const { return &step_; }

 private:
  World& world_;
  AgentId id_;
  Dims step_;
};

using Body = std::function<void(Actor&)>;

struct Outcome {
  std::vector<Finding> findings;
  bool finished = false;
  bool independent = false;
  int64_t looked_at = 0;  // Engine::looked_at
  std::string decisions;
  std::vector<std::vector<std::string>> alternatives;
  std::string missed_orders;
  std::vector<std::map<std::string, std::vector<float>>> arrays;  // by device
  std::map<std::string, std::vector<int64_t>> counts;             // of device 0's semaphores
  int runs = 0;
  std::set<std::string> kinds() const {
    std::set<std::string> names;
    for (const Finding& f : findings) names.insert(std::string(name(f.kind)));
    return names;
  }
};

struct Machine {
  int devices = 1;
  bool cores = false;  // the agents are cores of one device: "hbm" buffers are one
  int64_t rows = 16;   // of x, y, z, a, b, s
  std::vector<std::string> adopted;
  std::vector<std::string> barriers{"barrier"};
};

class World {
 public:
  World(const Machine& setup, const EngineOptions& options, std::vector<Finding>& findings);
  Buffer& buffer(const std::string& name, AgentId agent);
  void add(const std::string& name, Space space, DType dtype, const Shape& shape);
  Engine& engine() { return *engine_; }
  std::deque<Actor>& actors() { return actors_; }
  const Machine& setup() const { return setup_; }
  std::map<std::string, std::vector<Buffer*>>& buffers() { return buffers_; }

 private:
  Machine setup_;
  std::vector<Finding>& findings_;
  FindingSink sink_;
  std::deque<Buffer> store_;
  std::map<std::string, std::vector<Buffer*>> buffers_;
  std::unique_ptr<Engine> engine_;
  std::deque<Actor> actors_;
};

// Runs `body` once per agent under `options`, until the judgement of its waits stands.
// Buffers: x, y, z: HBM f32[rows, 8], element i = i; a, b: VMEM f32[rows, 8], zero;
// s: the same, in no scope yet; sem: dma_semaphore[8]; send, recv:
// dma_semaphore[4]; reg: semaphore[4]; barrier: semaphore.
Outcome run(const Machine& setup, EngineOptions options, const Body& body);
Outcome run(int devices, const std::string& schedule, const Body& body);

// All the schedules that a correct kernel must be silent under.
const std::vector<std::string>& schedules();

std::string text(const std::vector<Finding>& findings);

}  // namespace tilecheck::testing_sync
