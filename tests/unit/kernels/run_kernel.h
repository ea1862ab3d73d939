// Runs built-in kernels by name, for the tests of this folder.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "harness/run.h"
#include "kernels/list.h"

namespace tilecheck::testing_kernels {

using Set = std::map<std::string, std::string>;

// "block_q=64 causal=1" as --set takes them.
inline Set parse_set(const std::string& text) {
  Set set;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const size_t equals = word.find('=');
    set[word.substr(0, equals)] = word.substr(equals + 1);
  }
  return set;
}

inline KernelChoice choice(const std::string& name) {
  [[maybe_unused]] static const bool once = [] {
    for (Kernel& kernel : built_in_kernels()) add_kernel(std::move(kernel));
    return true;
  }();
  return kernel_named(name);
}

inline RunResult run_kernel(const std::string& name, const Set& set, RunOptions options = {}) {
  options.analyse_fit = false;
  return run_subject(subject_of(choice(name), set), options);
}

inline std::string describe(const Outcome& outcome) {
  std::string text = outcome.subject + " " + std::string(name(outcome.verdict())) + "\n";
  for (const Finding& f : outcome.report.findings) text += std::string(name(f.kind)) + ": " + f.message + "\n";
  for (const std::string& i : outcome.report.incomplete) text += "incomplete: " + i + "\n";
  for (const ResultOutcome& r : outcome.results)
    if (r.comparison) text += r.name + ": " + to_text(*r.comparison, r.name) + "\n";
  return text;
}

// Ran, nothing to say, every result compared and right.
inline void expect_clean(const Outcome& outcome) {
  EXPECT_TRUE(outcome.ran && outcome.report.findings.empty() && outcome.report.incomplete.empty()) << describe(outcome);
  for (const ResultOutcome& r : outcome.results)
    EXPECT_TRUE(r.comparison && r.comparison->pass()) << r.name << "\n" << describe(outcome);
}

}  // namespace tilecheck::testing_kernels
