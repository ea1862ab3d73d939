// Peak memory of a run: operands + results + one VMEM (as much as the kernel may take of it) + 64 MiB. Each captured
// kernel under TILECHECK_SHARED/captures, and some large kernels of this project, run in a process of their own, which
// asks the system for its peak.
//
//   conformance_memory            the peak of every run and what it is held against
//   conformance_memory --check    silent but for the runs above it; fails if there is one
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "harness/payload_subject.h"
#include "kernels/list.h"
#include "sim/target/target.h"
#include "tests/conformance/measured.h"

namespace tilecheck {
namespace {

constexpr int64_t kAllowedBytes = int64_t{64} << 20;

struct Run {
  std::string name;
  std::function<Subject(const CommandLine&)> subject;
};

int64_t bytes_of(const std::vector<Arrays>& per_device) {
  int64_t bytes = 0;
  for (const Arrays& arrays : per_device)
    for (const HostArray& array : arrays) bytes += array.size_bytes();
  return bytes;
}

// In the child. Whether the peak stayed within what is allowed.
bool stays_within(const Run& run, bool check) {
  CommandLine line;
  line.run.launch.threads = 2;
  line.run.compare = false;  // a reference in fp64 is no part of the run
  const Subject subject = run.subject(line);
  const RunResult result = run_subject(subject, line.run);
  int64_t arrays = bytes_of(result.operands);
  for (const DeviceResults& device : result.devices) arrays += bytes_of({device.out});
  const int64_t vmem =
      std::max(subject.spec.vmem_limit_bytes.value_or(0), target_named("v5e")[FigureId::vmem_default_limit_bytes]);
  const int64_t allowed = arrays + vmem * subject.devices + kAllowedBytes;
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const int64_t peak = int64_t{used.ru_maxrss} * 1024;
  if (!check || peak > allowed)
    std::printf("%s: peak %.1f MiB, arrays %.1f MiB, allowed %.1f MiB%s\n", run.name.c_str(),
                static_cast<double>(peak) / (1 << 20), static_cast<double>(arrays) / (1 << 20),
                static_cast<double>(allowed) / (1 << 20), peak > allowed ? "  ABOVE" : "");
  std::fflush(stdout);
  return peak <= allowed;
}

std::vector<Run> runs() {
  std::vector<Run> all;
  const std::string root = conformance::shared_folder() + "/captures";
  if (std::filesystem::is_directory(root))
    for (const auto& entry : std::filesystem::directory_iterator(root))
      if (is_capture(entry.path()))
        all.push_back({entry.path().filename(), [path = entry.path().string()](const CommandLine& line) {
                         return capture_subject(path, line);
                       }});
  std::sort(all.begin(), all.end(), [](const Run& a, const Run& b) { return a.name < b.name; });
  const auto add = [&](const Kernel& kernel, const std::map<std::string, std::string>& set) {
    all.push_back({kernel.name, [=](const CommandLine&) {
                     return subject_of(kernel.make(ParamValues(kernel.params, set)), kernel.name);
                   }});
  };
  add(matmul_kernel(), {{"m", "3072"}, {"n", "3072"}, {"k", "1024"}});
  add(flash_attention_kernel(), {{"batch", "4"}, {"heads", "8"}, {"len", "1024"}});
  add(relu_2x_plus_1_kernel(), {{"n", "1000000"}, {"block", "1"}});  // a million steps: nothing may be kept of each
  add(softmax_rows_kernel(), {{"rows", "16384"}, {"columns", "1024"}, {"block_rows", "256"}});
  return all;
}

// Each run in a child, so that one's peak does not hide another's.
int measure_all(bool check) {
  int above = 0, ran = 0;
  for (const Run& run : runs()) {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      int code = 2;
      try {
        code = stays_within(run, check) ? 0 : 1;
      } catch (const std::exception& e) {
        std::printf("%s: %s\n", run.name.c_str(), e.what());
        std::fflush(stdout);
      }
      _exit(code);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) return 2;
    ++ran;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) ++above;
  }
  std::printf("%d of %d runs stay within operands + results + one VMEM + 64 MiB\n", ran - above, ran);
  return check && above > 0 ? 1 : 0;
}

}  // namespace
}  // namespace tilecheck

int main(int argc, char** argv) { return tilecheck::measure_all(argc > 1 && std::strcmp(argv[1], "--check") == 0); }
