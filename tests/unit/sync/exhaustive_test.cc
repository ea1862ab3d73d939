// Exhaustive exploration held against brute force: small random programs of a few devices, every interleaving of which
// is tried, once by a model of the machine that knows nothing of the engine and once by the engine without reduction.
#include <gmock/gmock.h>

#include <algorithm>
#include <optional>
#include <random>

#include "sim/sync/explore.h"
#include "tests/unit/sync/world.h"

namespace tilecheck::testing_sync {
namespace {

constexpr int kRows = 3;  // of `a` and `x` that programs use
constexpr int kSemaphores = 2;

struct Op {
  enum class What { signal, wait, look, copy, send, wait_copy, wait_sent, wait_received, load, store, skip };
  What what;
  int device = 0;  // signal, send: to
  int semaphore = 0;
  int amount = 1;          // counts; rows of waits for copies
  bool from_x = true;      // copy, send: out of x, else out of a
  int source = 0, to = 0;  // rows; load: source; store: to
};
// What each device does after all have entered. skip: leaves out the next operation if what was seen last is not 0.
using Program = std::vector<std::vector<Op>>;

std::string text(const Op& op) {
  constexpr const char* kNames[] = {"signal",    "wait",          "look", "copy",  "send", "wait_copy",
                                    "wait_sent", "wait_received", "load", "store", "skip"};
  return std::string(kNames[static_cast<int>(op.what)]) + "(device " + std::to_string(op.device) + ", sem " +
         std::to_string(op.semaphore) + ", " + std::to_string(op.amount) + ", " + (op.from_x ? "x" : "a") +
         std::to_string(op.source) + " -> " + std::to_string(op.to) + ")";
}

std::string text(const Program& program) {
  std::string out;
  for (size_t d = 0; d < program.size(); ++d) {
    out += "device " + std::to_string(d) + ":";
    for (const Op& op : program[d]) out += " " + text(op);
    out += "\n";
  }
  return out;
}

// Signals and copies, most of them with a wait for them, in a random order on each device; looks, loads, stores and
// branches on what was seen between. In half of the programs all meet on one device, so that orders show.
Program random_program(uint64_t seed) {
  using What = Op::What;
  std::mt19937_64 random(seed);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<uint64_t>(n)); };
  const bool meet = below(2) == 0;
  const int devices = meet ? 2 + below(2) : 1 + below(3);
  Program program(static_cast<size_t>(devices));
  const auto somebody = [&] { return meet && below(4) > 0 ? 0 : below(devices); };
  const auto insert = [&](int device, const Op& op, int from = 0) {
    auto& ops = program[static_cast<size_t>(device)];
    const int at = from + below(static_cast<int>(ops.size()) - from + 1);
    ops.insert(ops.begin() + at, op);
    return at + 1;
  };
  for (int i = 1 + below(4); i > 0; --i) {
    const int from = below(devices);
    const Op move{What::copy, somebody(), below(kSemaphores), 1, below(3) > 0, below(kRows), below(2)};
    if (below(meet ? 4 : 2) > 0) {
      const Op op{What::signal, somebody(), below(kSemaphores), 1 + below(2)};
      insert(from, op);
      if (below(6) > 0) insert(op.device, {What::wait, 0, op.semaphore, below(2) ? op.amount : 1});
    } else if (devices == 1 || below(2) == 0) {
      const int next = insert(from, move);
      if (below(6) > 0) insert(from, {What::wait_copy, 0, move.semaphore}, below(4) ? next : 0);
    } else {
      Op op = move;
      op.what = What::send;
      const int next = insert(from, op);
      if (below(6) > 0) insert(from, {What::wait_sent}, next);
      if (below(6) > 0) insert(op.device, {What::wait_received, 0, op.semaphore});
    }
  }
  for (int i = below(4); i >= 0; --i) {
    const int device = somebody();
    const int next = insert(device, {What::look, 0, below(kSemaphores)});
    if (below(3) > 0) continue;
    insert(device, {What::signal, somebody(), below(kSemaphores), 1 + below(2)}, next);
    auto& ops = program[static_cast<size_t>(device)];
    ops.insert(ops.begin() + next, {What::skip});
  }
  if (below(3) == 0)
    insert(somebody(), {.what = below(2) ? What::load : What::store, .source = below(2), .to = below(2)});
  return program;
}

// ---- What programs come to.

struct Seen {
  std::vector<std::vector<int>> values;  // by device: looked at and loaded, in order
  bool finished = false;
  std::set<std::string> findings;  // by kind and the operations concerned
  friend auto operator<=>(const Seen&, const Seen&) = default;
};
void PrintTo(const Seen& seen, std::ostream* out) {
  *out << (seen.finished ? "finished" : "deadlock");
  for (const auto& device : seen.values) {
    *out << " |";
    for (const int v : device) *out << " " << v;
  }
  for (const std::string& f : seen.findings) *out << "; " << f;
}

// ---- The machine, without an engine.

