// Refusing CPUs older than the ones Tilecheck is compiled for, before any of its code runs.
#pragma once

namespace tilecheck {

// A program that calls this checks its CPU before its first static constructor: one without x86-64-v3 ends the program
// there, with a message and exit code 2. The call itself does nothing.
void require_host_cpu();

}  // namespace tilecheck
