// Interned text and printed source locations.
#include "sim/report/loc.h"

#include <mutex>
#include <unordered_set>

namespace tilecheck {

std::string to_string(const Loc& loc) {
  if (!loc.known()) return loc.file[0] ? loc.file : "unknown location";
  std::string text = std::string(loc.file) + ":" + std::to_string(loc.line);
  if (loc.column != 0) text += ":" + std::to_string(loc.column);
  return text;
}

const char* intern(std::string_view text) {
  // Never destroyed: Locs may be printed while the process ends. Node-based, so that c_str() stays put.
  static auto& mutex = *new std::mutex;
  static auto& texts = *new std::unordered_set<std::string>;
  const std::lock_guard lock(mutex);
  return texts.emplace(text).first->c_str();
}

}  // namespace tilecheck
