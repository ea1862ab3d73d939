// Makes every single mistake in the ordering of the captured kernels under TILECHECK_SHARED/captures; none may be
// missed.
//
//   conformance_mutants            all captures
//   conformance_mutants --check    those that copy by hand or run on several devices; fails when a mutant is missed
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "harness/mutation.h"
#include "harness/payload_subject.h"
#include "tests/conformance/measured.h"

namespace tilecheck {
namespace {

bool is_about_ordering(const std::string& name) {
  return name.starts_with("dma_") || name.starts_with("dist_") || name.starts_with("core_");
}

int mutate_all(bool check) {
  const std::string root = conformance::shared_folder() + "/captures";
  if (!std::filesystem::is_directory(root)) {
    std::printf("skipped: no captures at %s\n", root.c_str());
    return conformance::kSkipped;
  }
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(root))
    if (is_capture(entry.path())) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  constexpr Caught kAll[] = {Caught::by_ordering, Caught::otherwise, Caught::equivalent, Caught::missed};
  int64_t kernels = 0, counts[4] = {};
  for (const std::string& name : names) {
    if (check && !is_about_ordering(name)) continue;
    const CommandLine line;
    const Subject subject = capture_subject(root + "/" + name, line);
    const std::vector<Mutation> mutations = mutations_of(subject, root + "/" + name, line);
    if (mutations.empty()) continue;
    ++kernels;
    const MutationReport r = run_mutations(subject, line.run, mutations);
    for (size_t i = 0; i < 4; ++i) counts[i] += r.count(kAll[i]);
    for (const MutantOutcome& m : r.mutants)
      if (m.caught == Caught::missed)
        std::printf("%s, line %u: %s: %s\n", name.c_str(), m.at.line, m.what.c_str(), m.by.c_str());
  }
  std::printf(
      "%lld captures: %lld mutants caught by an ordering finding, %lld otherwise, %lld equivalent, %lld missed\n",
      static_cast<long long>(kernels), static_cast<long long>(counts[0]), static_cast<long long>(counts[1]),
      static_cast<long long>(counts[2]), static_cast<long long>(counts[3]));
  return check && counts[3] > 0 ? 1 : 0;
}

}  // namespace
}  // namespace tilecheck

int main(int argc, char** argv) { return tilecheck::mutate_all(argc > 1 && std::string_view(argv[1]) == "--check"); }
