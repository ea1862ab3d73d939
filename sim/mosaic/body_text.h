// A kernel's body as text for people: constants, casts and views in place, one line per operation that does something.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/mosaic/ir.h"

namespace tilecheck::mosaic {

struct BodyLine {
  int indent = 0;
  std::string text;
  LocId loc = kNoLoc;
};

struct BodyText {
  std::vector<std::string> args;  // names of the function's arguments
  std::vector<BodyLine> lines;
};

// arg_names: what to call the arguments (one each); values are v0, v1, ... in the order of the lines.
BodyText body_text(const Module& module, const Function& function, const std::vector<std::string>& arg_names);

// An index map as "(i0, i1) -> (i0, prefetch0[i1])". Long or branching maps are cut short with "...".
std::string index_map_text(const Function& transform, const std::vector<std::string>& arg_names);
std::string index_map_text(const AffineMap& map, const std::vector<std::string>& arg_names);

// "f32[8,128]", "f32[8,128] VMEM", "i32".
std::string short_type(const Type& type);

}  // namespace tilecheck::mosaic
