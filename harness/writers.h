// Outcomes as text and as the formats that other tools read.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "harness/outcome.h"

namespace tilecheck {

enum class OutputFormat : uint8_t { text, short_, json, junit, sarif, github };
std::optional<OutputFormat> parse_output_format(std::string_view name);

struct WriterOptions {
  bool color = false;
  bool quiet = false;                    // text: findings and verdict alone
  bool verbose = false;                  // text: counters and histograms too
  Severity threshold = Severity::error;  // what makes a verdict `findings`
};

// Headline, VMEM and HBM tables, time, results, findings, verdict.
std::string text_report(const Outcome& outcome, const WriterOptions& options);
// What many runs ended with: findings of each, one line each, a summary line.
std::string text_summary(std::span<const Outcome> outcomes, const WriterOptions& options, double seconds);
// What the pipeline did at each recorded step.
std::string step_log(const Outcome& outcome);
// One line a finding, as compilers print it, then a summary line.
std::string short_report(std::span<const Outcome> outcomes, const WriterOptions& options);
// docs/json.md has the schema. One outcome: its object; several: `runs`. Ends with a newline.
std::string json_report(std::span<const Outcome> outcomes, const WriterOptions& options);
std::string junit_report(std::span<const Outcome> outcomes, const WriterOptions& options);
std::string sarif_report(std::span<const Outcome> outcomes, const WriterOptions& options);
// Workflow commands that GitHub shows as annotations.
std::string github_report(std::span<const Outcome> outcomes, const WriterOptions& options);

// text: text_report for one outcome, text_summary for several.
std::string write_report(OutputFormat format, std::span<const Outcome> outcomes, const WriterOptions& options,
                         double seconds);

// "clean  0 errors, 0 warnings"
std::string verdict_text(const Outcome& outcome, const WriterOptions& options);
std::string traffic_text(const Counters& counters);

inline constexpr const char* kVersion = "0.1.0";

}  // namespace tilecheck
