#include "harness/host_cpu.h"

#include <unistd.h>

namespace tilecheck {
namespace {

// This file alone is compiled for plain x86-64 (CMakeLists.txt), and nothing here may need more than the system calls.
void say(const char* text) {
  long length = 0;
  while (text[length]) ++length;
  [[maybe_unused]] const long written = write(STDERR_FILENO, text, static_cast<unsigned long>(length));
}

__attribute__((constructor(101))) void check_host_cpu() {
  __builtin_cpu_init();
  const char* missing = nullptr;
  if (!__builtin_cpu_supports("avx2")) missing = "AVX2";
  if (!__builtin_cpu_supports("fma")) missing = "FMA";
  if (!__builtin_cpu_supports("bmi2")) missing = "BMI2";
  if (!missing) return;
  say("tilecheck: this CPU lacks ");
  say(missing);
  say("; Tilecheck needs x86-64-v3 (Intel since 2013, AMD since 2015)\n");
  _exit(2);
}

}  // namespace

void require_host_cpu() {}

}  // namespace tilecheck
