// Runs the captured kernels under TILECHECK_SHARED/captures and holds results and findings against JAX's.
//
//   conformance_captures            what disagrees, and how many agree
//   conformance_captures --check    the same, silent on what kExceptions explains; fails on anything else. Also a part
//                                   of --schedules
//   conformance_captures --schedules    those that copy, or run on several devices, under every kind of schedule and
//                                   explored; fails when a schedule disagrees
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "harness/explore_subject.h"
#include "harness/payload_subject.h"
#include "sim/types/error.h"
#include "tests/conformance/measured.h"

namespace tilecheck {
namespace {

// Where the golden is not what the machine does. docs/conformance.md has the evidence.
struct Exception {
  const char* capture;
  const char* kind;  // of the finding
  const char* reason;
};
constexpr Exception kExceptions[] = {
    {"own_un_gelu", "result-mismatch", "JAX's CPU tanh is -1 below -7.9 (3.7 ulp off)"},
    {"own_mlp_gelu_bf16", "result-mismatch", "JAX's CPU tanh, as in own_un_gelu"},
    {"ops_gmm_f32_offset", "non-finite",
     "the golden shows rows of the other slot, which JAX's interpreter keeps in one buffer"},
    {"dist_ops_all_gather_any", "relies-on-message-order", "it does"},
    {"dist_ops_all_gather_vmem", "relies-on-message-order", "it does"},
    {"own_element_padded", "undefined-output", "results computed from padding that nothing defines"},
};

const Exception* exception_for(const std::string& capture, const std::string& why) {
  for (const Exception& e : kExceptions)
    if (capture == e.capture && why.starts_with(e.kind)) return &e;
  return nullptr;
}

CommandLine quick() {
  CommandLine line;
  line.run.analyse_fit = false;
  line.run.launch.threads = 2;
  return line;
}

// The worst of a run's findings, "" when it agrees.
std::string disagreement(const RunResult& r) {
  if (!r.outcome.report.incomplete.empty()) return "incomplete: " + r.outcome.report.incomplete[0];
  for (const Finding& f : r.outcome.report.findings)
    if (f.severity != Severity::note) return std::string(name(f.kind)) + ": " + f.message;
  return "";
}

std::string disagreement(const std::string& directory, const std::string& module) {
  const CommandLine line = quick();
  return disagreement(run_subject(capture_subject(directory, line, module), line.run));
}

std::vector<std::string> capture_names(const std::string& root) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(root))
    if (is_capture(entry.path())) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

// ---- Schedules.

struct Explored {
  int captures = 0, runs = 0, complete = 0, partly = 0, wrong = 0;
};

void explore_one(const Subject& subject, const std::string& name, const ExploreRequest& request, Explored& sum) {
  const CommandLine line = quick();
  const RunResult r = explore_subject(subject, line.run, request);
  const ExplorationOutcome& e = *r.outcome.exploration;
  ++sum.runs;
  ++(e.complete ? sum.complete : sum.partly);
  if (e.failing.empty()) return;
  const std::string why = disagreement(r);
  if (exception_for(name, why)) return;
  ++sum.wrong;
  std::printf("%s explored%s: %s fails: %s\n", name.c_str(), request.exhaustive ? " exhaustively" : "",
              e.failing.c_str(), why.c_str());
}

// A correct kernel is silent under every schedule. bounded: a few seconds in all.
int try_schedules(const std::string& root, bool bounded) {
  std::vector<std::string> schedules{"eager", "lifo", "torn", "random:1", "pct:1:3"};
  if (!bounded) schedules.insert(schedules.end(), {"lazy", "random:2", "random:3", "pct:2:2"});
  Explored sum;
  for (const std::string& name : capture_names(root)) {
    CommandLine line = quick();
    const Subject subject = capture_subject(root + "/" + name, line);
    const bool copies = run_subject(subject, line.run).outcome.report.counters.dma_copies > 0;
    if (!copies && subject.devices == 1 && subject.cores == 1) continue;
    ++sum.captures;
    for (const std::string& schedule : schedules) {
      line.run.launch.sync.schedule = parse_schedule(schedule);
      const std::string why = disagreement(run_subject(subject, line.run));
      ++sum.runs;
      if (why.empty() || exception_for(name, why)) continue;
      ++sum.wrong;
      std::printf("%s --schedule %s: %s\n", name.c_str(), schedule.c_str(), why.c_str());
    }
    ExploreRequest request{.exhaustive = true, .budget_seconds = bounded ? 0.2 : 5, .bound = bounded ? 20 : 1000};
    explore_one(subject, name, request, sum);
    if (bounded) continue;
    request.exhaustive = false;
    request.budget_seconds = 1;
    explore_one(subject, name, request, sum);
  }
  std::printf(
      "%d captures that copy or have several devices or cores, %d runs and explorations: %d explored completely, "
      "%d in part, %d wrong\n",
      sum.captures, sum.runs, sum.complete, sum.partly, sum.wrong);
  return sum.wrong > 0 ? 1 : 0;
}

int compare_all(const std::string& root, bool check) {
  const std::vector<std::string> names = capture_names(root);
  int unexplained = 0;
  for (const std::string module : {"module.mlir", "module.v15.mlir"}) {
    int right = 0, tried = 0, explained = 0;
    for (const std::string& name : names) {
      const std::string directory = root + "/" + name;
      if (!std::filesystem::exists(directory + "/" + module)) continue;
      ++tried;
      std::string why;
      try {
        why = disagreement(directory, module);
      } catch (const InputError& e) {
        why = std::string("error: ") + e.what();
      }
      if (why.empty()) {
        ++right;
        continue;
      }
      const Exception* known = exception_for(name, why);
      if (known) {
        ++explained;
      } else {
        ++unexplained;
      }
      if (!check || !known) std::printf("%s %s: %s\n", module.c_str(), name.c_str(), why.c_str());
      if (!check && known) std::printf("    explained: %s\n", known->reason);
    }
    std::printf("%s: %d of %d captures agree, %d differ for a known reason\n", module.c_str(), right, tried, explained);
  }
  return check && unexplained > 0 ? 1 : 0;
}

int conformance_run(const std::string& mode) {
  const std::string root = conformance::shared_folder() + "/captures";
  if (!std::filesystem::is_directory(root)) {
    std::printf("skipped: no captures at %s\n", root.c_str());
    return conformance::kSkipped;
  }
  if (mode == "--schedules") return try_schedules(root, false);
  const int compared = compare_all(root, mode == "--check");
  return mode == "--check" ? std::max(compared, try_schedules(root, true)) : compared;
}

}  // namespace
}  // namespace tilecheck

int main(int argc, char** argv) { return tilecheck::conformance_run(argc > 1 ? argv[1] : ""); }
