// docs/ordering.md shows each kind with kernels that have it.
#include <fstream>

#include "tests/unit/kernels/run_kernel.h"

namespace tilecheck::testing_kernels {
namespace {

TEST(OrderingDocument, ItsExamplesAreWhatItSays) {
  std::ifstream file(TILECHECK_SOURCE_DIR "/docs/ordering.md");
  ASSERT_TRUE(file);
  std::string kind;
  int examples = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("### ")) kind = line.substr(4, line.find(' ', 4) - 4);
    const std::string command = "`tilecheck run ";
    for (size_t at = 0; (at = line.find(command, at)) != std::string::npos;) {
      at += command.size();
      const std::string kernel = line.substr(at, line.find('`', at) - at);
      const Outcome o = run_kernel(kernel, {}).outcome;
      EXPECT_TRUE(std::ranges::any_of(o.report.findings, [&](const Finding& f) { return name(f.kind) == kind; }))
          << kernel << " under " << kind << "\n"
          << describe(o);
      ++examples;
    }
  }
  EXPECT_GE(examples, 20);
}

}  // namespace
}  // namespace tilecheck::testing_kernels
