// Runs a subject end to end: operands, launch, fit, comparison, report.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "harness/fill.h"
#include "harness/outcome.h"
#include "harness/subject.h"

namespace tilecheck {

struct RunOptions {
  LaunchOptions launch;
  // Operand name, or its number, -> "FILE.npy", "FILE.safetensors:TENSOR". With several devices "0.dev1" too.
  std::map<std::string, std::string> in;
  std::vector<Arrays> arrays;           // instead of files: every operand, per device
  std::map<std::string, DType> dtypes;  // of files that do not say: operand name or number -> type
  std::optional<FillKind> fill;         // for operands not given; unset: C++ kernels' own hints, payloads refuse
  uint64_t seed = 0;
  std::map<std::pair<int, int>, std::string> expect;  // (result, device) -> file
  std::optional<double> atol, rtol;
  bool bit_equal = false;          // compare bits
  bool compare = true;             // with reference, captures' goldens and `expect`
  bool analyse_fit = true;         // fit table, compile rules, time
  bool target_is_assumed = false;  // the target is a default; a payload may be meant for another
  std::optional<int64_t> vmem_limit_bytes;
  bool share_hbm = false;      // of the time estimate: copies in flight share HBM's bandwidth
  std::string replay_command;  // "tilecheck run relu": what --schedule and --seed are appended to
};

// What a run ended with, arrays included.
struct RunResult {
  Outcome outcome;
  std::vector<Arrays> operands;                        // per device
  std::vector<DeviceResults> devices;                  // empty if nothing ran
  std::vector<std::vector<std::string>> alternatives;  // LaunchResult's
  std::string missed_orders;                           // LaunchResult's
};

// Bad operands, options or specs: InputError. What is not modelled ends in the outcome.
// InputError for an expected file of a result or device that is not there: it would never be compared.
void refuse_unknown_results(const Subject& subject, const RunOptions& options);
RunResult run_subject(const Subject& subject, const RunOptions& options);

// For tests: EXPECT_THAT(run(my_case), IsClean()) with harness/matchers.h.
RunResult run(const KernelCase& kernel_case, const RunOptions& options = {});
// By name, "matmul" or "matmul/accumulator_not_zeroed", with parameters.
RunResult run(std::string_view kernel, const std::map<std::string, std::string>& set = {},
              const RunOptions& options = {});
// Without reference: operands (scalar prefetch, then inputs) of one device, or of each.
RunResult run(const KernelSpec& spec, const Body& body, const Arrays& operands, RunOptions options = {});
RunResult run(const KernelSpec& spec, const Body& body, const std::vector<Arrays>& operands, RunOptions options = {});

// InputError, naming the largest array, when operands, results and what they are compared with take more than
// memory_bytes. Nothing is allocated.
void refuse_too_large(const Subject& subject, const RunOptions& options, int64_t memory_bytes);
int64_t machine_memory_bytes();

// The operands of every device: files where given, else filled.
std::vector<Arrays> make_operands(const Subject& subject, const RunOptions& options,
                                  std::vector<std::string>& warnings);

// The last grid step whose block of result `output` covers the element at `index`. None for results that the pipeline
// does not move, and for grids beyond kMaxWriterSteps.
inline constexpr int64_t kMaxWriterSteps = 1 << 20;
std::optional<Dims> last_writer(const KernelSpec& spec, int output, const Dims& index, const DeviceArgs& args);

// Writes DIR/result_I.npy (result_I.devK.npy with several devices), each whole or not at all, after all were made.
void write_results(const std::string& directory, const std::vector<DeviceResults>& devices);

}  // namespace tilecheck
