// Scalar values of a body at one grid step: conditions, loop bounds, indices. What needs data is not known.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/fit/body.h"

namespace tilecheck::fit {

// A grid coordinate that is not known.
inline constexpr int64_t kUnknownCoordinate = INT64_MIN;

class ScalarValues {
 public:
  // `body` must outlive this.
  explicit ScalarValues(const Body& body);

  // Moves to a grid step; forgets what was set. `grid`: the extents in force (the body's own may be dynamic).
  void move_to(std::span<const int64_t> step, std::span<const int64_t> grid);
  // Gives a value that no operation defines: a loop's induction variable or a carry.
  void set(ValueId value, std::optional<int64_t> number);
  // The number, or nothing when it depends on data.
  std::optional<int64_t> get(ValueId value);

 private:
  void index(const Block& block);
  std::optional<int64_t> evaluate(const Op& op, int depth);
  std::optional<int64_t> get(ValueId value, int depth);

  struct Known {
    uint64_t epoch = 0;
    std::optional<int64_t> number;
  };
  const Body& body_;
  std::vector<const Op*> definitions_;  // by value; null: none
  std::vector<Known> known_;            // by value; valid when its epoch is the current one
  std::vector<uint64_t> set_epoch_;     // by value: set() since this move_to()
  uint64_t epoch_ = 1;
  uint64_t step_epoch_ = 1;
  std::span<const int64_t> step_, grid_;
};

}  // namespace tilecheck::fit
