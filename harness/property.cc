#include "harness/property.h"

#include <algorithm>

#include "harness/fill.h"
#include "sim/types/error.h"

namespace tilecheck {
namespace {

using Set = std::map<std::string, std::string>;

constexpr uint64_t kParameterStream = 0x70726f70;  // apart from the operands' streams

Set draw(const std::vector<Param>& params, uint64_t seed) {
  Set set;
  for (size_t i = 0; i < params.size(); ++i) {
    const Param& p = params[i];
    const uint64_t word = random_word(seed, kParameterStream, i);
    set[p.name] = p.samples.empty() ? p.default_text : p.samples[word % p.samples.size()];
  }
  return set;
}

// What is wrong with an outcome; empty: nothing.
std::string fault(const Outcome& outcome) {
  if (!outcome.error.empty()) return outcome.error;
  if (!outcome.report.incomplete.empty()) return "incomplete: " + outcome.report.incomplete.front();
  for (const Finding& f : outcome.report.findings)
    if (f.severity >= Severity::warning) return std::string(name(f.kind)) + ": " + f.message;
  for (const ResultOutcome& r : outcome.results)
    if (r.failed()) return r.name + ": " + to_text(*r.comparison, r.name);
  return "";
}

class Tester {
 public:
  Tester(const KernelChoice& choice, const PropertyOptions& options) : choice_(choice), options_(options) {}

  // None: the values do not go together.
  std::optional<Outcome> run(const Set& set, uint64_t seed) const {
    RunOptions run = options_.run;
    run.seed = seed;
    run.launch.garbage = static_cast<uint32_t>(seed);
    run.analyse_fit = false;
    try {
      return run_subject(subject_of(choice_, set), run).outcome;
    } catch (const InputError&) {
      return std::nullopt;
    }
  }

  PropertyFailure shrink(Set set, uint64_t seed, Outcome outcome) const {
    PropertyFailure failure{seed, set, set, std::move(outcome), {}};
    for (bool smaller = true; smaller;) {
      smaller = false;
      for (const Param& p : choice_.kernel->params) smaller = simplify(p, failure) || smaller;
    }
    failure.what = fault(failure.outcome);
    return failure;
  }

 private:
  // Takes the simplest sample before the present value with which the case still fails.
  bool simplify(const Param& p, PropertyFailure& failure) const {
    const std::string value = failure.set.at(p.name);
    for (const std::string& simpler : p.samples) {
      if (simpler == value) return false;
      Set set = failure.set;
      set[p.name] = simpler;
      std::optional<Outcome> outcome = run(set, failure.seed);
      if (!outcome || fault(*outcome).empty()) continue;
      failure.set = std::move(set);
      failure.outcome = std::move(*outcome);
      return true;
    }
    return false;
  }

  const KernelChoice& choice_;
  const PropertyOptions& options_;
};

}  // namespace

std::string PropertyFailure::command(const std::string& subject) const {
  std::string text = "tilecheck run " + subject;
  for (const auto& [name, value] : set) text += " --set " + name + "=" + value;
  return text + " --seed " + std::to_string(seed);
}

PropertyResult property_test(const KernelChoice& choice, const PropertyOptions& options) {
  const Tester tester(choice, options);
  PropertyResult result;
  for (int i = 0; i < options.cases; ++i) {
    const uint64_t seed = options.seed + static_cast<uint64_t>(i);
    const Set set = draw(choice.kernel->params, seed);
    std::optional<Outcome> outcome = tester.run(set, seed);
    if (!outcome) {
      ++result.refused;
      continue;
    }
    ++result.run;
    if (fault(*outcome).empty()) continue;
    result.failure = tester.shrink(set, seed, std::move(*outcome));
    break;
  }
  return result;
}

}  // namespace tilecheck
