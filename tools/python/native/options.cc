#include "tools/python/native/options.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <thread>

#include "sim/sync/schedule.h"
#include "sim/target/target.h"
#include "sim/types/error.h"

namespace tilecheck::python {
namespace {

using Json = nlohmann::json;

constexpr std::array<std::string_view, kCheckCount> kCheckNames{"memory", "init", "race", "sync", "fit"};

// The number of `text` among `names`.
template <size_t N>
size_t choose(std::string_view key, const std::string& text, const std::array<std::string_view, N>& names) {
  const auto at = std::ranges::find(names, text);
  if (at != names.end()) return static_cast<size_t>(at - names.begin());
  std::string expected;
  for (const std::string_view n : names) expected += (expected.empty() ? "" : ", ") + std::string(n);
  throw InputError(std::string(key), "\"" + text + "\"; expected one of " + expected);
}

uint32_t parse_checks(const std::string& text) {
  uint32_t checks = 0;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    if (word == "all")
      checks = (1u << kCheckCount) - 1;
    else if (!word.empty())
      checks |= 1u << choose("checks", word, kCheckNames);
    begin = end + 1;
  }
  if (checks == 0) throw InputError("checks", "\"" + text + "\" names none");
  return checks;
}

void parse_order(const std::string& text, CallOptions& options) {
  ScheduleSpec& schedule = options.launch.sync.schedule = parse_schedule(text);
  options.explore = schedule.kind == ScheduleSpec::Kind::explore      ? CallOptions::Explore::many
                    : schedule.kind == ScheduleSpec::Kind::exhaustive ? CallOptions::Explore::all
                                                                      : CallOptions::Explore::none;
  if (options.explore == CallOptions::Explore::none) return;
  if (options.explore == CallOptions::Explore::all) options.max_runs = schedule.bound;
  schedule = {};
}

}  // namespace

std::string_view name(Check check) { return kCheckNames[static_cast<size_t>(check)]; }

Check check_of(Kind kind) {
  switch (kind) {
    case Kind::out_of_bounds_read:
    case Kind::out_of_bounds_write:
    case Kind::out_of_bounds_block:
    case Kind::use_after_scope:
    case Kind::memory_space:
    case Kind::output_revisited:
    case Kind::alias_mismatch:
    case Kind::type_mismatch:
    case Kind::index_map_reads_written_smem:
      return Check::memory;
    case Kind::undefined_use:
    case Kind::undefined_output:
    case Kind::non_finite:
    case Kind::result_mismatch:
    case Kind::nothing_compared:
      return Check::init;
    case Kind::race:
    case Kind::relies_on_message_order:
    case Kind::parallel_order_dependent:
      return Check::race;
    case Kind::deadlock:
    case Kind::dma_not_awaited:
    case Kind::semaphore_not_drained:
    case Kind::semaphore_misuse:
    case Kind::wait_without_start:
    case Kind::collective_mismatch:
    case Kind::dma_serialized:
      return Check::sync;
    default:
      return Check::fit;
  }
}

CallOptions parse_options(std::string_view text) {
  CallOptions options;
  options.launch.target = &target_named("v5e");
  options.launch.threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) throw InputError("options", "not a JSON object");
  for (const auto& [key, value] : json.items()) {
    try {
      if (key == "target") {
        options.launch.target = &target_named(value.get<std::string>());
      } else if (key == "checks") {
        options.checks = parse_checks(value.get<std::string>());
      } else if (key == "schedule") {
        parse_order(value.get<std::string>(), options);
      } else if (key == "budget") {
        options.budget_seconds = value.get<double>();
        if (!(options.budget_seconds > 0)) throw InputError("budget", value.dump() + "; expected seconds above 0");
      } else if (key == "numerics") {
        constexpr std::array<std::string_view, 3> names{"exact", "mxu", "f64"};
        options.launch.numerics = static_cast<Numerics>(choose(key, value.get<std::string>(), names));
      } else if (key == "seed") {
        options.launch.sync.seed = value.get<uint64_t>();
      } else if (key == "threads") {
        options.launch.threads = std::clamp(value.get<int>(), 1, 1024);
      } else if (key == "cores") {
        options.launch.cores = std::clamp(value.get<int>(), 1, 64);
      } else if (key == "remote_order") {
        constexpr std::array<std::string_view, 2> names{"in-order", "none"};
        options.launch.sync.remote_in_order = choose(key, value.get<std::string>(), names) == 0;
      } else if (key == "on_finding") {
        constexpr std::array<std::string_view, 3> names{"raise", "warn", "collect"};
        options.on_finding = static_cast<OnFinding>(choose(key, value.get<std::string>(), names));
      } else if (key == "error_on") {
        constexpr std::array<std::string_view, 3> names{"note", "warning", "error"};
        options.threshold = static_cast<Severity>(choose(key, value.get<std::string>(), names));
      } else {
        throw InputError("options", "unknown key \"" + key + "\"");
      }
    } catch (const Json::exception&) {
      throw InputError("options", "\"" + key + "\" is " + value.dump());
    }
  }
  options.launch.check_definedness = options.has(Check::init);
  options.launch.sync.check_races = options.has(Check::race);
  return options;
}

}  // namespace tilecheck::python
