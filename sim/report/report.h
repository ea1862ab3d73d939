// What a run or an analysis has to say: plain data, rendered by the harness.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/report/kinds.h"
#include "sim/report/loc.h"
#include "sim/types/dtype.h"
#include "sim/types/shape.h"

namespace tilecheck {

std::string step_text(const Dims& step);  // "(0,3)": grid coordinates, as all messages write them

// One place that a finding shows, with what happened there ("core 0 reads the same bytes, step (0,3)").
struct Label {
  Loc at;
  std::string text;
};

// A fact about the user's kernel. Never an exception.
struct Finding {
  Kind kind{};
  Severity severity = Severity::error;
  std::string message;  // one line, without the kind: "step (0,3) reads kv_buf[1] while DMA #7 may still be writing it"
  Loc at;               // primary place
  std::vector<Label> labels;       // the primary place's own text first (optional), then the other sides
  std::vector<std::string> helps;  // what to change
  std::vector<std::string> notes;
  Dims step;  // grid coordinates; empty when there is no grid step
  int device = 0;
  int core = 0;
  std::string buffer;   // name of the buffer or semaphore at fault
  std::string range;    // its index range, "[1, 0:64, 0:128]"
  int64_t repeats = 0;  // further findings alike, folded into this one

  static Finding make(Kind kind, std::string message, Loc at = {}) {
    Finding f;
    f.kind = kind;
    f.severity = info(kind).severity;
    f.message = std::move(message);
    f.at = at;
    return f;
  }
};

// Traffic of one window or array over a run, from the plan, never from execution order.
struct WindowCounters {
  std::string name;
  DType dtype{};
  Shape array, block;
  bool is_output = false;
  int slots = 0;
  int64_t fetches = 0;
  int64_t write_backs = 0;
  int64_t moved_bytes = 0;    // HBM bytes moved by the pipeline
  int64_t minimum_bytes = 0;  // if every byte of the array that is used moved once
};

struct Counters {
  int64_t grid_steps = 0;
  int64_t operations = 0;       // tile operations executed
  int64_t flops = 0;            // of matmuls: 2 m n k
  int64_t transcendentals = 0;  // elements
  int64_t loads = 0, load_bytes = 0;
  int64_t stores = 0, store_bytes = 0;
  int64_t dma_copies = 0, dma_bytes = 0;  // started by the body
  int64_t semaphore_waits = 0, semaphore_signals = 0;
  int64_t unused_loads_removed = 0, unused_load_bytes = 0;  // static, per body
  std::vector<WindowCounters> windows;
};

enum class Verdict : uint8_t { clean, findings, incomplete, error };
std::string_view name(Verdict verdict);

struct Report {
  std::string kernel;
  std::string target;
  std::string numerics;
  std::string schedule;
  std::string replay;  // the decision string that reproduces this run; empty when the schedule alone does
  uint64_t seed = 0;
  int threads = 1;
  Dims grid;
  std::vector<Finding> findings;
  std::vector<std::string> incomplete;  // what was met but is not modelled, by name
  Counters counters;
  bool schedule_independent = false;  // no unordered event could have changed values or branches
  double seconds = 0;

  // incomplete outranks findings; findings at or above `threshold` make it `findings`.
  Verdict verdict(Severity threshold = Severity::error) const;
  int count(Severity severity) const;
};

// Collects findings while a kernel runs: folds repeats of the same kind at the same place (and other place and buffer).
class FindingSink {
 public:
  explicit FindingSink(std::vector<Finding>& out) : out_(out) {}
  void add(Finding finding);
  bool empty() const { return out_.empty(); }
  size_t count() const { return out_.size(); }

 private:
  std::vector<Finding>& out_;
};

}  // namespace tilecheck
