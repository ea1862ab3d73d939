// inspect, diff: payloads as text.
#include "harness/command_line.h"
#include "harness/format.h"
#include "harness/payload_subject.h"
#include "sim/mosaic/inspect.h"
#include "sim/types/error.h"

namespace tilecheck {

int inspect_command(const CommandLine& line) {
  if (line.raw && line.identity) throw InputError("--raw", "and --identity are two ways to print: choose one");
  std::string out;
  for (const std::string& path : line.subjects) {
    const std::vector<mosaic::KernelCall> calls = payload_calls(path, line);
    for (size_t i = 0; i < calls.size(); ++i) {
      if (line.raw) {
        out += mosaic::raw_text(calls[i]);
        continue;
      }
      const mosaic::KernelModule kernel = open_payload(calls[i], line);
      if (line.identity) {
        const mosaic::Identity id = mosaic::identity(kernel);
        out += id.without_locations + "  " + printable(kernel.name) + "  without source lines\n" + id.with_locations +
               "  " + printable(kernel.name) + "  with source lines\n";
      } else {
        if (calls.size() > 1) out += (i ? "\n" : "") + printable(path) + "#" + std::to_string(i) + "\n";
        out += mosaic::inspect(kernel);
      }
    }
  }
  print(out);
  return 0;
}

int diff_command(const CommandLine& line) {
  if (line.subjects.size() != 2) throw InputError("diff", "takes two modules, payloads or captures");
  std::vector<mosaic::KernelModule> sides;
  for (const std::string& path : line.subjects) {
    const std::vector<mosaic::KernelCall> calls = payload_calls(path, line);
    if (calls.size() != 1)
      throw InputError(path, "has " + std::to_string(calls.size()) + " calls: choose one with --call or --kernel");
    sides.push_back(open_payload(calls[0], line));
  }
  const std::string text = mosaic::diff(sides[0], sides[1]);
  print(text.empty() ? "the same kernel\n" : text);
  return text.empty() ? 0 : 1;
}

}  // namespace tilecheck
