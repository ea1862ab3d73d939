// How the rows of a block go through its reductions over lanes, and what waits for them meanwhile.
//
// libtpu reduces a group of eight rows after the other. It makes what a group needs when its turn comes, and goes on
// with a group as soon as its result is back from the cross-lane unit: a block of many groups never waits as a whole
// for its last reduction, only the groups under way do.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/fit/body.h"
#include "sim/target/target.h"

namespace tilecheck::fit {

struct RowStream {
  explicit RowStream(int latest_phase)
      : under_way(static_cast<size_t>(latest_phase) + 1, 1), early_share(under_way.size(), 0) {}

  std::vector<double> under_way;  // by phase: the share of its groups pushed before the first result comes back
  int64_t row_count = 0;          // 0: not row by row
  // By phase: the share of what follows a reduction that is made as its result comes back, not when needed.
  std::vector<double> early_share;
  bool pushes_early = false;     // what a later reduction takes is made as early as what follows the one before
  bool folds_registers = false;  // several registers of a group are folded into one before it is reduced
  bool keeps_loads = false;      // what is loaded is needed again so soon that it is kept, not loaded again

  // Whether a tile has these rows, in its last but one dimension and those before.
  bool has_rows_of(const Shape& shape) const;
};
// For a block whose barriers are all reductions; `phase` by operation. Row by row if all are over lanes, of the same
// rows.
RowStream row_stream(const Body& body, const Block& block, const std::vector<int>& phase, int latest_phase,
                     const Target& target);

// Registers of the file that serve what goes on while rows wait for their reductions.
double row_registers_in_use(const Target& target);

// Registers that wait, over time. Time counts phases: from p to p + 1 the reductions of phase p are pushed, group by
// group, and what waits for the groups comes and goes with them. First everything is added, then `settle`, then asked.
class Waits {
 public:
  explicit Waits(const std::vector<double>& under_way)
      : under_way_(under_way),
        at_once_(under_way.size() + 2),
        as_pushed_(under_way.size() + 2),
        as_back_(under_way.size() + 2) {}

  // What is made and last used as phases `from` and `to` begin.
  void add(double registers, int from, int to) {
    at_once_[static_cast<size_t>(from)] += registers;
    at_once_[static_cast<size_t>(to)] -= registers;
  }
  // What comes (or goes: negative) group by group, with the pushes of `phase`; with its results (of -1: from the
  // start).
  void add_as_pushed(double registers, int phase) { as_pushed_[static_cast<size_t>(phase)] += registers; }
  void add_as_back(double registers, int phase) {
    if (phase < 0) return add_as_pushed(registers, 0);
    as_back_[static_cast<size_t>(phase)] += registers;
  }
  void settle();

  double at(double time) const;
  double most() const;

 private:
  std::vector<double> under_way_;
  std::vector<double> at_once_, as_pushed_, as_back_;  // by phase; settled: of all phases until this one
};

}  // namespace tilecheck::fit
