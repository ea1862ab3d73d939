// tilecheck exec: finds a Python and leaves the rest to the package there.
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "harness/command_line.h"
#include "sim/types/error.h"

namespace tilecheck {
namespace {

constexpr const char* kStart = R"(
import sys
try:
    from tilecheck import _exec
except ImportError as error:
    print(f"error: tilecheck exec: {error}; the package comes with pip install ./tools/python", file=sys.stderr)
    sys.exit(2)
sys.exit(_exec.main(sys.argv[1:]))
)";

// The program itself if it is a Python, else the one beside this command, else what PATH has.
std::string python_for(const std::string& program) {
  if (std::filesystem::path(program).filename().string().starts_with("python")) return program;
  std::error_code none;
  const auto beside = std::filesystem::read_symlink("/proc/self/exe", none).parent_path() / "python3";
  return std::filesystem::exists(beside, none) ? beside.string() : "python3";
}

}  // namespace

int exec_command(const std::vector<std::string>& words) {
  const auto dashes = std::ranges::find(words, "--");
  if (dashes == words.end() || dashes + 1 == words.end())
    throw InputError("exec", "expected `--` and a program, such as: tilecheck exec -- python train.py");
  std::vector<std::string> command{python_for(*(dashes + 1)), "-c", kStart};
  command.insert(command.end(), words.begin() + 1, words.end());
  std::vector<char*> argv;
  for (std::string& word : command) argv.push_back(word.data());
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  throw InputError("exec", "cannot start " + command[0] + "; it needs Python with the package tilecheck");
}

}  // namespace tilecheck
