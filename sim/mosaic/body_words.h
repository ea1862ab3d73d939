// The words of an operation as `inspect` prints it: its operator, constant and attributes, each without the rest.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "sim/mosaic/ir.h"

namespace tilecheck::mosaic {

// A name longer than this gets a line of its own, a constant longer than this is cut.
inline constexpr size_t kMaxInline = 72;

std::string dims_text(const Shape& shape);              // "[8,128]", "?" for what is dynamic
std::string_view integer_predicate(int64_t predicate);  // "<="; "?" for one that does not exist
std::string_view float_predicate(int64_t predicate);
std::string_view infix(OpCode code);           // "+" where that reads better than the name; else empty
std::string constant_text(const Attr& value);  // the number in "1.0 : f32" or "dense<0.5> : vector<..>"
std::string without_dialect(std::string_view name);
std::string attrs_text(const Op& op);  // "  {dim 1}": those that are not at their default

}  // namespace tilecheck::mosaic
