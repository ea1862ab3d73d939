// Declares the command line with CLI11; completions are made from the same declaration.
#include "harness/cli.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <span>
#include <thread>

#include "harness/command_line.h"
#include "harness/completions.h"
#include "harness/format.h"
#include "harness/host_cpu.h"
#include "harness/options.h"
#include "sim/io/file.h"
#include "sim/sync/schedule.h"
#include "sim/types/error.h"

namespace tilecheck {
namespace {

constexpr const char* kTopFooter = R"(
Examples:
  tilecheck list                                          the built-in kernels and their parameters
  tilecheck run flash_attention --set len=2048 --set causal=1
  tilecheck run module.mlir --in 0=x.npy --out results    a Pallas kernel as JAX lowers it
  tilecheck fit module.mlir --target all                  will it fit and compile, how long will it take
  tilecheck check kernels/ --fill random                  many at once, one exit code
  tilecheck explain race                                  what a finding means and how to fix it

Exit codes: 0 clean, 1 findings, 2 bad input, 3 something met is not modelled (never a pass).
`tilecheck COMMAND --help` shows a command's options and examples.)";

class Declaration {
 public:
  explicit Declaration(RawOptions& raw)
      : raw_(raw),
        app_("Runs TPU tile kernels on a CPU as if the accelerator were there, and checks them.", "tilecheck") {
    app_.require_subcommand(1);
    app_.set_version_flag("--version", std::string("tilecheck ") + kVersion);
    app_.footer(kTopFooter);
    app_.get_formatter()->column_width(34);
    declare_list();
    declare_run();
    declare_check();
    declare_fit();
    declare_sweep();
    declare_mutate();
    declare_small();
  }
  CLI::App& app() { return app_; }

 private:
  CLI::App* command(const char* name, const char* what, const char* footer) {
    CLI::App* c = app_.add_subcommand(name, what);
    c->footer(std::string("\n") + footer);
    return c;
  }
  CLI::Option* value(CLI::App* c, const char* flag, std::string& into, const char* type, const std::string& what) {
    return c->add_option(flag, into, what)->type_name(type)->group(group_);
  }
  CLI::Option* values(CLI::App* c, const char* flag, std::vector<std::string>& into, const char* type,
                      const char* what) {
    return c->add_option(flag, into, what)->type_name(type)->group(group_)->allow_extra_args(false);
  }
  void flag(CLI::App* c, const char* name, bool& into, const char* what) {
    c->add_flag(name, into, what)->group(group_);
  }
  void subjects(CLI::App* c, const char* type, const char* what, bool is_required = true) {
    auto* option = c->add_option("subject", raw_.subjects, what)->type_name(type);
    if (is_required) option->required();
  }

  void declare_set(CLI::App* c) {
    values(c, "--set", raw_.set, "NAME=VALUE", "A kernel's parameter (`tilecheck list KERNEL` shows them)");
  }
  // Which payload, and what a bare one does not say itself.
  void declare_payload_options(CLI::App* c) {
    value(c, "--call", raw_.call, "N", "Which tpu_custom_call of a module with several, from 0");
    value(c, "--kernel", raw_.kernel, "NAME", "The same, by the kernel's name");
    values(c, "--result", raw_.results, "I=TYPE[SHAPE]", "Result type of a bare payload: 0=f32[1024]");
    values(c, "--operand", raw_.operands, "I=TYPE[SHAPE]", "Operand type of a bare payload that gets it in blocks");
    flag(c, "--force", raw_.force, "Try a payload of a newer IR version than is known");
  }
  void declare_target_options(CLI::App* c, const char* standard) {
    value(c, "--vmem-limit", raw_.vmem_limit, "BYTES", "Scoped VMEM limit, instead of the kernel's or the target's");
    flag(c, "--share-hbm", raw_.share_hbm,
         "Time estimate: copies in flight share HBM's bandwidth (libtpu gives each all)");
    values(c, "--target", raw_.targets, "NAME,..", standard);
  }
  void declare_subject_options(CLI::App* c) {
    group_ = "What to run";
    declare_set(c);
    declare_payload_options(c);
    values(c, "--alias", raw_.aliases, "OUT=IN", "Result OUT and operand IN of a bare payload share one buffer");
    declare_target_options(
        c, "Chip generation, JAX device kind, `all`, or a target file FILE.json (what a capture says, else v5e)");
  }

