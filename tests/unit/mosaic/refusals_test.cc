// What a changed payload is refused with: always one message that names a byte.
#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <regex>
#include <set>
#include <sstream>

#include "sim/mosaic/fit_body.h"
#include "sim/mosaic/payload.h"
#include "sim/types/error.h"
#include "tests/unit/mosaic/kernels.h"

namespace tilecheck::mosaic {
namespace {

std::vector<KernelCall> fixture_calls(const std::string& name) {
  const std::string path = std::string(TILECHECK_SOURCE_DIR) + "/tests/fixtures/" + name + "/module.mlir";
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return read_kernel_calls(text.str(), name);
}

// What opening the payload and asking all of it says; "" when it is a kernel.
std::string refusal(const KernelCall& call) {
  try {
    const auto payload = Payload::make(open_kernel(call));
    payload->spec();
    payload->body();
  } catch (const InputError& e) {
    return e.what();
  } catch (const Incomplete& e) {
    return e.what();
  }
  return "";
}

TEST(Refusals, OfPayloadsWithAFlippedBitNameAByteOrALine) {
  const std::regex place("at byte [0-9]+|at offset [0-9]+|\\([^ ()]+:[0-9]+(:[0-9]+)?\\)");
  std::mt19937_64 random(20);
  std::set<std::string> kinds;
  int refused = 0;
  for (const char* name :
       {"relu_2x_plus_1", "matmul", "flash_attention", "dma_double_buffer", "ring_permute", "dynamic_grid",
        "gather_blocks", "scoped_scratch", "signal_neighbour", "softmax_rows", "two_results", "add_uneven"}) {
    const std::vector<KernelCall> calls = fixture_calls(name);
    ASSERT_FALSE(calls.empty()) << name;
    for (int i = 0; i < 400; ++i) {
      KernelCall call = calls[0];
      auto& body = call.config.body;
      const size_t bit = random() % (8 * body.size());
      body[bit / 8] =
          static_cast<std::decay_t<decltype(body[0])>>(static_cast<unsigned>(body[bit / 8]) ^ 1u << bit % 8);
      const std::string what = refusal(call);
      if (what.empty()) continue;
      ++refused;
      if (std::regex_search(what, place)) continue;
      kinds.insert(std::regex_replace(what, std::regex("[0-9]+"), "N") + "   (" + name + ", bit " +
                   std::to_string(bit) + ")");
    }
  }
  EXPECT_GT(refused, 1000);
  for (const std::string& kind : kinds) ADD_FAILURE() << kind;
}

// How many operations of a body touch memory; each must say which.
int accesses(const fit::Block& block) {
  int count = 0;
  for (const fit::Op& op : block.ops) {
    for (const fit::Block& inner : op.blocks) count += accesses(inner);
    const bool copies = op.kind == fit::OpKind::dma_start || op.kind == fit::OpKind::dma_wait;
    if (!copies && op.kind != fit::OpKind::load && op.kind != fit::OpKind::store) continue;
    ++count;
    EXPECT_GE(op.ref, 0);
    if (copies) {
      EXPECT_GE(std::min(op.ref2, op.sem), 0);
    }
  }
  return count;
}

// The fit model is asked about kernels that cannot run, too: views made by an operation that it does not know.
TEST(Refusals, UnknownViewsAreStillMemoryToTheFitModel) {
  KernelCall call = fixture_calls("dma_double_buffer").at(0);
  std::string body(call.config.body.begin(), call.config.body.end());
  int changed = 0;
  for (const std::string_view op : {"memref_slice", "memref_squeeze"})
    for (size_t at = body.find(op); at != std::string::npos; at = body.find(op, at + 1), ++changed)
      body[at + op.size() - 1] = 'f';
  EXPECT_GT(changed, 0);
  call.config.body.assign(body.begin(), body.end());
  const KernelModule kernel = open_kernel(call);
  EXPECT_GT(accesses(fit_body(kernel.module, *kernel.main).top), 0);
  EXPECT_THAT(refusal(call), testing::HasSubstr("not modelled"));
}

}  // namespace
}  // namespace tilecheck::mosaic
