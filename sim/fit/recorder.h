// What recording runs of a body saw, step by step, put together: a tree of blocks with the operations of each.
//
// A block is known by where it begins in the source and how often its parent came by there, so that runs of different
// steps meet in the same blocks. Of runs that differ inside a block (a C++ `if`), the longest is kept.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "sim/fit/body.h"
#include "sim/machine/recording.h"

namespace tilecheck::fit {

// A value by where it was made: a result of operation `op` of block `block`.
struct ValueKey {
  int32_t block = kNone, op = kNone;
  bool known() const { return block != kNone; }
  friend auto operator<=>(const ValueKey&, const ValueKey&) = default;
};

struct Operand {
  TileType type;
  ValueKey key;       // unknown: a splat
  double number = 0;  // of a splat
  ValueKey later;     // what a later iteration of a loop had in its place
};

// Numbers that the body knows, and the place where they were seen: the grid step, the stand-in for data, and the
// induction variables of the loops around.
struct Seen {
  std::vector<int64_t> at, numbers;
};

struct RecordedOp {
  Op op;  // without values and Refs
  std::vector<Operand> in;
  std::vector<TileType> out;
  std::vector<Ref> refs;        // load, store, alloc: one; copies: source, destination, semaphore
  std::vector<int32_t> blocks;  // branch: then, else; loop, scope: body
  int32_t site = kNone;         // branch on what the body knows, loop
  std::vector<Seen> seen;       // where the Refs begin
};

struct RecordedBlock {
  int32_t parent = kNone;
  int depth = 0;
  int32_t loop = kNone;  // the innermost loop body around it, itself included
  int loops = 0;         // how many
  bool is_recorded = false;
  bool differs = false;  // runs of it had different operations
  std::vector<RecordedOp> ops;
};

// A branch or a loop: its condition, or its bounds, at the places looked at.
struct Site {
  int32_t block = kNone;  // the block it stands in
  std::vector<Seen> seen;
};

class Recorder : public BodyRecorder {
 public:
  // All runs together may take `limit_seconds`.
  explicit Recorder(double limit_seconds)
      : limit_seconds_(limit_seconds),
        deadline_(std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                                         std::chrono::duration<double>(limit_seconds))) {}
  // stand_in: for values that only data has. light: only branches and loops are looked at.
  void run(RecordingRun& run, const Dims& step, int64_t stand_in, bool is_light);

  const std::vector<RecordedBlock>& blocks() const { return blocks_; }  // the first is the body
  const std::vector<Site>& sites() const { return sites_; }
  bool read_data() const { return !data_places_.empty(); }  // the body steers by data
  const std::vector<Loc>& data_places() const { return data_places_; }
  // The last run went where no full run has been.
  bool met_unrecorded() const { return met_unrecorded_; }
  // Of all runs.
  int64_t operations() const { return operations_; }

  void on_op(const OpCall& call, std::span<const Tile> operands, const Tile& result) override;
  void on_load(const Ref& ref, const Access& access, const Tile& result, Loc at) override;
  void on_store(const Ref& ref, const Tile& value, const Access& access, Loc at) override;
  int64_t on_index(const Tile& scalar, Loc at) override;
  bool on_condition(const Tile& scalar, Loc at) override;
  void on_branch(const Tile* condition, bool truth, const std::function<void()>& then,
                 const std::function<void()>& otherwise, Loc at) override;
  void on_loop(int64_t lower, int64_t upper, const std::function<void(int64_t)>& body, Loc at) override;
  void on_copy(const CopyHandle& copy, Loc at) override;
  void on_copy_wait(const Ref& done, const Ref& source, const Ref& destination, Loc at) override;
  void on_semaphore(Semaphore use, const Ref& semaphore, int64_t amount, bool is_remote, Loc at) override;
  void on_scope(std::span<const Scratch> allocations, const std::function<void(std::span<const Ref>)>& body,
                Loc at) override;

 private:
  struct Visit {
    int32_t block;
    bool is_light;
    int32_t count = 0;  // operations so far
    std::vector<RecordedOp> ops;
    std::map<std::tuple<const char*, uint32_t, uint32_t>, int> passes;  // by source position
  };
  // Where the visit at hand comes by a position: in which block, which, how often before.
  struct Place {
    int32_t block;
    const char* file;
    uint32_t line, column;
    int pass;
    auto operator<=>(const Place&) const = default;
  };
  Place place(Loc at);
  int32_t block_at(const Place& place, int side, bool is_loop);
  int32_t site_at(const Place& place);
  bool is_light() const { return visits_.back().is_light; }
  // At all that a body can do without end. Throws Incomplete where it does, or takes too long.
  void pass();
  [[noreturn]] void fail_endless(const std::string& limit) const;
  // Counts an operation and, in a full run, keeps what `make` gives. Returns the operation's index.
  template <typename Make>
  int32_t add(Make make);
  RecordedOp with_refs(OpKind kind, Loc at, std::initializer_list<const Ref*> refs) const;
  Operand operand(const Tile& tile) const;
  Operand operand(const Tile& tile, const Shape& stretched);
  void number(const Tile& tile, int32_t op);
  void enter(int32_t block, bool is_light);
  void leave();
  void merge(int32_t block, std::vector<RecordedOp>& ops);
  bool is_within(int32_t block, int32_t outer) const;

  double limit_seconds_;
  std::chrono::steady_clock::time_point deadline_;
  std::vector<RecordedBlock> blocks_;
  std::vector<Site> sites_;
  std::map<std::pair<Place, int>, int32_t> block_ids_;
  std::map<Place, int32_t> site_ids_;
  std::map<std::pair<int32_t, size_t>, std::unique_ptr<Buffer>> scoped_;  // by the scope's block and the allocation
  std::vector<Loc> data_places_;
  int64_t operations_ = 0;

  // Of the run at hand.
  std::vector<Visit> visits_;
  std::vector<int64_t> at_;       // the step, the stand-in, induction variables
  std::vector<ValueKey> values_;  // by number
  size_t stand_in_ = 0;           // its position in at_
  Loc last_at_;
  int64_t run_passes_ = 0, run_operations_ = 0, recorded_operations_ = 0;
  bool run_is_light_ = false, met_unrecorded_ = false;
};

}  // namespace tilecheck::fit
