// Reading and printing schedules.
#include "sim/sync/schedule.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "sim/target/target.h"
#include "sim/types/error.h"

namespace tilecheck {
namespace {

using Kind = ScheduleSpec::Kind;

struct Form {
  std::string_view word;
  Kind kind;
  std::string_view argument;  // as it is written
  std::string_view note;
  bool is_of_one_kernel = false;
};
constexpr Form kForms[] = {
    {"lazy", Kind::lazy, "", " (the default; also on_wait)"},
    {"eager", Kind::eager, "", ""},
    {"lifo", Kind::lifo, "", ""},
    {"torn", Kind::torn, "", ""},
    {"random", Kind::random, "[:SEED]", ""},
    {"pct", Kind::pct, "[:SEED[:DEPTH]]", " with a depth of 1 to 64"},
    {"explore", Kind::explore, "", " (many of these)", true},
    {"exhaustive", Kind::exhaustive, "[:RUNS]", " (all)", true},
    {"replay", Kind::replay, ":DECISIONS", "", true},
};
constexpr std::string_view kAlias = "on_wait";  // of the first

template <typename T>
std::optional<T> number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::string schedule_forms(bool with_those_of_one_kernel) {
  std::vector<std::string> forms;
  for (const Form& f : kForms)
    if (with_those_of_one_kernel || !f.is_of_one_kernel)
      forms.push_back(std::string(f.word) + std::string(f.argument) + std::string(f.note));
  std::string text;
  for (size_t i = 0; i < forms.size(); ++i) text += (i == 0 ? "" : i + 1 < forms.size() ? ", " : " or ") + forms[i];
  return text;
}

ScheduleSpec parse_schedule(std::string_view text, std::string_view option) {
  const size_t colon = text.find(':');
  const std::string_view word = text.substr(0, colon);
  const auto form = std::ranges::find(kForms, word == kAlias ? kForms[0].word : word, &Form::word);
  const auto fail = [&](const std::string& what) -> InputError {
    std::string message = "'" + std::string(text.substr(0, 60)) + "' given, " + what + "expected " + schedule_forms();
    if (form == std::end(kForms)) {
      std::vector<std::string> words{std::string(kAlias)};
      for (const Form& f : kForms) words.emplace_back(f.word);
      const std::string nearest = nearest_name(word.substr(0, 100), words);
      if (!nearest.empty()) message += "; did you mean '" + nearest + "'?";
    }
    return InputError(std::string(option), message);
  };
  if (form == std::end(kForms)) throw fail("");
  const bool has_rest = colon != std::string_view::npos;
  const std::string_view rest = has_rest ? text.substr(colon + 1) : std::string_view{};
  ScheduleSpec spec;
  spec.kind = form->kind;
  if (has_rest && form->argument.empty()) throw fail("'" + std::string(word) + "' takes no argument; ");
  if (!has_rest && spec.kind != Kind::replay) return spec;
  if (spec.kind == Kind::random) {
    const auto seed = number<uint64_t>(rest);
    if (!seed) throw fail("'" + std::string(rest) + "' is no seed; ");
    spec.seed = *seed;
    return spec;
  }
  if (spec.kind == Kind::pct) {
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
  if (spec.kind == Kind::exhaustive) {
    const auto bound = number<int64_t>(rest);
    if (!bound || *bound < 1) throw fail("'" + std::string(rest) + "' is no number of runs; ");
    spec.bound = *bound;
    return spec;
  }
  if (!has_rest) throw fail("");
  spec.decisions = rest;
  try {
    parse_decisions(rest);
  } catch (const InputError& e) {
    throw fail(std::string(e.what()) + "; ");
  }
  return spec;
}

std::string to_string(const ScheduleSpec& spec) {
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
    case Kind::explore:
      return "explore";
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
