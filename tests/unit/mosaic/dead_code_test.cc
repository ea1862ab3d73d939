#include "sim/mosaic/dead_code.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "kernels.h"

namespace tilecheck::mosaic {
namespace {

int count(const Module& module, OpCode code) {
  int n = 0;
  for (const Function& f : module.functions) walk(f.body, [&](const Op& op) { n += op.code == code; });
  return n;
}

TEST(DeadCode, RemovesTheLoadBeforeEachStore) {
  Module module = load_module(write_bytecode(relu_module()), "relu");
  const RemovedOps removed = remove_dead_code(module);
  EXPECT_EQ(removed.loads, 1);
  EXPECT_EQ(removed.load_bytes, 8 * 128 * 4);
  EXPECT_EQ(removed.ops, 1);
  EXPECT_EQ(count(module, OpCode::vector_load), 1);
  EXPECT_EQ(count(module, OpCode::tpu_vector_store), 1);
  EXPECT_EQ(remove_dead_code(module).ops, 0);
  // What is left is a whole module.
  load_module(write_bytecode(module), "relu");
}

TEST(DeadCode, JudgesControlFlowByItsContents) {
  const auto inputs = [](ModuleBuilder& m) {
    return std::vector<const Type*>{m.memref(DType::i32, {8}, Space::smem), m.i1(), m.semaphore(DType::semaphore)};
  };
  struct Case {
    const char* what;
    std::function<void(ModuleBuilder&, BlockBuilder&)> body;
    int64_t ops, loads;
  };
  const auto read = [](BlockBuilder& b) { b.scalar_load(0, {b.index(0)}); };
  for (const Case& c : {
           Case{"a branch that only reads", [&](ModuleBuilder&, BlockBuilder&b) { b.when(1, read); }, 4, 1},
           Case{"a branch that writes",
                [&](ModuleBuilder&, BlockBuilder&b) {
                  b.when(1, [](BlockBuilder& t) { t.scalar_store(t.i32(1), 0, {t.index(0)}); });
                },
                0, 0},
           Case{"a scope that signals",
                [&](ModuleBuilder&, BlockBuilder&b) { b.scope([](BlockBuilder& s) { s.signal(2, s.i32(1)); }); }, 0, 0},
           Case{"a scope with untouched memory",
                [&](ModuleBuilder&m, BlockBuilder&b) {
                  b.scope([&](BlockBuilder& s) { s.alloca(m.memref(DType::f32, {8, 128})); });
                },
                3, 0},
           Case{"a loop whose result is unused",
                [&](ModuleBuilder&, BlockBuilder&b) {
                  b.loop(b.i32(0), b.i32(4), b.i32(1), {b.i32(0)},
                         [](BlockBuilder& l) { return std::vector{l.binary("arith.addi", l.arg(0), l.arg(1))}; });
                },
                7, 0},
           Case{"a while loop",
                [&](ModuleBuilder&m, BlockBuilder&b) {
                  b.op("scf.while", {1}, {m.i1()}, {},
                       {[](BlockBuilder& w) {
                          return std::vector{w.arg(0), w.arg(0)};
                        },
                        [](BlockBuilder& w) { return std::vector{w.arg(0)}; }});
                },
                0, 0},
           Case{"a chain",
                [&](ModuleBuilder&, BlockBuilder&b) {
                  b.binary("arith.addi", b.scalar_load(0, {b.index(1)}), b.i32(1));
                },
                4, 1},
           Case{"a read semaphore", [&](ModuleBuilder&m, BlockBuilder&b) { b.op("tpu.sem_read", {2}, {m.i32()}); }, 1,
                0},
           Case{"an unknown operation",
                [&](ModuleBuilder&m, BlockBuilder&b) { b.op("tpu.unheard_of", {1}, {m.i32()}); }, 0, 0},
       }) {
    Module module = load_module(write_bytecode(function_of(inputs, c.body)), "test");
    const RemovedOps removed = remove_dead_code(module);
    EXPECT_EQ(removed.ops, c.ops) << c.what;
    EXPECT_EQ(removed.loads, c.loads) << c.what;
    load_module(write_bytecode(module), c.what);
  }
}

}  // namespace
}  // namespace tilecheck::mosaic