  // is_one: of one kernel or payload; else of a sweep's rows.
  void declare_machine_options(CLI::App* c, bool is_one) {
    group_ = "Operands";
    values(c, "--in", raw_.in, "NAME=FILE", "Operand by name or number: q=q.npy, 0=x.safetensors:tensor, 0.dev1=y.npy");
    values(c, "--dtype", raw_.dtypes, "NAME=TYPE", "Read the operand's file as this type");
    value(c, "--fill", raw_.fill, "KIND", "Operands not given: random, normal, zeros, iota or int");
    value(c, "--seed", raw_.seed, "N", "Seed of fills and random schedules (0)");
    group_ = "Machine";
    value(c, "--numerics", raw_.numerics, "KIND",
          "exact (as JAX's interpreters), mxu (as the matrix unit) or f64 (no rounding)");
    value(c, "--schedule", raw_.schedule, "KIND", schedule_forms(is_one));
    if (is_one)
      value(c, "--budget", raw_.budget, "TIME", "For explore and exhaustive: 10s (default of explore), 500ms, 2m");
    value(c, "--threads", raw_.threads, "N", "Threads at most; results do not depend on it (all)");
    value(c, "--cores", raw_.cores, "N", "Cores of each device (1)");
    value(c, "--core-split", raw_.core_split, "HOW", "How cores share the grid: megacore (as libtpu) or jax");
    if (is_one)
      value(c, "--devices", raw_.devices, "N|AxB", "Devices, or their mesh (as the kernel or capture says, else 1)");
    value(c, "--remote-order", raw_.remote_order, "HOW", "Remote copies between two cores: in-order or none");
    value(c, "--semaphore-progress", raw_.semaphore_progress, "HOW",
          "A copy's semaphore counts bytes as they move, or atomic");
    group_ = "Comparison";
    values(c, "--expect", raw_.expect, "I=FILE", "What result I should be");
    value(c, "--atol", raw_.atol, "X", "Absolute tolerance, instead of the kernel's own rule");
    value(c, "--rtol", raw_.rtol, "X", "Relative tolerance, instead of the kernel's own rule");
    flag(c, "--integers", raw_.integers, "Fill with small integers and ask for bit-equal results");
    flag(c, "--no-compare", raw_.no_compare, "Do not compare with references and goldens");
  }

  void declare_output_options(CLI::App* c, bool has_formats) {
    group_ = "Output";
    value(c, "--json", raw_.json, "FILE", "Write the report as JSON too (docs/json.md); -: to stdout, instead of text");
    if (has_formats) {
      value(c, "--output-format", raw_.format, "FORMAT", "text, short, json, junit, sarif or github");
      value(c, "--error-on", raw_.error_on, "SEVERITY", "What makes the exit code 1: error (default), warning or note");
      values(c, "--select", raw_.select, "KIND,..", "Report these kinds alone");
      values(c, "--ignore", raw_.ignore, "KIND,..", "Do not report these kinds");
    }
    value(c, "--color", raw_.color, "WHEN", "auto (default), always or never; NO_COLOR is respected");
    flag(c, "-q,--quiet", raw_.quiet, "Findings and verdict alone");
    flag(c, "-v,--verbose", raw_.verbose, "Counters and error histograms too");
    value(c, "--log", raw_.log, "LEVEL",
          "Say on stderr what is being done: info, or debug with the time each part took");
  }

  void declare_list() {
    CLI::App* c = command("list", "Kernels and their parameters", R"(Examples:
  tilecheck list
  tilecheck list flash_attention          its parameters, defaults and broken twins)");
    subjects(c, "KERNEL", "Kernels to show in full", false);
    flag(c, "--names", raw_.names, "Names alone, for scripts");
    value(c, "--json", raw_.json, "FILE", "Write the list as JSON; -: to stdout, instead of text");
  }

