// Calls from many threads at once, as Python's and XLA's threads make them. The thread sanitizer watches these
// (tools/build tsan --target test_python_door).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/unit/python_door/world.h"
#include "tools/python/native/interrupt.h"
#include "tools/python/native/rendezvous.h"
#include "tools/python/native/runner.h"

namespace tilecheck::python {
namespace {

using Json = nlohmann::json;
using Code = CallStatus::Code;
using std::chrono::milliseconds;
using testing::HasSubstr;

// The sanitizer does not see how TBB hands work from one thread to another (sim/machine/parallel.cc tells it so for one
// caller, which test_machine is): here it watches the callers.
#ifdef __SANITIZE_THREAD__
#define TILECHECK_TEST_THREADS "1"
#else
#define TILECHECK_TEST_THREADS "2"
#endif
constexpr const char* kCollect = R"({"on_finding": "collect", "threads": )" TILECHECK_TEST_THREADS "}";
constexpr const char* kExplore =
    R"({"on_finding": "collect", "schedule": "explore", "budget": 0.2, "threads": )" TILECHECK_TEST_THREADS "}";

// Runs f(0), ..., f(n - 1) on a thread each.
template <typename F>
void on_threads(int n, F f) {
  std::vector<std::thread> threads;
  for (int i = 0; i < n; ++i) threads.emplace_back(f, i);
  for (std::thread& t : threads) t.join();
}

bool is_near(const HostArray& a, const HostArray& b, double tolerance) {
  for (int64_t i = 0; i < a.size(); ++i)
    if (!(std::abs(a.at(i) - b.at(i)) <= tolerance)) return false;
  return a.size() == b.size();
}

int64_t calls_since(int mark) {
  int64_t calls = 0;
  const Json log = Json::parse(report_log().to_json(mark));
  for (const Json& e : log["entries"]) calls += e["calls"].get<int64_t>();
  return calls;
}

TEST(Threads, CallsReadersOfReportsAndAClearedCacheAtOnce) {
  constexpr int kThreads = 4, kCalls = 12;
  const std::vector<KnownKernel> kernels{fixture("relu_2x_plus_1"), fixture("flash_attention"), fixture("softmax_rows"),
                                         fixture("dma_double_buffer"), fixture("store_into_source")};
  report_log().clear();
  const int mark = report_log().mark();
  const KernelCache::Stats before = kernel_cache().stats();
  std::atomic<int> wrong{0}, running{kThreads};
  on_threads(kThreads + 1, [&](int thread) {
    if (thread == kThreads) {  // reads what the others do
      for (int round = 0; running > 0; ++round) {
        const Json log = Json::parse(report_log().to_json(mark));
        for (const Json& e : log["entries"]) wrong += e["report"]["subject"].get<std::string>().empty();
        wrong += Json::parse(report_log().to_sarif(mark))["runs"].empty();
        wrong += !Json::parse(suppressions().unused_json()).is_array();
        if (round % 8 == 0) kernel_cache().clear();
      }
      return;
    }
    for (int i = 0; i < kCalls; ++i) {
      const KnownKernel& k = kernels[static_cast<size_t>(thread + i) % kernels.size()];
      std::vector<HostArray> results;
      const CallStatus status = call(k, i % 6 == 5 ? kExplore : kCollect, results);
      const bool has_race = k.name == "store_into_source";
      if (status.code != Code::ok || (!has_race && !is_near(results[0], k.results[0][0], 1e-5))) ++wrong;
    }
    --running;
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(calls_since(mark), kThreads * kCalls);
  const KernelCache::Stats after = kernel_cache().stats();
  EXPECT_EQ(after.hits + after.misses - before.hits - before.misses, uint64_t{kThreads * kCalls});
}

TEST(Threads, AFindingIsTheCallersOwn) {
  const KnownKernel right = fixture("relu_2x_plus_1"), race = fixture("store_into_source");
  std::atomic<int> wrong{0};
  on_threads(4, [&](int thread) {
    for (int i = 0; i < 8; ++i) {
      std::vector<HostArray> results;
      const CallStatus status = call(thread % 2 ? race : right, R"({"threads": 1})", results);
      wrong += status.code != (thread % 2 ? Code::findings : Code::ok);
      wrong += thread % 2 && status.message.find("error[race]") == std::string::npos;
    }
  });
  EXPECT_EQ(wrong, 0);
}

// A kernel of four devices in a loop, in three executions at once: each device sends its block to the next.
TEST(Threads, DevicesMeetWithThoseOfTheirOwnExecution) {
  constexpr int kDevices = 4, kRuns = 3, kTurns = 6;
  const KnownKernel ring = fixture("ring_permute", kDevices);
  std::atomic<int> wrong{0};
  on_threads(kRuns * kDevices, [&](int thread) {
    const Caller caller{.run = thread / kDevices, .site = 7, .device = thread % kDevices};
    KnownKernel own = ring;
    const auto device = static_cast<size_t>(caller.device);
    for (int turn = 0; turn < kTurns; ++turn) {
      const double shift = 1000.0 * static_cast<double>(caller.run) + turn;
      const auto shifted = [&](const HostArray& a) {
        HostArray b(a.dtype(), a.shape());
        for (int64_t i = 0; i < a.size(); ++i) b.set(i, a.at(i) + shift);
        return b;
      };
      own.operands[device][0] = shifted(ring.operands[device][0]);
      std::vector<HostArray> results;
      const CallStatus status = call(own, kCollect, results, caller);
      if (status.code != Code::ok || !is_near(results[0], shifted(ring.results[device][0]), 0)) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
}

// Three of four devices come; another execution is complete meanwhile and is not disturbed.
TEST(Threads, DevicesThatAreNotAllThereAreTold) {
  const KnownKernel ring = fixture("ring_permute", 4);
  std::vector<CallStatus> statuses(7);
  on_threads(7, [&](int thread) {
    std::vector<HostArray> results;
    statuses[static_cast<size_t>(thread)] = call(
        ring, kCollect, results, {.run = thread < 3 ? 100 : 101, .site = 1, .device = thread < 3 ? thread : thread - 3},
        milliseconds(thread < 3 ? 300 : 60'000));
  });
  for (size_t i = 0; i < 7; ++i) {
    EXPECT_EQ(statuses[i].code, i < 3 ? Code::bad_input : Code::ok) << i << ": " << statuses[i].message;
    if (i < 3) {
      EXPECT_THAT(statuses[i].message, HasSubstr("only 3 of 4 devices"));
    }
  }
}

TEST(Threads, ADeviceThatComesTwiceIsTold) {
  const KnownKernel ring = fixture("ring_permute", 4);
  std::vector<CallStatus> statuses(2);
  on_threads(2, [&](int thread) {
    std::vector<HostArray> results;
    statuses[static_cast<size_t>(thread)] = call(ring, kCollect, results, {.run = 200, .site = 1, .device = 2});
  });
  for (const CallStatus& s : statuses) EXPECT_THAT(s.message, HasSubstr("device 2 of 4 came twice"));
  Rendezvous rendezvous;
  const auto never = [](std::vector<DeviceArrays>) { return CallStatus{}; };
  EXPECT_THAT(rendezvous.meet({1, 1}, 4, 4, {}, milliseconds(1), never).message, HasSubstr("outside the mesh"));
}

// ---- Ctrl-C

std::atomic<int> handled{0};
void count_interrupt(int) { ++handled; }

class Interrupt : public testing::Test {
 protected:
  void SetUp() override {
    struct sigaction action {};
    action.sa_handler = count_interrupt;
    sigaction(SIGINT, &action, &before_);
    handled = 0;
  }
  void TearDown() override { sigaction(SIGINT, &before_, nullptr); }

  struct sigaction before_ {};
};

// Waits until `n` runs have begun, then presses Ctrl-C.
void interrupt_when(int n) {
  while (runs_in_progress() < n) std::this_thread::sleep_for(milliseconds(1));
  std::this_thread::sleep_for(milliseconds(50));
  kill(getpid(), SIGINT);
}

TEST_F(Interrupt, EndsEveryRunThatIsThereAndNoLaterOne) {
  // Many steps, few endless ones, and parts on several threads.
  const std::vector<KnownKernel> kernels{long_kernel(int64_t{1} << 30, 1, "arbitrary"),
                                         long_kernel(1, int64_t{1} << 30, "arbitrary"),
                                         long_kernel(64, int64_t{1} << 30, "parallel")};
  const KnownKernel relu = fixture("relu_2x_plus_1");
  const char* explore = R"({"threads": 1, "schedule": "explore", "budget": 1000})";
  const int mark = report_log().mark();
  std::vector<CallStatus> statuses(4), later(4);
  std::thread presses([] { interrupt_when(4); });
  on_threads(4, [&](int thread) {
    const auto t = static_cast<size_t>(thread);
    std::vector<HostArray> results;
    statuses[t] = call(kernels[t % 3], thread == 3 ? explore : kCollect, results);
    later[t] = call(relu, kCollect, results);
  });
  presses.join();
  EXPECT_EQ(handled, 1) << "the handler that was there runs too";
  for (const CallStatus& s : statuses) EXPECT_EQ(s.code, Code::cancelled) << s.message;
  for (const CallStatus& s : later) EXPECT_EQ(s.code, Code::ok) << s.message;
  EXPECT_EQ(calls_since(mark), 4) << "an interrupted run reports nothing";
}

TEST_F(Interrupt, EndsTheWaitForOtherDevices) {
  const KnownKernel ring = fixture("ring_permute", 4);
  std::thread presses([] {
    std::this_thread::sleep_for(milliseconds(300));
    kill(getpid(), SIGINT);
  });
  std::vector<HostArray> results;
  EXPECT_EQ(call(ring, kCollect, results, {.run = 300, .site = 1, .device = 0}).code, Code::cancelled);
  presses.join();
}

TEST_F(Interrupt, LeavesWhatIsThereAlone) {
  struct sigaction now {};
  for (const auto handler : {SIG_DFL, SIG_IGN}) {
    signal(SIGINT, handler);
    const InterruptWatch watch;
    sigaction(SIGINT, nullptr, &now);
    EXPECT_EQ(now.sa_handler, handler);
  }
  signal(SIGINT, count_interrupt);
  {
    const InterruptWatch outer;
    kill(getpid(), SIGINT);
    const InterruptWatch inner;
    EXPECT_TRUE(outer.interrupted());
    EXPECT_FALSE(inner.interrupted());
  }
  sigaction(SIGINT, nullptr, &now);
  EXPECT_EQ(now.sa_handler, count_interrupt);
  EXPECT_EQ(handled, 1);
}

// Watches come and go while signals arrive.
TEST_F(Interrupt, MayComeAtAnyTime) {
  std::atomic<bool> over{false};
  std::thread presses([&] {
    while (!over) {
      kill(getpid(), SIGINT);
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  });
  on_threads(3, [](int) {
    for (int i = 0; i < 2000 || handled == 0; ++i) {
      const InterruptWatch watch;
      watch.interrupted();
    }
  });
  over = true;
  presses.join();
  EXPECT_GT(handled, 0);
}

}  // namespace
}  // namespace tilecheck::python
