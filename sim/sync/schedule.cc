// Reading and printing schedules.
#include "sim/sync/schedule.h"

#include <charconv>
#include <optional>

#include "sim/types/error.h"

namespace tilecheck {
namespace {

constexpr std::string_view kForms =
    "eager, lazy (on_wait), lifo, random:SEED, pct:SEED[:DEPTH], torn, exhaustive[:RUNS] or replay:DECISIONS";

template <typename T>
std::optional<T> number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

ScheduleSpec parse_schedule(std::string_view text) {
  using Kind = ScheduleSpec::Kind;
  const auto fail = [&](const std::string& what) -> InputError {
    return InputError("schedule '" + std::string(text) + "'", what + "expected " + std::string(kForms));
  };
  const size_t colon = text.find(':');
  const std::string_view word = text.substr(0, colon);
  const bool has_rest = colon != std::string_view::npos;
  const std::string_view rest = has_rest ? text.substr(colon + 1) : std::string_view{};
  ScheduleSpec spec;
  const auto plain = [&](Kind kind) {
    if (has_rest) throw fail("'" + std::string(word) + "' takes no argument; ");
    spec.kind = kind;
    return spec;
  };
  if (word == "eager") return plain(Kind::eager);
  if (word == "lazy" || word == "on_wait") return plain(Kind::lazy);
  if (word == "lifo") return plain(Kind::lifo);
  if (word == "torn") return plain(Kind::torn);
  if (word == "random") {
    spec.kind = Kind::random;
    if (!has_rest) return spec;
    const auto seed = number<uint64_t>(rest);
    if (!seed) throw fail("'" + std::string(rest) + "' is no seed; ");
    spec.seed = *seed;
    return spec;
  }
  if (word == "pct") {
    spec.kind = Kind::pct;
    if (!has_rest) return spec;
    const size_t second = rest.find(':');
    const auto seed = number<uint64_t>(rest.substr(0, second));
    if (!seed) throw fail("'" + std::string(rest) + "' is no seed; ");
    spec.seed = *seed;
    if (second != std::string_view::npos) {
      const auto depth = number<int>(rest.substr(second + 1));
      if (!depth || *depth < 1 || *depth > 64) throw fail("a depth is 1 to 64; ");
      spec.depth = *depth;
    }
    return spec;
  }
  if (word == "exhaustive") {
    spec.kind = Kind::exhaustive;
    if (!has_rest) return spec;
    const auto bound = number<int64_t>(rest);
    if (!bound || *bound < 1) throw fail("'" + std::string(rest) + "' is no number of runs; ");
    spec.bound = *bound;
    return spec;
  }
  if (word == "replay" && has_rest) {
    spec.kind = Kind::replay;
    spec.decisions = rest;
    try {
      parse_decisions(rest);
    } catch (const InputError& e) {
      throw fail(std::string(e.what()) + "; ");
    }
    return spec;
  }
  throw fail("");
}

std::string to_string(const ScheduleSpec& spec) {
  using Kind = ScheduleSpec::Kind;
  switch (spec.kind) {
    case Kind::eager:
      return "eager";
    case Kind::lazy:
      return "lazy";
    case Kind::lifo:
      return "lifo";
    case Kind::random:
      return "random:" + std::to_string(spec.seed);
    case Kind::pct:
      return "pct:" + std::to_string(spec.seed) + ":" + std::to_string(spec.depth);
    case Kind::torn:
      return "torn";
    case Kind::exhaustive:
      return "exhaustive:" + std::to_string(spec.bound);
    case Kind::replay:
      return "replay:" + spec.decisions;
  }
  return "";
}

std::vector<Decision> parse_decisions(std::string_view text) {
  std::vector<Decision> decisions;
  const auto fail = [&](std::string_view part) -> InputError {
    return InputError("decisions '" + std::string(text) + "'",
                      "'" + std::string(part) +
                          "' is not POINT:CHOICE, where POINT is a number that rises and CHOICE is aN (agent N runs), "
                          "cN (copy N moves) or tN (a piece of copy N moves)");
  };
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    const size_t colon = part.find(':');
    if (colon == std::string_view::npos || colon + 2 > part.size()) throw fail(part);
    const auto point = number<int64_t>(part.substr(0, colon));
    const auto subject = number<int64_t>(part.substr(colon + 2));
    const char what = part[colon + 1];
    if (!point || *point < 0 || !subject || *subject < 0 || (what != 'a' && what != 'c' && what != 't'))
      throw fail(part);
    if (!decisions.empty() && decisions.back().point >= *point) throw fail(part);
    decisions.push_back({*point, {static_cast<Choice::What>(what), *subject}});
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
  }
  return decisions;
}

std::string to_string(const std::vector<Decision>& decisions) {
  std::string text;
  for (const Decision& d : decisions) {
    if (!text.empty()) text += ',';
    text += std::to_string(d.point) + ':' + static_cast<char>(d.choice.what) + std::to_string(d.choice.subject);
  }
  return text;
}

}  // namespace tilecheck
