// Mutation: a correct kernel with one mistake in its ordering after the other, and what each is caught by.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/command_line.h"
#include "harness/run.h"

namespace tilecheck {

enum class Caught : uint8_t {
  by_ordering,  // a finding about ordering: race, dma-not-awaited, semaphore-not-drained, wait-without-start, ...
  otherwise,    // only a deadlock, other results, undefined or out-of-bounds accesses
  equivalent,   // proved to behave as the kernel does
  missed,
};
std::string_view name(Caught caught);  // "ordering", "otherwise", "equivalent", "missed"

struct Mutation {
  std::string kind;  // "drop", "half-wait"
  std::string what;  // "leave out the wait on sem[0]"
  Loc at;
  std::string place;  // the same for all mutations of one operation
  // Makes the subject of a mutant out of the kernel's. False: what comes out is not well-formed, and is no mutant.
  std::function<bool(Subject& subject, RunOptions& options)> apply;
};

struct MutantOutcome {
  std::string kind, what;
  Loc at;
  Caught caught = Caught::missed;
  std::string by;  // the kinds it is named by; the proof that it is equivalent; why it is not proved
};

struct MutationReport {
  std::string subject;
  std::vector<MutantOutcome> mutants;
  int64_t count(Caught caught) const;
};

// The mutants of a subject opened from `path` as `line` says.
std::vector<Mutation> mutations_of(const Subject& subject, const std::string& path, const CommandLine& line);

// Runs each mutant under the schedule of `options`; a run that takes longer than `run_seconds` is ended, `incomplete`.
// One that is named by nothing and gives the same bits is proved equivalent (no unordered event can change it, or every
// order was tried; and other schedules give the same bits too) or missed. InputError when the kernel itself is not
// clean: what its mutants are caught by would say nothing.
MutationReport run_mutations(const Subject& subject, const RunOptions& options, const std::vector<Mutation>& mutations,
                             double run_seconds = 10);

}  // namespace tilecheck
