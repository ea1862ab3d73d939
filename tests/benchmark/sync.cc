// What ordering costs: start and wait of one small copy, of many in flight, and on a copy-bound kernel.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <deque>

#include "sim/memory/transfer.h"
#include "sim/sync/engine.h"

namespace tilecheck {
namespace {

struct Memory {
  Buffer hbm;
  Buffer vmem;
  Buffer semaphores{"sem", Space::semaphore, DType::dma_semaphore, DType::dma_semaphore, {64}, 0, 0};
  Buffer counts{"count", Space::semaphore, DType::semaphore, DType::semaphore, {}, 0, 0};
  std::vector<Finding> findings;
  FindingSink sink{findings};
  Dims step{0};

  explicit Memory(const Shape& shape = {64, 1024})
      : hbm("hbm", Space::hbm, DType::f32, DType::f32, shape, 0, -1),
        vmem("vmem", Space::vmem, DType::f32, DType::f32, shape, 0, 0) {
    for (Buffer* b : {&hbm, &vmem}) {
      b->ensure_filled();
      b->shadow.set_all(true);
    }
  }

  // Calls `body` in a single agent.
  template <typename Body>
  void run(Body body) {
    Engine engine({}, sink);
    engine.add_agent({0, 0, &step});
    const std::function<void()> agents[] = {[&] { body(engine); }};
    engine.run(agents);
    if (!findings.empty()) std::abort();
  }
};

Ref block(Buffer& b, int64_t row, int64_t rows, int64_t columns) {
  return Ref::whole(b)({ds(row, rows), ds(0, columns)});
}

// One copy of columns x 4 bytes, started and waited for. Compare with BM_Bytes of the same size.
void BM_StartAndWait(benchmark::State& state) {
  Memory m;
  m.run([&](Engine& engine) {
    CopyRequest request;
    request.source = block(m.hbm, 3, 1, state.range(0));
    request.destination = block(m.vmem, 5, 1, state.range(0));
    request.done = {&m.semaphores, 0};
    const int64_t bytes = request.destination.size_bytes();
    for (auto _ : state) {
      engine.start(0, request, std::source_location::current());
      engine.wait_copy(0, request.done, bytes, std::source_location::current());
    }
  });
}
BENCHMARK(BM_StartAndWait)->Arg(8)->Arg(128)->Arg(1024);

// The same bytes moved without an engine.
void BM_Bytes(benchmark::State& state) {
  Memory m;
  const Ref from = block(m.hbm, 3, 1, state.range(0)), to = block(m.vmem, 5, 1, state.range(0));
  for (auto _ : state) copy_elements(from, to);
}
BENCHMARK(BM_Bytes)->Arg(8)->Arg(128)->Arg(1024);

// Many copies in flight: started all, then waited for one by one on their own semaphores.
void BM_InFlight(benchmark::State& state) {
  Memory m;
  m.run([&](Engine& engine) {
    const int64_t n = state.range(0);
    std::vector<CopyRequest> requests;
    for (int64_t i = 0; i < n; ++i) {
      CopyRequest& r = requests.emplace_back();
      r.source = block(m.hbm, i, 1, 8);
      r.destination = block(m.vmem, i, 1, 8);
      r.done = {&m.semaphores, i};
    }
    for (auto _ : state) {
      for (const CopyRequest& r : requests) engine.start(0, r, std::source_location::current());
      for (const CopyRequest& r : requests) engine.wait_copy(0, r.done, 32, std::source_location::current());
    }
    state.SetItemsProcessed(state.iterations() * n);
  });
}
BENCHMARK(BM_InFlight)->Arg(1)->Arg(8)->Arg(64);

// ... all on one semaphore. Time per copy rises with the logarithm of their number.
void BM_InFlightOneSemaphore(benchmark::State& state) {
  Memory m({std::max<int64_t>(64, state.range(0)), 8});
  m.run([&](Engine& engine) {
    const int64_t n = state.range(0);
    std::vector<CopyRequest> requests;
    for (int64_t i = 0; i < n; ++i) {
      CopyRequest& r = requests.emplace_back();
      r.source = block(m.hbm, i, 1, 8);
      r.destination = block(m.vmem, i, 1, 8);
      r.done = {&m.semaphores, 0};
    }
    for (auto _ : state) {
      for (const CopyRequest& r : requests) engine.start(0, r, std::source_location::current());
      for (const CopyRequest& r : requests) engine.wait_copy(0, r.done, 32, std::source_location::current());
    }
    state.SetItemsProcessed(state.iterations() * n);
  });
}
BENCHMARK(BM_InFlightOneSemaphore)->Arg(8)->Arg(64)->Arg(1000)->Arg(4000)->Arg(16000)->Arg(64000);

void BM_SignalAndWait(benchmark::State& state) {
  Memory m;
  m.run([&](Engine& engine) {
    for (auto _ : state) {
      engine.signal(0, {&m.counts, 0}, 1, {}, std::source_location::current());
      engine.wait(0, {&m.counts, 0}, 1, std::source_location::current());
    }
  });
}
BENCHMARK(BM_SignalAndWait);

// Copy-bound and double-buffered: blocks of 32 KiB through two slots, as a pipeline does. Compare with BM_BlocksBytes.
void BM_Blocks(benchmark::State& state) {
  Memory m;
  m.run([&](Engine& engine) {
    CopyRequest slot[2];
    for (int64_t i = 0; i < 2; ++i) {
      slot[i].source = block(m.hbm, 0, 8, 1024);
      slot[i].destination = block(m.vmem, 8 * i, 8, 1024);
      slot[i].done = {&m.semaphores, i};
    }
    const int64_t bytes = slot[0].destination.size_bytes();
    for (auto _ : state) {
      engine.start(0, slot[0], std::source_location::current());
      for (int64_t i = 1; i < 8; ++i) {
        slot[i % 2].source = block(m.hbm, 8 * i, 8, 1024);
        engine.start(0, slot[i % 2], std::source_location::current());
        engine.wait_copy(0, slot[(i + 1) % 2].done, bytes, std::source_location::current());
      }
      engine.wait_copy(0, slot[1].done, bytes, std::source_location::current());
    }
    state.SetBytesProcessed(state.iterations() * 8 * bytes);
  });
}
BENCHMARK(BM_Blocks);

void BM_BlocksBytes(benchmark::State& state) {
  Memory m;
  for (auto _ : state)
    for (int64_t i = 0; i < 8; ++i) copy_elements(block(m.hbm, 8 * i, 8, 1024), block(m.vmem, 8 * (i % 2), 8, 1024));
  state.SetBytesProcessed(state.iterations() * 8 * 32768);
}
BENCHMARK(BM_BlocksBytes);

// An access that is checked against copies in flight elsewhere in the same buffer.
void BM_AccessBesideCopies(benchmark::State& state) {
  Memory m;
  m.run([&](Engine& engine) {
    for (int64_t i = 0; i < state.range(0); ++i) {
      CopyRequest r;
      r.source = block(m.hbm, i, 1, 8);
      r.destination = block(m.vmem, i, 1, 8);
      r.done = {&m.semaphores, i};
      engine.start(0, r, std::source_location::current());
    }
    const Ref mine = block(m.vmem, 63, 1, 128);
    for (auto _ : state)
      if (engine.tracks(m.vmem)) engine.access(0, mine, AccessKind::read, std::source_location::current());
    for (int64_t i = 0; i < state.range(0); ++i)
      engine.wait_copy(0, {&m.semaphores, i}, 32, std::source_location::current());
  });
}
BENCHMARK(BM_AccessBesideCopies)->Arg(1)->Arg(8)->Arg(32);

// Two devices passing a token: fibers, remote copies, clocks.
void BM_PingPong(benchmark::State& state) {
  const int64_t rounds = 1000;
  for (auto _ : state) {
    std::deque<Buffer> store;
    std::vector<Buffer*> data, sent, received;
    for (int d = 0; d < 2; ++d) {
      data.push_back(&store.emplace_back("data", Space::vmem, DType::f32, DType::f32, Shape{2, 128}, d, 0));
      data.back()->ensure_filled();
      sent.push_back(
          &store.emplace_back("sent", Space::semaphore, DType::dma_semaphore, DType::dma_semaphore, Shape{}, d, 0));
      received.push_back(
          &store.emplace_back("received", Space::semaphore, DType::dma_semaphore, DType::dma_semaphore, Shape{}, d, 0));
    }
    std::vector<Finding> findings;
    FindingSink sink(findings);
    Engine engine({}, sink);
    std::vector<std::function<void()>> agents;
    for (int d = 0; d < 2; ++d) {
      engine.add_agent({d, 0, nullptr});
      agents.emplace_back([&, d] {
        engine.entry_barrier(d);
        CopyRequest r;
        r.source = block(*data[static_cast<size_t>(d)], 0, 1, 8);
        r.destination = block(*data[static_cast<size_t>(d)], 1, 1, 8);
        r.sent = {sent[static_cast<size_t>(d)], 0};
        r.done = {received[static_cast<size_t>(d)], 0};
        r.peer.device = 1 - d;
        for (int64_t i = 0; i < rounds; ++i) {
          if (i > 0 || d == 1) engine.wait_copy(d, r.done, 32, {});
          engine.start(d, r, {});
          engine.wait_copy(d, r.sent, 32, {});
        }
        if (d == 0) engine.wait_copy(d, r.done, 32, {});
      });
    }
    engine.set_translate([&](const Ref& ref, int device, int) {
      Ref out = ref;
      for (auto* list : {&data, &sent, &received})
        for (Buffer* b : *list)
          if (b == ref.buffer) out.buffer = (*list)[static_cast<size_t>(device)];
      return out;
    });
    engine.run(agents);
    if (!findings.empty()) std::abort();
  }
  state.SetItemsProcessed(state.iterations() * 2 * rounds);
}
BENCHMARK(BM_PingPong)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tilecheck
