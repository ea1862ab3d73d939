// The type rules of single operations; internal to the verifier.
#pragma once

#include <string>
#include <string_view>

#include "sim/mosaic/ir.h"

namespace tilecheck::mosaic {

// One operation under scrutiny.
struct OpCheck {
  const Module& module;
  const Function& function;
  const Op& op;
  std::string_view name;  // of the payload

  const Type& operand(size_t i) const { return function.type_of(op.operands[i]); }
  const Type& result(uint32_t i = 0) const { return function.type_of(op.result(i)); }
  const Type& type(ValueId id) const { return function.type_of(id); }
  [[noreturn]] void fail(const std::string& expected) const;
  void require(bool ok, const char* expected) const {
    if (!ok) fail(expected);
  }
  [[noreturn]] void incomplete(const std::string& what) const;

  // Attributes that must be there and be what is asked for.
  Dims integers(AttrName id) const;  // at most kMaxRank of them
  int64_t integer(AttrName id) const;
  int axis(AttrName id, int rank) const;  // a dimension: 0 to rank - 1
  DType element_type(AttrName id) const;
};

// The rule in OpInfo::rule, then the operation's own. Counts and segments have been checked.
void check_types(const OpCheck& check);
void check_vector_types(const OpCheck& check);
void check_memory_types(const OpCheck& check);  // loads, stores, Refs, copies, semaphores

bool is_integer(const Type& type);  // scalar or vector of an integer or i1; or index
bool is_float(const Type& type);
bool same_shape(const Type& a, const Type& b);  // both scalars, or vectors of one shape
bool is_integer_scalar(const Type& type);

}  // namespace tilecheck::mosaic