class Model {
 public:
  explicit Model(const Program& program) : program_(program) {}
  // Every outcome, findings left out; nullopt: more than `bound` states.
  std::optional<std::set<Seen>> outcomes(size_t bound) {
    std::vector<State> todo{start()};
    std::set<State> known{todo[0]};
    std::set<Seen> out;
    while (!todo.empty()) {
      const State s = todo.back();
      todo.pop_back();
      std::vector<State> next = successors(s);
      if (next.empty()) {
        bool finished = true;
        for (size_t d = 0; d < s.at.size(); ++d) finished = finished && s.at[d] == program_[d].size();
        out.insert({s.values, finished, {}});
      }
      for (State& n : next)
        if (known.insert(n).second) todo.push_back(n);
      if (known.size() > bound) return std::nullopt;
    }
    return out;
  }

 private:
  struct Flight {
    int from, to, done;  // done: index into counts of `to`
    bool remote, from_x, read;
    int source, target, image;
    friend auto operator<=>(const Flight&, const Flight&) = default;
  };
  struct State {
    std::vector<size_t> at;
    std::vector<std::vector<int>> values;
    std::vector<std::vector<int>> counts;  // reg, sem, send, recv
    std::vector<std::vector<int>> memory;  // rows of a
    std::vector<Flight> flights;
    friend auto operator<=>(const State&, const State&) = default;
  };

  State start() const {
    const size_t n = program_.size();
    State s;
    s.at.resize(n);
    s.values.resize(n);
    s.counts.assign(n, std::vector<int>(4 * kSemaphores));
    s.memory.assign(n, std::vector<int>(kRows));
    return s;
  }

  static void read(State& s, Flight& f) {
    f.image = f.from_x ? 8 * f.source : s.memory[static_cast<size_t>(f.from)][static_cast<size_t>(f.source)];
  }

  std::vector<State> successors(const State& s) const {
    std::vector<State> next;
    for (size_t d = 0; d < program_.size(); ++d) {
      if (s.at[d] == program_[d].size()) continue;
      State n = s;
      if (act(n, d)) next.push_back(std::move(n));
    }
    for (size_t i = 0; i < s.flights.size(); ++i) {
      State n = s;
      Flight& f = n.flights[i];
      if (!f.read) read(n, f);
      if (f.remote && !f.read) {
        f.read = true;
        ++n.counts[static_cast<size_t>(f.from)][2 * kSemaphores];
      } else {
        n.memory[static_cast<size_t>(f.to)][static_cast<size_t>(f.target)] = f.image;
        ++n.counts[static_cast<size_t>(f.to)][static_cast<size_t>(f.done)];
        n.flights.erase(n.flights.begin() + static_cast<std::ptrdiff_t>(i));
      }
      next.push_back(std::move(n));
    }
    return next;
  }

  bool act(State& s, size_t d) const {
    using What = Op::What;
    const Op& op = program_[d][s.at[d]++];
    const auto count = [&](int group) -> int& {
      return s.counts[d][static_cast<size_t>(group * kSemaphores + op.semaphore)];
    };
    const auto take = [&](int group) {
      if (count(group) < op.amount) return false;
      count(group) -= op.amount;
      return true;
    };
    const auto fly = [&](bool remote) {
      s.flights.push_back({static_cast<int>(d), remote ? op.device : static_cast<int>(d),
                           (remote ? 3 : 1) * kSemaphores + op.semaphore, remote, op.from_x, false, op.source, op.to,
                           0});
    };
    switch (op.what) {
      case What::signal:
        s.counts[static_cast<size_t>(op.device)][static_cast<size_t>(op.semaphore)] += op.amount;
        return true;
      case What::wait:
        return take(0);
      case What::look:
        s.values[d].push_back(count(0));
        return true;
      case What::copy:
        fly(false);
        return true;
      case What::send:
        fly(true);
        return true;
      case What::wait_copy:
        return take(1);
      case What::wait_sent:
        return take(2);
      case What::wait_received:
        return take(3);
      case What::load:
        s.values[d].push_back(s.memory[d][static_cast<size_t>(op.source)]);
        return true;
      case What::store:
        s.memory[d][static_cast<size_t>(op.to)] = 100;
        return true;
      case What::skip:
        if (!s.values[d].empty() && s.values[d].back() != 0 && s.at[d] < program_[d].size()) ++s.at[d];
        return true;
    }
    return false;
  }

  const Program& program_;
};

// ---- The engine.

void act(Actor& a, const Op& op, Loc at, std::vector<int>& values) {
  using What = Op::What;
  const Ref source = a.row(op.from_x ? "x" : "a", op.source);
  switch (op.what) {
    case What::signal:
      return a.signal_to(op.device, a.sem("reg", op.semaphore), op.amount, at);
    case What::wait:
      return a.wait(a.sem("reg", op.semaphore), op.amount, at);
    case What::look:
      return values.push_back(static_cast<int>(a.count(a.sem("reg", op.semaphore), at)));
    case What::copy:
      a.copy(source, a.row("a", op.to), a.sem("sem", op.semaphore), at);
      return;
    case What::send:
      a.send(source, a.row("a", op.to), a.sem("send"), a.sem("recv", op.semaphore), op.device, at);
      return;
    case What::wait_copy:
      return a.wait(a.sem("sem", op.semaphore), op.amount * kRow, at);
    case What::wait_sent:
      return a.wait(a.sem("send"), op.amount * kRow, at);
    case What::wait_received:
      return a.wait(a.sem("recv", op.semaphore), op.amount * kRow, at);
    case What::load:
      return values.push_back(static_cast<int>(a.load(a.row("a", op.source), at)));
    case What::store:
      return a.store(a.row("a", op.to), 100, at);
    case What::skip:
      return;
  }
}

