// Holds the compile-time rules against verdicts of JAX's lowering and of the TPU compiler.
// conformance_compile [--check] [DIR]   DIR: a folder with cases.csv (case, gen, verdict, kind, module), else the
// shared one Without DIR also the kernels of the need table: those that compile must draw no finding.
// --check: exit 1 when a verdict is wrong
#include <cstdio>
#include <cstring>
#include <map>

#include "measured.h"
#include "sim/fit/compile_rules.h"
#include "sim/fit/simplify.h"
#include "sim/fit/vmem_report.h"
#include "sim/mosaic/fit_body.h"
#include "sim/mosaic/payload.h"
#include "sim/types/error.h"

namespace tilecheck::conformance {
namespace {

struct Answer {
  std::vector<std::string> kinds;  // of errors
  std::string text;
};

// with_memory: what does not fit counts as refused too.
Answer ask(const std::string& path, const Target& target, bool with_memory) {
  Answer answer;
  const std::vector<mosaic::KernelCall> calls = mosaic::read_kernel_calls(read_file(path), path);
  mosaic::KernelModule module = mosaic::open_kernel(calls.at(0));
  fit::Body body = mosaic::fit_body(module.module, *module.main);
  const KernelSpec spec = mosaic::Payload::make(std::move(module))->spec();
  const fit::CompileOptions options{.lowered_by_jax = true};
  std::vector<Finding> findings = fit::check_spec(spec, target, options);
  for (Finding& f : fit::check_body(spec, body, target, options)) findings.push_back(std::move(f));
  fit::simplify(body);
  if (with_memory)
    for (Finding& f : fit::vmem_report(spec, &body, target).findings) findings.push_back(std::move(f));
  for (const Finding& f : findings) {
    if (f.severity != Severity::error) continue;
    answer.kinds.emplace_back(name(f.kind));
    if (answer.text.empty()) answer.text = f.message;
  }
  return answer;
}

// Kernels whose need was measured: the compiler took them (whether they fit or not), or refused them for another
// reason.
int run_measured(const std::string& folder, bool check) {
  const auto rows = read_csv(folder + "/vmem_truth.csv");
  if (!rows) return 0;
  int asked = 0, right = 0, refused = 0, named = 0;
  for (const CsvRow& row : *rows) {
    const std::string& truth = row.at("verdict");
    if (row.at("payload").empty() || row.at("ncalls") != "1") continue;
    Answer answer;
    try {
      answer = ask(folder + "/payloads/" + row.at("payload"), target_named(row.at("gen")), false);
    } catch (const std::exception& e) {
      answer.kinds = {"exception"};
      answer.text = e.what();
    }
    const bool rejected = truth == "error";
    ++asked;
    right += answer.kinds.empty() != rejected;
    refused += rejected;
    named += rejected && !answer.kinds.empty();
    if (answer.kinds.empty() == rejected)
      std::printf("  wrong: %s on %s is %s; said %s %s\n", row.at("id").c_str(), row.at("gen").c_str(),
                  rejected ? row.at("msg").substr(0, 120).c_str() : "accepted",
                  answer.kinds.empty() ? "nothing" : answer.kinds[0].c_str(), answer.text.c_str());
  }
  std::printf("kernels of the need table: %d of %d verdicts right; %d of %d refused ones found\n", right, asked, named,
              refused);
  return check && right != asked ? 1 : 0;
}

int run(bool check, const std::string& folder) {
  const auto rows = read_csv(folder + "/cases.csv");
  if (!rows) {
    std::printf("skipped: no %s/cases.csv\n", folder.c_str());
    return kSkipped;
  }
  int asked = 0, right = 0, kind_asked = 0, kind_right = 0;
  std::map<std::string, int> wrong;
  for (const CsvRow& row : *rows) {
    if (row.at("module").empty()) continue;
    const bool rejected = row.at("verdict") == "rejected";
    ++asked;
    Answer answer;
    try {
      answer = ask(folder + "/" + row.at("module"), target_named(row.at("gen")), true);
    } catch (const std::exception& e) {
      answer = {{}, e.what()};
      std::printf("  cannot judge %s: %s\n", row.at("module").c_str(), e.what());
    }
    const bool good = answer.kinds.empty() != rejected;
    right += good;
    if (!good) {
      ++wrong[row.at("gen")];
      std::printf("  wrong: %s on %s is %s; said %s %s\n", row.at("case").c_str(), row.at("gen").c_str(),
                  row.at("verdict").c_str(), answer.kinds.empty() ? "nothing" : answer.kinds[0].c_str(),
                  answer.text.c_str());
    }
    if (!rejected || !row.contains("kind") || row.at("kind").empty()) continue;
    ++kind_asked;
    bool named = false;
    for (const std::string& kind : answer.kinds) named |= kind == row.at("kind");
    kind_right += named;
    if (!named && good)
      std::printf("  other kind: %s on %s is %s; said %s %s\n", row.at("case").c_str(), row.at("gen").c_str(),
                  row.at("kind").c_str(), answer.kinds[0].c_str(), answer.text.c_str());
  }
  std::printf("compile-time rules: %d of %d verdicts right, %d of %d rejections by their kind\n", right, asked,
              kind_right, kind_asked);
  return check && (right != asked || kind_right != kind_asked) ? 1 : 0;
}

}  // namespace
}  // namespace tilecheck::conformance

int main(int argc, char** argv) {
  bool check = false;
  std::string folder;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--check") == 0)
      check = true;
    else
      folder = argv[i];
  }
  if (!folder.empty()) return tilecheck::conformance::run(check, folder);
  const std::string shared = tilecheck::conformance::shared_folder() + "/vmem";
  const int cases = tilecheck::conformance::run(check, shared + "/rejections");
  return cases != 0 ? cases : tilecheck::conformance::run_measured(shared, check);
}