  void declare_run() {
    CLI::App* c = command("run", "Run a kernel, compare its results, report", R"(Examples:
  tilecheck run relu_2x_plus_1
  tilecheck run flash_attention --set block_q=128 --set block_kv=256 --in q=q.npy --in k=k.npy --in v=v.npy --out results
  tilecheck run flash_attention/forgotten_rescale       a broken twin: see what it is named by
  tilecheck run module.mlir --fill random --seed 7      jax.jit(f).trace(x).lower(lowering_platforms=("tpu",)).as_text()
  tilecheck run body.mlirbc --result 0=f32[1024] --in 0=x.npy
  tilecheck run captures/dma_in_out                     obeys its call.json
  tilecheck run captures/dma_in_out --schedule explore --budget 5s
  tilecheck run relu_2x_plus_1 --steps 0:12             what the pipeline does, step by step)");
    subjects(c, "KERNEL|FILE|DIR", "A kernel's name, a module, a payload or a capture directory");
    declare_subject_options(c);
    declare_machine_options(c, true);
    declare_output_options(c, true);
    group_ = "Output";
    value(c, "--out", raw_.out, "DIR", "Write result_0.npy, ... (result_0.dev1.npy with several devices)");
    value(c, "--steps", raw_.steps, "A:B", "Show what the pipeline does at steps A to B-1");
  }

