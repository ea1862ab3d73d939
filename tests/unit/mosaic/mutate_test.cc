// Edits of payloads: which there are, and that each makes another well-formed kernel.
#include "sim/mosaic/mutate.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/unit/mosaic/kernels.h"

namespace tilecheck::mosaic {
namespace {

// Two rows of blocks through two slots: start both, wait for both, store; a signal of 2 to itself, in a branch.
KernelCall copying_call() {
  ModuleBuilder m;
  const Type* array = m.memref(DType::f32, {16, 128}, Space::any);
  const Type* slots = m.memref(DType::f32, {2, 8, 128});
  m.kernel("copying",
           {.windows = {{array, ""}, {array, ""}},
            .scratch = {slots, m.semaphore(DType::dma_semaphore, {2}), m.semaphore(DType::dma_semaphore, {2}),
                        m.semaphore(DType::semaphore)}},
           [&](BlockBuilder& b) {
             const ValueId zero = b.i32(0);
             const auto slot_of = [&](int64_t i) {
               return b.squeeze(b.slice(b.arg(2), {b.i32(i), zero, zero}, {1, 8, 128}), {8, 128});
             };
             const auto semaphore = [&](int64_t i) { return b.squeeze(b.slice(b.arg(3), {b.i32(i)}, {1}), {}); };
             const auto rows = [&](uint32_t of, int64_t i) {
               return b.slice(b.arg(of), {b.i32(8 * i), zero}, {8, 128});
             };
             m.at("copying.py", 10);
             for (int64_t i : {0, 1}) b.dma(rows(0, i), slot_of(i), semaphore(i));
             m.at("copying.py", 11);
             for (int64_t i : {0, 1}) b.wait_dma(semaphore(i), rows(0, i), slot_of(i));
             m.at("copying.py", 12);
             const ValueId out = b.squeeze(b.slice(b.arg(4), {zero}, {1}), {});
             b.dma(slot_of(1), rows(1, 0), out);
             b.wait_dma(out, slot_of(1), rows(1, 0));
             b.dma(slot_of(0), rows(1, 1), out);
             b.wait_dma(out, slot_of(0), rows(1, 1));
             m.at("copying.py", 13);
             const ValueId flag = b.arg(5), two = b.i32(2);
             b.signal(flag, two);
             b.when(b.compare("arith.cmpi", 0, zero, zero), [&](BlockBuilder& then) { then.wait(flag, two); });
           });
  return call_of(m.finish(), {{DType::f32, {16, 128}}}, {{DType::f32, {16, 128}}});
}

TEST(Mutate, ListsEveryEditOfWhatOrders) {
  const KernelModule kernel = open_kernel(copying_call());
  std::map<std::string, int> counts;
  for (const Edit& e : single_edits(kernel, 1)) {
    ++counts[std::string(name(e.kind))];
    EXPECT_FALSE(e.what.empty());
    EXPECT_TRUE(e.at.known()) << e.what;
  }
  // 4 starts, 4 waits, 1 signal and 1 wait for it.
  EXPECT_EQ(counts["drop"], 10);
  EXPECT_EQ(counts["repeat"], 10);
  EXPECT_EQ(counts["half-wait"], 4);
  EXPECT_EQ(counts["count-more"], 2);
  EXPECT_EQ(counts["count-half"], 2);
  EXPECT_EQ(counts["other-semaphore"], 8);  // of the two arrays, for copies and their waits
  EXPECT_EQ(counts["always"] + counts["never"], 2);
  EXPECT_EQ(counts["next-device"], 0);  // alone
}

TEST(Mutate, EachMakesAnotherWellFormedKernel) {
  const KernelModule original = open_kernel(copying_call());
  const auto before = write_bytecode(original.module);
  int applied = 0;
  for (const Edit& e : single_edits(original, 1)) {
    KernelModule mutant = open_kernel(copying_call());
    if (!apply_edit(mutant, e, 1)) continue;
    ++applied;
    EXPECT_NE(write_bytecode(mutant.module), before) << e.what;
  }
  EXPECT_GE(applied, 40);
}

TEST(Mutate, AKernelWithoutOrderingHasNone) { EXPECT_TRUE(single_edits(open_kernel(relu_call()), 1).empty()); }

}  // namespace
}  // namespace tilecheck::mosaic
