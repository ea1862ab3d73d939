// What the compiler can prove about a body's scalars and values without running it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/fit/body.h"
#include "sim/fit/time_scalars.h"

namespace tilecheck::fit {

class CompileFacts {
 public:
  explicit CompileFacts(const Body& body);

  // The number, when it depends only on constants and on grid axes of size 1.
  std::optional<int64_t> constant(ValueId value);
  std::optional<int64_t> constant(const Offset& offset);
  // A number that libtpu can prove to divide the offset, as large as it can: from constants, multiple_of hints, sums,
  // differences, the lesser of two, remainders, either side of a select, products, and quotients by a constant. Not
  // through the greater of two, shifts and masks. 0: the offset is 0.
  int64_t divisor(ValueId value);
  int64_t divisor(const Offset& offset);

  const Op* definition(ValueId value) const { return definitions_[static_cast<size_t>(value)]; }
  // All lanes hold the same: a reduction over the lanes, and what is computed from such.
  bool lanes_alike(ValueId value, int depth = 0) const;

  // A slice of a Ref through all its views, in the last two dimensions of what it is a slice of.
  struct Slice {
    RefId root = kNone;                               // the Ref sliced: the root, or the last view that can be followed
    bool is_sliced = false;                           // some view has starts
    bool is_dynamic = false;                          // a start in any dimension is not a constant
    int64_t row_divisor = 0, column_divisor = 0;      // of the starts' sums; 0: no offset
    bool rows_known = true, columns_known = true;     // the starts are constants
    int64_t row = 0, column = 0;                      // then: where the slice starts
    int64_t rows = 0, columns = 0;                    // its extent; where that is not known, 0
    bool rows_sized = true, columns_sized = true;     // the extent is known
    int64_t rows_multiple = 0, columns_multiple = 0;  // what provably divides it
  };
  Slice slice(RefId ref);

 private:
  void index(const Block& block);
  int64_t divisor(ValueId value, int depth);

  const Body& body_;
  ScalarValues scalars_;
  Dims step_;
  std::vector<const Op*> definitions_;  // by value; null: none
};

// "3 values": where the compiler's own words would be MLIR. "vector<128x128xi8>" for messages.
std::string type_text(const TileType& type);

}  // namespace tilecheck::fit
