// Fuzzes upgrade rules and verifier: a module that passes can be cleaned, printed, hashed, written and read again. The
// corpus is made by corpus/make_payloads.py.
#include <cstdlib>

#include "sim/mosaic/body_text.h"
#include "sim/mosaic/bytecode_writer.h"
#include "sim/mosaic/inspect.h"
#include "sim/types/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tilecheck;
  using namespace tilecheck::mosaic;
  Module module;
  try {
    module = load_module({data, size}, "input");
  } catch (const InputError&) {
    return -1;
  } catch (const Incomplete&) {
    return -1;
  }
  remove_dead_code(module);
  for (const Function& function : module.functions) {
    std::vector<std::string> names;
    for (uint32_t i = 0; i < function.arg_count(); ++i) names.push_back("a" + std::to_string(i));
    body_text(module, function, names);
    index_map_text(function, names);
  }
  std::vector<uint8_t> written;
  try {
    written = write_bytecode(module);
  } catch (const InputError&) {
    return 0;  // attributes that only a newer MLIR writes
  }
  // Nothing that verified may stop doing so by being written down.
  if (load_module(written, "again").functions.size() != module.functions.size()) std::abort();
  return 0;
}
