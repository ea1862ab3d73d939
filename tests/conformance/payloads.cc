// Holds the payload reader against every kernel of the shared folder: captures of two JAX versions, bodies of old
// producers, the modules behind the measurements. Usage: conformance_payloads [--check]; exit 77 when there is no
// folder.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "sim/mosaic/bytecode_writer.h"
#include "sim/mosaic/inspect.h"
#include "sim/mosaic/kernel_module.h"
#include "sim/types/error.h"
#include "tests/conformance/measured.h"

namespace tilecheck::mosaic {
namespace {

namespace fs = std::filesystem;

int g_failures = 0;

void fail(const std::string& where, const std::string& what) {
  if (++g_failures <= 20) std::printf("%s: %s\n", where.c_str(), what.c_str());
}

std::vector<std::string> files_of(const fs::path& folder, const std::string& ending) {
  std::vector<std::string> out;
  if (!fs::exists(folder)) return out;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder))
    if (entry.path().string().ends_with(ending)) out.push_back(entry.path().string());
  std::sort(out.begin(), out.end());
  return out;
}

// Opens each kernel; writing and reading it again must give the same kernel.
void open_all(const std::vector<std::string>& files, const char* what,
              std::map<std::string, int64_t>* counts = nullptr) {
  int kernels = 0;
  double seconds = 0;
  for (const std::string& file : files) {
    const std::string bytes = conformance::read_file(file);
    try {
      const auto start = std::chrono::steady_clock::now();
      std::vector<KernelModule> opened;
      std::vector<KernelCall> calls = read_kernel_calls(bytes, file);
      for (const KernelCall& call : calls) opened.push_back(open_kernel(call));
      seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      for (size_t i = 0; i < calls.size(); ++i) {
        ++kernels;
        if (!opened[i].config.unknown_keys.empty()) fail(file, "unknown key " + opened[i].config.unknown_keys[0]);
        KernelCall again = calls[i];
        Module module = load_module(calls[i].config.body, file);
        if (counts) {
          ++(*counts)["builtin.module"];
          for (const Function& f : module.functions) {
            ++(*counts)["func.func"];
            walk(f.body, [&](const Op& op) { ++(*counts)[std::string(op.name)]; });
          }
        }
        for (const Function& f : module.functions)
          walk(f.body, [&](const Op& op) {
            if (op.code == OpCode::unknown) fail(file, "unknown operation " + std::string(op.name));
          });
        again.config.body = write_bytecode(module);
        if (identity(open_kernel(again)).with_locations != identity(opened[i]).with_locations)
          fail(file, "written and read again it is another kernel");
        if (inspect(opened[i]).empty() || raw_text(calls[i]).empty()) fail(file, "no text");
      }
    } catch (const std::exception& error) {
      fail(file, error.what());
    }
  }
  std::printf("%-28s %4zu files, %4d kernels, %.3f s to read and verify\n", what, files.size(), kernels, seconds);
}

// Bodies of old producers: all must be read, those that a compiler had laid out refused with the reason.
void open_public(const std::vector<std::string>& files) {
  int opened = 0, laid_out = 0;
  for (const std::string& file : files) {
    const std::string bytes = conformance::read_file(file);
    try {
      const Module module = load_module({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, file);
      main_function(module, file);
      ++opened;
    } catch (const InputError& error) {
      if (std::string(error.what()).find("layouts already applied") != std::string::npos &&
          bytes.find("#tpu.tiled") != std::string::npos)
        ++laid_out;
      else
        fail(file, error.what());
    } catch (const std::exception& error) {
      fail(file, error.what());
    }
  }
  std::printf("%-28s %4zu files, %4d read, %d refused as laid out\n", "bodies of old producers", files.size(), opened,
              laid_out);
}

// The histogram beside the captures counts every operation of every module.mlir: "arith.addf   436   189".
void compare_counts(const std::string& histogram, const std::map<std::string, int64_t>& counts) {
  std::ifstream in(histogram);
  std::string line;
  bool inside = false;
  size_t compared = 0;
  while (std::getline(in, line)) {
    if (line.starts_with("op ")) {
      inside = true;
      continue;
    }
    if (!inside) continue;
    std::istringstream words(line);
    std::string name;
    int64_t count = 0;
    if (!(words >> name >> count)) break;
    ++compared;
    const auto at = counts.find(name);
    if (at == counts.end() || at->second != count)
      fail(histogram, name + ": expected " + std::to_string(count) + ", found " +
                          std::to_string(at == counts.end() ? 0 : at->second));
  }
  if (compared != counts.size())
    fail(histogram, "lists " + std::to_string(compared) + " operations, found " + std::to_string(counts.size()));
  std::printf("%-28s %4zu operations counted alike\n", "histogram", compared);
}

int run() {
  const fs::path shared = conformance::shared_folder();
  if (!fs::exists(shared / "captures")) {
    std::printf("skipped: no %s (set TILECHECK_SHARED)\n", (shared / "captures").c_str());
    return conformance::kSkipped;
  }
  std::map<std::string, int64_t> counts;
  open_all(files_of(shared / "captures", "/module.mlir"), "captures", &counts);
  open_all(files_of(shared / "captures", "/module.v15.mlir"), "captures, IR version 15");
  open_all(files_of(shared / "vmem", ".mlir.gz"), "modules measured for VMEM");
  open_all(files_of(shared / "timing", ".mlir.gz"), "modules measured for time");
  open_public(files_of(shared / "payloads-public", ".mlirbc"));
  compare_counts((shared / "captures/ops_histogram.txt").string(), counts);
  std::printf("%d failures\n", g_failures);
  return g_failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tilecheck::mosaic

int main() { return tilecheck::mosaic::run(); }
