// What the user asked for, parsed and checked for form, one struct for all commands.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/explore_subject.h"
#include "harness/run.h"
#include "harness/writers.h"

namespace tilecheck {

// One `--set name=values`; a sweep expands the values.
struct Setting {
  std::string name, values;
};

struct CommandLine {
  std::vector<std::string> words;     // the command as given: what a replay line repeats
  std::vector<std::string> subjects;  // kernels, modules, capture directories, kinds to explain, ...

  // What is run.
  std::vector<Setting> set;
  std::optional<int> call;  // of a module with several
  std::string kernel;       // the call with this kernel name
  bool force = false;
  std::vector<std::string> results, operands, aliases;  // of bare payloads: "0=f32[1024]", "OUT=IN"
  std::optional<int64_t> vmem_limit_bytes;
  std::vector<std::string> targets;  // as given: "v5e", "all", "my-chip.json"

  // How it is run.
  RunOptions run;
  std::string devices;                    // "4", "2x2": of payloads
  std::optional<ExploreRequest> explore;  // --schedule explore or exhaustive

  // What comes out.
  std::string out_directory;
  std::string json_file;  // "-": stdout, instead of text
  OutputFormat format = OutputFormat::text;
  WriterOptions writer;
  int top = 10;
  bool run_rows = false;                                // sweep --run
  std::string csv_file, markdown_file;                  // sweep
  bool names_only = false;                              // list, explain
  bool raw = false, generic = false, identity = false;  // inspect
  std::vector<Kind> select, ignore;
  std::string baseline_file, write_baseline_file;

  std::map<std::string, std::string> set_map() const;  // InputError for a name set twice
};

// Each prints to stdout and returns the exit code. InputError for bad input.
int list_command(const CommandLine& line);
int run_command(CommandLine line);
int check_command(CommandLine line);
int fit_command(const CommandLine& line);
int sweep_command(const CommandLine& line);
int mutate_command(const CommandLine& line);
int explain_command(const CommandLine& line);
int targets_command(const CommandLine& line);
int inspect_command(const CommandLine& line);
int diff_command(const CommandLine& line);
// words: "exec", options, "--", a program and its arguments. Hands them to the Python package, in the program's own
// Python where it names one; returns only when there is none.
int exec_command(const std::vector<std::string>& words);

// The targets that --target names; v5e when none is given. "all", names, files of targets.
std::vector<Target> chosen_targets(const CommandLine& line);
// The same for one subject: without --target, the one that it says it is for.
std::vector<Target> targets_of(const Subject& subject, const CommandLine& line, const std::vector<Target>& chosen);
// Refuses options that do not fit the opened subject, or each other: one operand given twice, the type of a file that
// is not given, a fill for operands that a capture holds, results that there are not.
void check_options(const CommandLine& line, const Subject& subject);
// Opens what the user named: a kernel, a module, a payload, a capture directory. Several for a module with several
// calls or a directory of captures.
std::vector<Subject> open_subjects(const std::string& what, const CommandLine& line);
// Refuses files that could not be written, and a baseline that cannot be read, before anything is run. Leaves nothing
// behind.
void check_outputs(const CommandLine& line);
// Writes `json` where --json says, and `text` to stdout unless that is where `json` went.
void print_and_write(const CommandLine& line, const std::string& text, const std::function<std::string()>& json);
// Writes to stdout; an InputError when that fails (a full disk, a closed pipe).
void print(const std::string& text);

}  // namespace tilecheck
