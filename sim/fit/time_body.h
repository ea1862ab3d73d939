// Cycles of a body at a grid step: straight runs of code, entered or not as the step's conditions say, and the body's
// own copies.
//
// A straight run costs its longest chain of dependent operations (latencies) plus its busiest unit; the compiler
// schedules runs apart, since a branch, a loop or a wait parts them.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/fit/body.h"
#include "sim/fit/time_copies.h"
#include "sim/fit/time_scalars.h"
#include "sim/fit/time_table.h"
#include "sim/fit/time_units.h"

namespace tilecheck::fit {

// One operation on the dependence graph of a straight run of code.
struct ChainNode {
  std::vector<int32_t> after;  // nodes whose results it needs
  ChainKind kind = ChainKind::none;
  double accumulated = 0;   // registers folded before a lane reduction
  bool transposes = false;  // a matmul with a transposed left side
};

// What one straight run of code costs, before weighting.
struct RegionFeatures {
  UnitSlots slots;
  double busiest_cycles = 0, second_cycles = 0;  // of the units' cycles
  double weight_pushes = 0;
  int operations = 0;
  std::vector<ChainNode> chain;
};
// The features as a JSON object: what latencies and weights are fitted on.
std::string features_json(const RegionFeatures& features);
// Cycles of a run with these features.
double region_cycles(const RegionFeatures& features, const TimeTable& table);

struct TimedBlock;
struct TimedItem {
  enum class Kind : uint8_t { region, branch, loop, copy_start, copy_wait };
  Kind kind = Kind::region;
  double cycles = 0;        // region
  RegionFeatures features;  // region
  const Op* op = nullptr;   // the others
  std::vector<TimedBlock> blocks;
  int64_t bytes = 0;  // copies
  CopyDirection direction = CopyDirection::in;
  RefId semaphore = kNone;  // its root
};
struct TimedBlock {
  std::vector<TimedItem> items;
  bool is_constant = true;  // costs the same at each step: no conditions, no copies, known trips
  double cycles = 0;        // when constant
};

struct BodyTimeOptions {
  int64_t assumed_trips = 1;  // of loops whose trip count depends on data
};

class BodyTimer {
 public:
  // `body` and `table` must outlive this.
  BodyTimer(const Body& body, const TimeTable& table, const Target& target, BodyTimeOptions options = {});

  struct Result {
    double end = 0;      // the clock after the body
    double compute = 0;  // cycles in straight runs
    double waited = 0;   // cycles in waits for the body's own copies
  };
  // Runs the body at `step`, from clock `start`. Copies still in flight stay so until a later step waits for them.
  Result run(std::span<const int64_t> step, std::span<const int64_t> grid, double start, CopyTimer& copies);
  // Forgets copies in flight.
  void reset() { in_flight_.clear(); }

  // Cycles with every branch counted once, as the compiler's static count has it.
  double static_cycles() const;
  bool is_constant() const { return top_.is_constant; }
  bool assumed_trips() const { return assumed_trips_; }    // a trip count was assumed
  bool assumed_branch() const { return assumed_branch_; }  // a branch on data was taken as entered
  int64_t copy_bytes() const { return copy_bytes_; }       // of the body's own copies, started so far
  const TimedBlock& top() const { return top_; }

 private:
  TimedBlock build(const Block& block);
  TimedItem region(std::span<const Op* const> ops) const;
  void walk(const TimedBlock& block, Result& result, CopyTimer& copies, int depth);
  void loop(const TimedItem& item, Result& result, CopyTimer& copies, int depth);
  std::optional<int64_t> trips_of(const Op& op);

  const Body& body_;
  const TimeTable& table_;
  const Target& target_;
  BodyTimeOptions options_;
  BodyCosts costs_;
  ScalarValues scalars_;
  TimedBlock top_;
  std::map<RefId, std::deque<double>> in_flight_;  // arrival times by semaphore
  bool assumed_trips_ = false, assumed_branch_ = false;
  int64_t copy_bytes_ = 0;
};

}  // namespace tilecheck::fit
