// From the location trees of a payload to the source lines of a traceback.
#include "sim/mosaic/ir.h"

namespace tilecheck::mosaic {
namespace {

// Loops of locations can be written by hand: a walk visits at most this many nodes.
constexpr size_t kMaxNodes = 4096;

bool is_jax_file(std::string_view file) {
  // Kernels shipped with JAX (jax/experimental/pallas/ops) are code a reader wants to see; its machinery is not.
  return file.find("/jax/_src/") != std::string_view::npos || file.find("/jaxlib/") != std::string_view::npos;
}

// JAX lowers equal operations once, as a function, and inlines it where they stand. The location of such an operation
// is a call, whose callee is where the first of the equals stood; only its caller is true. JAX names that call "" or,
// with full tracebacks, "swap/swap".
bool names_cached_rule(std::string_view name) {
  const size_t slash = name.rfind('/');
  if (slash == std::string_view::npos) return name.empty();
  const std::string_view last = name.substr(slash + 1), before = name.substr(0, slash);
  return before == last || before.ends_with("/" + std::string(last));
}

}  // namespace

std::vector<Frame> frames(const Module& module, LocId loc) {
  struct Item {
    LocId loc;
    std::string_view function;
    bool cached_rule = false;
  };
  std::vector<Frame> out;
  std::vector<Item> stack{{loc, {}}};
  for (size_t visited = 0; !stack.empty() && visited < kMaxNodes && out.size() < kMaxFrames; ++visited) {
    const Item item = stack.back();
    stack.pop_back();
    if (item.loc >= module.locs.size()) continue;
    const LocNode& node = module.locs[item.loc];
    switch (node.kind) {
      case LocNode::Kind::unknown:
        break;
      case LocNode::Kind::file: {
        // JAX names the innermost frame twice (as the primitive's own name and as the call's): keep one. Python counts
        // columns from 0.
        const Frame frame{node.text, item.function, node.line, node.line > 0 ? node.column + 1 : 0};
        const bool again = !out.empty() && out.back().file == frame.file && out.back().line == frame.line &&
                           out.back().column == frame.column;
        if (!again) out.push_back(frame);
        break;
      }
      case LocNode::Kind::name:
        stack.push_back({node.child, node.text, names_cached_rule(node.text)});
        break;
      case LocNode::Kind::callsite:
        stack.push_back({node.caller, {}});
        if (!item.cached_rule) stack.push_back({node.child, item.function});
        break;
      case LocNode::Kind::fused:
        stack.push_back({node.child, item.function});
        break;
    }
  }
  return out;
}

Frame user_frame(const Module& module, LocId loc) {
  const std::vector<Frame> all = frames(module, loc);
  for (const Frame& frame : all)
    if (!is_jax_file(frame.file)) return frame;
  return all.empty() ? Frame{} : all.front();
}

std::string_view primitive_name(const Module& module, LocId loc) {
  for (size_t visited = 0; loc < module.locs.size() && visited < kMaxNodes; ++visited) {
    const LocNode& node = module.locs[loc];
    if (node.kind == LocNode::Kind::name && !node.text.empty()) {
      std::string_view text = node.text;
      while (text.ends_with(':')) text.remove_suffix(1);
      return text;
    }
    if (node.kind != LocNode::Kind::name && node.kind != LocNode::Kind::fused) return {};
    loc = node.child;
  }
  return {};
}

std::string_view argument_name(const Module& module, const Block& block, uint32_t i) {
  return i < block.arg_locs.size() ? primitive_name(module, block.arg_locs[i]) : std::string_view{};
}

std::string to_string(const Frame& frame) {
  if (frame.file.empty()) return "unknown source";
  std::string out(frame.file);
  out += ":" + std::to_string(frame.line);
  if (frame.column > 0) out += ":" + std::to_string(frame.column);
  if (!frame.function.empty()) out.append(" (").append(frame.function).append(")");
  return out;
}

Loc user_loc(const Module& module, LocId loc) {
  const Frame frame = user_frame(module, loc);
  if (frame.file.empty()) return {};
  return Loc(intern(frame.file), static_cast<uint32_t>(frame.line), static_cast<uint32_t>(frame.column),
             intern(frame.function));
}

}  // namespace tilecheck::mosaic