// Which side of a race comes second, and who added to a semaphore last, depend on the order of what is independent.
std::string summary(const Finding& f) {
  std::set<uint32_t> lines;
  if (f.kind == Kind::race)
    for (const Label& l : f.labels) lines.insert(l.at.line);
  std::string out(name(f.kind));
  for (const uint32_t line : lines) out += " " + std::to_string(line);
  return out;
}

struct Explored {
  Exploration exploration;
  std::set<Seen> outcomes;
};

Explored explore_program(const Program& program, bool remote_in_order, bool reduce, int64_t bound) {
  Machine machine;
  machine.devices = static_cast<int>(program.size());
  Explored result;
  const RunFunction run_one = [&](const ScheduleSpec& spec) {
    EngineOptions options;
    options.schedule = spec;
    options.record_decisions = options.find_alternatives = true;
    options.reduce_alternatives = reduce;
    options.remote_in_order = remote_in_order;
    Seen seen;
    const Body body = [&](Actor& a) {
      const auto d = static_cast<size_t>(a.device());
      std::vector<int>& values = seen.values[d];
      values.clear();  // of a run that is judged again
      a.enter();
      for (size_t i = 0; i < program[d].size(); ++i) {
        if (program[d][i].what == Op::What::skip) {
          if (!values.empty() && values.back() != 0) ++i;
          continue;
        }
        act(a, program[d][i], Loc("program", static_cast<uint32_t>(100 * d + i + 1), 1), values);
      }
    };
    seen.values.resize(program.size());
    const Outcome out = run(machine, options, body);
    seen.finished = out.finished;
    for (const Finding& f : out.findings) seen.findings.insert(summary(f));
    result.outcomes.insert(seen);
    // An independent run claims to stand for all.
    return RunOutcome{false, reduce && out.independent, out.decisions, out.alternatives, out.missed_orders};
  };
  result.exploration = explore_exhaustively(run_one, {.budget_seconds = 1e9, .bound = bound});
  return result;
}

std::set<Seen> without_findings(const std::set<Seen>& all) {
  std::set<Seen> out;
  for (Seen seen : all) {
    seen.findings.clear();
    out.insert(seen);
  }
  return out;
}

TEST(Exhaustive, ReachesWhatAModelOfTheMachineReaches) {
  constexpr uint64_t kPrograms = 3000;
  uint64_t held = 0, order_shows = 0;
  for (uint64_t seed = 0; seed < kPrograms; ++seed) {
    const Program program = random_program(seed);
    const std::optional<std::set<Seen>> expected = Model(program).outcomes(20000);
    if (!expected) continue;
    const Explored actual = explore_program(program, false, true, 5000);
    if (!actual.exploration.complete) continue;
    ++held;
    order_shows += expected->size() > 1;
    ASSERT_EQ(without_findings(actual.outcomes), *expected)
        << "seed " << seed << ", " << actual.exploration.runs << " runs\n"
        << text(program);
  }
  EXPECT_GE(held, kPrograms * 99 / 100);
  EXPECT_GE(order_shows, kPrograms / 10);
}

TEST(Exhaustive, ReachesWhatEveryChoiceReaches) {
  constexpr uint64_t kPrograms = 400;
  uint64_t held = 0, order_shows = 0;
  int64_t runs = 0, all_runs = 0;
  for (uint64_t seed = 0; seed < kPrograms; ++seed) {
    const Program program = random_program(seed);
    const bool in_order = seed % 2 == 0;
    const Explored actual = explore_program(program, in_order, true, 100);
    // Most programs have one outcome; a few of them will do.
    if (actual.outcomes.size() == 1 && seed % 16 > 1) continue;
    const Explored expected = explore_program(program, in_order, false, 100);
    if (!expected.exploration.complete) continue;
    ASSERT_TRUE(actual.exploration.complete) << "seed " << seed << ": " << actual.exploration.missed;
    ++held;
    order_shows += expected.outcomes.size() > 1;
    runs += actual.exploration.runs;
    all_runs += expected.exploration.runs;
    ASSERT_EQ(actual.outcomes, expected.outcomes) << "seed " << seed << ", " << actual.exploration.runs << " runs\n"
                                                  << text(program);
  }
  EXPECT_GE(held, kPrograms / 10);
  EXPECT_GE(order_shows, kPrograms / 30);
  EXPECT_LT(5 * runs, all_runs);
}

}  // namespace
}  // namespace tilecheck::testing_sync
