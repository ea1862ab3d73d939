// The `tilecheck` command, for kernels registered with add_kernel() and for payloads.
#pragma once

namespace tilecheck {

// Parses, runs, prints, and returns the exit code: 0 clean, 1 findings, 2 bad input, 3 something is not modelled.
//   int main(int argc, char** argv) {
//     tilecheck::add_kernel(my_kernel());
//     return tilecheck::cli(argc, argv);
//   }
int cli(int argc, const char* const* argv);

}  // namespace tilecheck