  void declare_check() {
    CLI::App* c = command("check", "Check many kernels, modules and captures: one summary, one exit code", R"(Examples:
  tilecheck check relu_2x_plus_1 flash_attention captures/
  tilecheck check all --error-on warning --output-format github
  tilecheck check kernels/*.mlir --fill random --write-baseline known.json
  tilecheck check kernels/*.mlir --fill random --baseline known.json)");
    subjects(c, "KERNEL|FILE|DIR", "Kernels (`all`: every one), modules, captures or directories of captures");
    declare_subject_options(c);
    declare_machine_options(c, true);
    declare_output_options(c, true);
    group_ = "Output";
    value(c, "--baseline", raw_.baseline, "FILE", "Leave out the findings that this file lists");
    value(c, "--write-baseline", raw_.write_baseline, "FILE", "Write the findings there, for --baseline");
  }

  void declare_fit() {
    CLI::App* c = command("fit", "Will it fit and compile, how long will it take; nothing is run", R"(Examples:
  tilecheck fit flash_attention --set block_q=1024 --target v5e,v6e
  tilecheck fit module.mlir --target all
  tilecheck fit module.mlir --target my-chip.json --vmem-limit 33554432)");
    subjects(c, "KERNEL|FILE|DIR", "A kernel's name, a module, a payload or a capture directory");
    declare_subject_options(c);
    declare_output_options(c, true);
  }

  void declare_sweep() {
    CLI::App* c = command("sweep", "Compare tile sizes: VMEM, HBM traffic, time", R"(Examples:
  tilecheck sweep flash_attention --set block_q=64,128,256 --set block_kv=128..2048*2 --target v5e
  tilecheck sweep matmul --set block_m=128..512+128 --run --csv rows.csv

Ranges: A,B,C   A..B (doubling)   A..B*M   A..B+S)");
    subjects(c, "KERNEL", "A kernel's name");
    group_ = "What to sweep";
    declare_set(c);
    declare_target_options(c, "Chip generations, JAX device kinds, `all`, or target files FILE.json (v5e)");
    group_ = "Output";
    flag(c, "--run", raw_.run_rows,
         "Run what fits and check its results; the options of operands, machine and "
         "comparison below are for that");
    declare_machine_options(c, false);
    declare_output_options(c, false);
    group_ = "Output";
    value(c, "--top", raw_.top, "N", "Rows to show (10)");
    value(c, "--csv", raw_.csv, "FILE", "Write all rows as CSV");
    value(c, "--markdown", raw_.markdown, "FILE", "Write all rows as a Markdown table");
  }

  void declare_mutate() {
    CLI::App* c = command(
        "mutate", "Make every single mistake in a kernel's ordering: what is each caught by?",
        R"(A start, wait or signal left out, doubled or moved, half a count, another semaphore, the slot or device after, ...
Each mutant is named by an ordering finding, or only by a deadlock or other results, or proved equivalent, or missed.

Examples:
  tilecheck mutate captures/dma_in_out
  tilecheck mutate module.mlir --fill random -v         every mutant, not only the survivors
  tilecheck mutate double_buffered_copy
  tilecheck mutate captures/* --json mutants.json

Exit codes: 0 none missed, 1 some missed, 2 bad input (also a kernel that is not clean itself), 3 not modelled.)");
    subjects(c, "KERNEL|FILE|DIR", "Kernels, modules, payloads or capture directories");
    group_ = "What to run";
    declare_set(c);
    declare_payload_options(c);
    values(c, "--alias", raw_.aliases, "OUT=IN", "Result OUT and operand IN of a bare payload share one buffer");
    declare_target_options(
        c, "Chip generation, JAX device kind, or a target file FILE.json (what a capture says, else v5e)");
    declare_machine_options(c, true);
    declare_output_options(c, false);
  }

  void declare_small() {
    CLI::App* c =
        command("explain", "What a kind of finding means, why the chip cares, the smallest example", R"(Examples:
  tilecheck explain race
  tilecheck explain                       all kinds, one line each)");
    subjects(c, "KIND", "Kinds of findings", false);
    flag(c, "--names", raw_.names, "Names alone, for scripts");

    c = command("targets", "The chip generations: memories, limits, rates, with sources", R"(Examples:
  tilecheck targets
  tilecheck targets --target v5e,v6e --json targets.json)");
    values(c, "--target", raw_.targets, "NAME,..", "These alone: names, JAX device kinds, target files FILE.json");
    value(c, "--json", raw_.json, "FILE", "Write them as JSON; -: to stdout, instead of text");

    c = command("inspect", "Print a payload as readable text", R"(Examples:
  tilecheck inspect module.mlir                 operands, windows, scratch, body, with source lines
  tilecheck inspect module.mlir --identity      hashes of the kernel, with and without source lines
  tilecheck inspect module.mlir --generic       the payload's module as it stands there, in MLIR's generic form
  tilecheck inspect module.mlir --raw > body.mlirbc)");
    subjects(c, "FILE|DIR", "A module, a payload or a capture directory");
    group_ = "What to print";
    declare_payload_options(c);
    group_ = "Output";
    flag(c, "--raw", raw_.raw, "The payload's bytes, which `tilecheck run` takes too");
    flag(c, "--generic", raw_.generic, "The payload's module in MLIR's generic form, neither upgraded nor cleaned");
    flag(c, "--identity", raw_.identity, "Hashes of the kernel, with and without source lines");

    c = command("diff", "What differs between two payloads", R"(Example:
  tilecheck diff before.mlir after.mlir         which edit made the program recompile)");
    subjects(c, "A B", "Two modules, payloads or capture directories");
    group_ = "What to compare";
    declare_payload_options(c);

    c = command("exec", "Run a Python program, its Pallas kernels in the simulator", R"(Examples:
  tilecheck exec -- python train.py
  tilecheck exec --target v6e --checks race,sync -- python -m pytest tests/
  tilecheck exec --schedule explore --budget 5s --on-finding collect --json report.json -- python train.py

Needs Python with JAX and the package tilecheck (pip install ./tools/python).)");
    subjects(c, "-- PROGRAM", "The program and its arguments");
    declare_exec_options(c);

    c = command("completions", "Shell completions", R"(Examples:
  source <(tilecheck completions bash)
  tilecheck completions zsh > ~/.zfunc/_tilecheck
  tilecheck completions fish > ~/.config/fish/completions/tilecheck.fish)");
    subjects(c, "SHELL", "bash, zsh or fish");
  }

  // The Python package reads these itself.
  void declare_exec_options(CLI::App* c) {
    group_ = "Machine";
    value(c, "--target", passed_on_, "NAME", "Chip generation or JAX device kind (v5e)");
    value(c, "--checks", passed_on_, "GROUP,..", "Of memory, init, race, sync and fit (all)");
    value(c, "--schedule", passed_on_, "KIND", "As `tilecheck run` takes it");
    value(c, "--budget", passed_on_, "TIME", "For explore and exhaustive, per kernel: 10s (default), 500ms, 2m");
    value(c, "--numerics", passed_on_, "KIND", "exact, mxu or f64");
    value(c, "--seed", passed_on_, "N", "Seed of random schedules (0)");
    value(c, "--threads", passed_on_, "N", "Threads at most (all)");
    value(c, "--cores", passed_on_, "N", "Cores of each device (1)");
    value(c, "--remote-order", passed_on_, "HOW", "Remote copies between two cores: in-order or none");
    flag(c, "--take-over-interpret", passed_on_flag_, "Also kernels that ask to be interpreted");
    group_ = "Output";
    value(c, "--on-finding", passed_on_, "HOW", "raise (default; the program sees an exception), warn or collect");
    value(c, "--error-on", passed_on_, "SEVERITY", "What counts as a finding: error (default), warning or note");
    value(c, "--json", passed_on_, "FILE", "Write all reports as JSON");
    value(c, "--sarif", passed_on_, "FILE", "Write all findings as SARIF");
    flag(c, "-q,--quiet", passed_on_flag_, "No summary at the end");
  }

  RawOptions& raw_;
  std::string passed_on_;
  bool passed_on_flag_ = false;
  CLI::App app_;
  std::string group_ = "Options";
};

std::vector<CompletedCommand> completion_table(CLI::App& app) {
  std::vector<CompletedCommand> table;
  for (const CLI::App* c : app.get_subcommands({})) {
    CompletedCommand row{c->get_name(), c->get_description(), {}};
    for (const CLI::Option* o : c->get_options())
      for (const std::string& name : o->get_lnames())
        row.options.push_back({"--" + name, o->get_description(), o->get_items_expected_max() > 0});
    table.push_back(std::move(row));
  }
  return table;
}

// "did you mean" for a command or option that does not exist.
std::string hint_for(CLI::App& app, int argc, const char* const* argv) {
  std::vector<std::string> commands;
  for (const CLI::App* c : app.get_subcommands({})) commands.push_back(c->get_name());
  const auto nearest = [](const std::string& dashes, const std::string& word, const std::vector<std::string>& names) {
    if (std::ranges::find(names, word) != names.end()) return std::string();
    const std::string n = nearest_name(std::string_view(word).substr(0, 100), names);
    return n.empty() ? std::string() : "; did you mean '" + dashes + n + "'";
  };
  if (argc < 2) return "";
  const std::string first = argv[1];
  if (!first.starts_with('-') && std::ranges::find(commands, first) == commands.end())
    return nearest("", first, commands);
  const CLI::App* c = first.starts_with('-') ? &app : app.get_subcommand(first);
  std::vector<std::string> options{"help"};
  for (const CLI::Option* o : c->get_options())
    for (const std::string& name : o->get_lnames()) options.push_back(name);
  for (int i = 1; i < argc; ++i) {
    const std::string word = std::string(argv[i]).substr(0, std::string_view(argv[i]).find('='));
    if (word.starts_with("--"))
      if (std::string h = nearest("--", word.substr(2), options); !h.empty()) return h;
  }
  return "";
}

// An empty value would pass for an option that is not given.
void refuse_empty_values(const CLI::App& command) {
  for (const CLI::Option* o : command.get_options())
    for (const std::string& given : o->results())
      if (given.empty()) throw InputError(o->get_name(), "'' given, expected " + o->get_type_name());
}

// Readers of JSON, JUnit, SARIF and annotations learn from there too why there is no report. A second error (the file
// itself cannot be written) would hide the first.
void write_failure(const std::string& command, const RawOptions& raw, const std::string& error,
                   const std::string& not_modelled) {
  if (command != "run" && command != "check" && command != "fit") return;
  Outcome o;
  o.subject = join(raw.subjects, " ");
  o.error = error;
  if (!not_modelled.empty()) o.report.incomplete = {not_modelled};
  const std::span<const Outcome> outcomes(&o, 1);
  try {
    const OutputFormat format =
        raw.json == "-" ? OutputFormat::json : parse_output_format(raw.format).value_or(OutputFormat::text);
    if (!raw.json.empty() && raw.json != "-") write_file(raw.json, json_report(outcomes, {}));
    if (format != OutputFormat::text && format != OutputFormat::short_) print(write_report(format, outcomes, {}, 0));
  } catch (const InputError&) {
    return;
  }
}

// Of a command line that does not parse: where its report should have gone.
RawOptions output_options(int argc, const char* const* argv) {
  RawOptions raw;
  for (int i = 2; i < argc; ++i) {
    const std::string_view word = argv[i];
    for (const auto& [option, into] :
         {std::pair{std::string_view("--json"), &raw.json}, {std::string_view("--output-format"), &raw.format}}) {
      if (word == option && i + 1 < argc) *into = argv[i + 1];
      if (word.starts_with(option) && word.substr(option.size()).starts_with('='))
        *into = word.substr(option.size() + 1);
    }
  }
  return raw;
}

int bad_input(const std::string& message) {
  const Paint paint(isatty(STDERR_FILENO) != 0 && !std::getenv("NO_COLOR"));
  std::fprintf(stderr, "%s\n", (paint.red("error") + ": " + printable(message)).c_str());
  return exit_code(Verdict::error);
}

int dispatch(const std::string& command, CLI::App& app, const RawOptions& raw, std::vector<std::string> words) {
  if (command == "completions") {
    print(completions(raw.subjects.size() == 1 ? raw.subjects[0] : "", completion_table(app)));
    return 0;
  }
  if (command == "exec") return exec_command(words);
  refuse_unused(command, raw);
  CommandLine line = finish(raw);
  check_outputs(line);
  line.words = std::move(words);
  if (command == "list") return list_command(line);
  if (command == "run") return run_command(std::move(line));
  if (command == "check") return check_command(std::move(line));
  if (command == "fit") return fit_command(line);
  if (command == "sweep") return sweep_command(line);
  if (command == "mutate") return mutate_command(line);
  if (command == "explain") return explain_command(line);
  if (command == "targets") return targets_command(line);
  if (command == "inspect") return inspect_command(line);
  return diff_command(line);
}

}  // namespace

int cli(int argc, const char* const* argv) {
  require_host_cpu();
  RawOptions raw;
  Declaration declaration(raw);
  CLI::App& app = declaration.app();
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {
    return app.exit(e);  // --help, --version
  } catch (const CLI::ParseError& e) {
    const bool is_unknown = argc > 1 && argv[1][0] != '-' && app.get_subcommands().empty();
    const std::string what =
        is_unknown ? "no command '" + std::string(argv[1]).substr(0, 60) + "'" : std::string(e.what());
    const std::string message = what + hint_for(app, argc, argv) + "; --help shows the usage";
    write_failure(argc > 1 ? argv[1] : "", output_options(argc, argv), message, "");
    return bad_input(message);
  }
  const CLI::App* chosen = app.get_subcommands().front();
  const auto refuse = [&](const std::string& message) {
    write_failure(chosen->get_name(), raw, message, "");
    return bad_input(message);
  };
  try {
    if (chosen->get_name() != "exec") refuse_empty_values(*chosen);  // a program's arguments may be empty
    return dispatch(chosen->get_name(), app, raw, {argv + 1, argv + argc});
  } catch (const InputError& e) {
    return refuse(e.what());
  } catch (const Incomplete& e) {
    write_failure(chosen->get_name(), raw, "", e.what());
    std::fprintf(stderr, "incomplete: %s\n", printable(e.what()).c_str());
    return exit_code(Verdict::incomplete);
  } catch (const std::bad_alloc&) {
    return refuse("not enough memory");
  }
}

}  // namespace tilecheck
