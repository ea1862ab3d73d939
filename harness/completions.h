// Shell completion scripts, made from the declared commands and options.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace tilecheck {

struct CompletedOption {
  std::string name, what;  // "--set"
  bool takes_value;
};
struct CompletedCommand {
  std::string name, what;
  std::vector<CompletedOption> options;
};

// shell: bash, zsh or fish; an InputError otherwise.
std::string completions(const std::string& shell, std::span<const CompletedCommand> commands);

}  // namespace tilecheck
