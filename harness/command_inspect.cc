// inspect, diff: payloads as text.
#include <unistd.h>

#include "harness/command_line.h"
#include "harness/format.h"
#include "harness/payload_subject.h"
#include "sim/mosaic/inspect.h"
#include "sim/types/error.h"

namespace tilecheck {
namespace {

mosaic::KernelCall one_call(const std::string& path, const CommandLine& line) {
  std::vector<mosaic::KernelCall> calls = payload_calls(path, line);
  if (calls.size() != 1)
    throw InputError(path, "has " + std::to_string(calls.size()) + " calls: choose one with --call or --kernel");
  return std::move(calls[0]);
}

// The payload itself: what `run` takes as a bare payload.
int print_bytes(const CommandLine& line) {
  if (line.subjects.size() != 1) throw InputError("--raw", "writes the bytes of one payload: name one file");
  if (isatty(STDOUT_FILENO) != 0) throw InputError("--raw", "writes bytes, which no terminal shows: > FILE");
  const mosaic::KernelCall call = one_call(line.subjects[0], line);
  print({call.config.body.begin(), call.config.body.end()});
  return 0;
}

}  // namespace

int inspect_command(const CommandLine& line) {
  if (line.raw) return print_bytes(line);
  std::string out;
  for (const std::string& path : line.subjects) {
    const std::vector<mosaic::KernelCall> calls = payload_calls(path, line);
    for (size_t i = 0; i < calls.size(); ++i) {
      if (line.generic) {
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
  for (const std::string& path : line.subjects) sides.push_back(open_payload(one_call(path, line), line));
  const std::string text = mosaic::diff(sides[0], sides[1]);
  print(text.empty() ? "the same kernel\n" : text);
  return text.empty() ? 0 : 1;
}

}  // namespace tilecheck
