// The `tilecheck` command: the built-in kernels behind the shared command line.
#include "harness/cli.h"
#include "kernels/list.h"

int main(int argc, char** argv) {
  for (tilecheck::Kernel& kernel : tilecheck::built_in_kernels()) tilecheck::add_kernel(std::move(kernel));
  return tilecheck::cli(argc, argv);
}
