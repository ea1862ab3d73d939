// Subjects from Mosaic payloads: modules, bare payloads, capture directories.
#pragma once

#include <string>
#include <vector>

#include "harness/command_line.h"
#include "harness/subject.h"
#include "sim/mosaic/payload.h"

namespace tilecheck {

// One subject per tpu_custom_call that `line` chooses (--call, --kernel; else all). InputError or Incomplete as the
// readers say.
std::vector<Subject> payload_subjects(const std::string& path, const CommandLine& line);

// A directory with call.json and a module: operands, devices, goldens and tolerances are taken from it.
Subject capture_subject(const std::string& directory, const CommandLine& line,
                        const std::string& module = "module.mlir");
bool is_capture(const std::string& directory);

// The calls of a file or capture directory that `line` chooses, and one of them decoded: for inspect and diff.
std::vector<mosaic::KernelCall> payload_calls(const std::string& path, const CommandLine& line);
// The subject runs this kernel instead, of the same call.
void rebind(Subject& subject, mosaic::KernelModule kernel);
mosaic::KernelModule open_payload(const mosaic::KernelCall& call, const CommandLine& line);

}  // namespace tilecheck
