#include "sim/mosaic/verifier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels.h"
#include "sim/mosaic/text.h"
#include "sim/types/error.h"

namespace tilecheck::mosaic {
namespace {

using testing::HasSubstr;

// Arguments of every kind, for operations to be applied to.
enum Arg : ValueId {
  kF,
  kG,
  kH,
  kI,
  kB,
  kRow,
  kBf,
  kRef,
  kSmem,
  kSem,
  kReg,
  kI32,
  kI1,
  kIdx,
  kRef3,
  kScalarF,
  kHbm,
  kBits
};

std::vector<const Type*> arguments(ModuleBuilder& m) {
  return {m.vector(DType::f32, {8, 128}),              // kF
          m.vector(DType::f32, {8, 128}),              // kG
          m.vector(DType::f32, {128, 64}),             // kH
          m.vector(DType::i32, {8, 128}),              // kI
          m.vector(DType::b1, {8, 128}),               // kB
          m.vector(DType::f32, {8}),                   // kRow
          m.vector(DType::bf16, {8, 128}),             // kBf
          m.memref(DType::f32, {8, 128}),              // kRef
          m.memref(DType::i32, {4}, Space::smem),      // kSmem
          m.semaphore(),                               // kSem
          m.semaphore(DType::semaphore, {2}),          // kReg
          m.i32(),                                     // kI32
          m.i1(),                                      // kI1
          m.index(),                                   // kIdx
          m.memref(DType::f32, {1, 8, 128}),           // kRef3
          m.f32(),                                     // kScalarF
          m.memref(DType::f32, {8, 128}, Space::any),  // kHbm
          m.vector(DType::i32, {4, 128})};             // kBits
}

using Body = std::function<void(ModuleBuilder&, BlockBuilder&)>;

std::string message_for(const Body& body) {
  const Module module = function_of(arguments, [&](ModuleBuilder& m, BlockBuilder& b) {
    m.at("bad.py", 42);
    body(m, b);
  });
  return message_of([&] { load_module(write_bytecode(module), "bad"); });
}

// An operation with results of the given types.
Body op(const char* name, std::vector<ValueId> operands,
        std::function<std::vector<const Type*>(ModuleBuilder&)> results = {},
        std::function<std::vector<AttrEntry>(ModuleBuilder&)> attrs = {}) {
  return [=](ModuleBuilder& m, BlockBuilder& b) {
    b.op(name, operands, results ? results(m) : std::vector<const Type*>{},
         attrs ? attrs(m) : std::vector<AttrEntry>{});
  };
}

std::function<std::vector<const Type*>(ModuleBuilder&)> vec(DType dtype, Shape shape) {
  return [=](ModuleBuilder& m) { return std::vector<const Type*>{m.vector(dtype, shape)}; };
}
std::function<std::vector<const Type*>(ModuleBuilder&)> scalar(DType dtype) {
  return [=](ModuleBuilder& m) { return std::vector<const Type*>{m.scalar(dtype)}; };
}
std::function<std::vector<const Type*>(ModuleBuilder&)> ref(DType dtype, Shape shape, Space space = Space::vmem) {
  return [=](ModuleBuilder& m) { return std::vector<const Type*>{m.memref(dtype, shape, space)}; };
}
std::function<std::vector<AttrEntry>(ModuleBuilder&)> ints(const char* name, std::vector<int64_t> values) {
  return [=](ModuleBuilder& m) { return std::vector<AttrEntry>{{name, m.ints(DType::i64, values)}}; };
}
std::function<std::vector<AttrEntry>(ModuleBuilder&)> integer(const char* name, int64_t value) {
  return [=](ModuleBuilder& m) { return std::vector<AttrEntry>{{name, m.integer(value)}}; };
}
std::function<std::vector<AttrEntry>(ModuleBuilder&)> segments(std::vector<int64_t> values) {
  return [=](ModuleBuilder& m) {
    return std::vector<AttrEntry>{{"operandSegmentSizes", m.ints(DType::i32, values)},
                                  {"strides", m.ints(DType::i32, {})}};
  };
}
std::function<std::vector<AttrEntry>(ModuleBuilder&)> text(const char* name, const char* value) {
  return [=](ModuleBuilder& m) { return std::vector<AttrEntry>{{name, m.text(value)}}; };
}
std::function<std::vector<AttrEntry>(ModuleBuilder&)> reduction(const char* kind, std::vector<int64_t> dims) {
  return [=](ModuleBuilder& m) {
    return std::vector<AttrEntry>{{"kind", m.text(kind)}, {"reduction_dims", m.ints(DType::i64, dims)}};
  };
}

TEST(Verifier, AcceptsWellTypedOperations) {
  const Shape s{8, 128};
  for (const Body& body : std::vector<Body>{
           op("arith.addf", {kF, kG}, vec(DType::f32, s)),
           op("arith.addi", {kIdx, kIdx}, [](ModuleBuilder& m) { return std::vector<const Type*>{m.index()}; }),
           op("arith.cmpi", {kI, kI}, vec(DType::b1, s), integer("predicate", 9)),
           op("arith.select", {kI1, kF, kG}, vec(DType::f32, s)),
           op("arith.select", {kB, kF, kG}, vec(DType::f32, s)),
           op("arith.truncf", {kF}, vec(DType::bf16, s)),
           op("vector.broadcast", {kScalarF}, vec(DType::f32, {2, 8})),
           op("vector.shape_cast", {kF}, vec(DType::f32, {1024})),
           op("vector.multi_reduction", {kF, kRow}, vec(DType::f32, {8}), reduction("#vector.kind<maximumf>", {1})),
           op("vector.multi_reduction", {kF, kScalarF}, scalar(DType::f32), reduction("#vector.kind<add>", {0, 1})),
           op("vector.extract", {kF}, scalar(DType::f32), ints("static_position", {7, 127})),
           op("vector.load", {kRef, kIdx, kIdx}, vec(DType::f32, {4, 128})),
           op("memref.load", {kSmem, kIdx}, scalar(DType::i32)),
           op("memref.store", {kI32, kSmem, kIdx}),
           op("tpu.iota", {}, vec(DType::i32, s), ints("dimensions", {0, 1})),
           op("tpu.bitcast", {kBf}, vec(DType::i32, {4, 128})),
           op("tpu.memref_bitcast", {kRef}, ref(DType::bf16, {16, 128})),
           op("tpu.memref_squeeze", {kRef3}, ref(DType::f32, s)),
           op("tpu.dynamic_gather", {kF, kI}, vec(DType::f32, s), ints("dimensions", {0})),
           op("tpu.reduce_index", {kF}, vec(DType::i32, {8}),
              [](ModuleBuilder& m) {
                return std::vector<AttrEntry>{{"axis", m.integer(1)}, {"kind", m.text("#tpu.reduction_kind<arg_max>")}};
              }),
           op("tpu.matmul", {kF, kH, 18}, vec(DType::f32, {8, 64})),  // value 18: made below
           op("tpu.unheard_of", {kF, kSem}, vec(DType::f32, {3}))}) {
    const std::string message = message_for([&](ModuleBuilder& m, BlockBuilder& b) {
      b.splat(m.vector(DType::f32, {8, 64}), 0);
      body(m, b);
    });
    EXPECT_EQ(message, "");
  }
}

TEST(Verifier, RefusesIllTypedOperations) {
  struct Case {
    Body body;
    const char* message;
  };
  const Shape s{8, 128};
  const std::vector<Case> cases{
      {op("arith.addf", {kF}, vec(DType::f32, s)), "arith.addf: expected 2 operands, found 1"},
      {op("arith.addf", {kF, kG, kG}, vec(DType::f32, s)), "2 operands, found 3"},
      {op("arith.addf", {kF, kG}), "1 results, found 0"},
      {op("arith.addf", {kF, kI}, vec(DType::f32, s)), "one float type"},
      {op("arith.addf", {kF, kBf}, vec(DType::f32, s)), "one float type"},
      {op("arith.addf", {kRef, kRef}, ref(DType::f32, s)), "one float type"},
      {op("arith.addi", {kI, kF}, vec(DType::i32, s)), "one integer type"},
      {op("arith.addi", {kI, kI}, vec(DType::i32, {8, 64})), "one integer type"},
      {op("math.exp", {kI}, vec(DType::i32, s)), "one float type"},
      {op("arith.cmpi", {kI, kI}, vec(DType::b1, {8, 1}), integer("predicate", 0)), "an i1 result"},
      {op("arith.cmpi", {kI, kI}, vec(DType::b1, s), integer("predicate", 10)), "a known predicate"},
      {op("arith.cmpi", {kI, kI}, vec(DType::b1, s)), "an integer attribute `predicate`"},
      {op("arith.cmpf", {kF, kI}, vec(DType::b1, s), integer("predicate", 1)), "two operands of one type"},
      {op("arith.select", {kI, kF, kG}, vec(DType::f32, s)), "an i1 condition"},
      {op("arith.select", {kB, kRow, kRow}, vec(DType::f32, {8})), "an i1 condition"},
      {op("arith.select", {kI1, kF, kRow}, vec(DType::f32, s)), "two values of the result's type"},
      {op("arith.truncf", {kBf}, vec(DType::f32, s)), "types that it converts"},
      {op("arith.extf", {kBf}, vec(DType::f32, {8, 64})), "types that it converts"},
      {op("arith.sitofp", {kF}, vec(DType::f32, s)), "types that it converts"},
      {op("arith.index_cast", {kI32}, scalar(DType::i32)), "types that it converts"},
      {op("arith.bitcast", {kBf}, vec(DType::i32, s)), "types that it converts"},
      {op("arith.constant", {}, scalar(DType::i32)), "`value`"},
      {op("arith.constant", {}, scalar(DType::i32),
          [](ModuleBuilder& m) {
            return std::vector<AttrEntry>{{"value", m.floating(DType::f32, 1)}};
          }),
       "the result's type"},
      {op("arith.constant", {}, vec(DType::f32, {4}),
          [](ModuleBuilder& m) {
            return std::vector<AttrEntry>{{"value", m.dense(m.vector(DType::f32, {8}), {1})}};
          }),
       "the result's type"},
      {op("vector.broadcast", {kF}, vec(DType::f32, {8, 64})), "1 or the result's"},
      {op("vector.broadcast", {kF}, vec(DType::f32, {8})), "at least the operand's rank"},
      {op("vector.broadcast", {kRef}, vec(DType::f32, s)), "a scalar or vector"},
      {op("vector.shape_cast", {kF}, vec(DType::f32, {8, 64})), "as many elements"},
      {op("vector.multi_reduction", {kF, kRow}, vec(DType::f32, {8}), reduction("#vector.kind<add>", {2})),
       "distinct dimensions"},
      {op("vector.multi_reduction", {kF, kRow}, vec(DType::f32, {8}), reduction("#vector.kind<add>", {1, 1})),
       "distinct dimensions"},
      {op("vector.multi_reduction", {kF, kRow}, vec(DType::f32, {8}), reduction("#vector.kind<add>", {0})),
       "without the reduced dimensions"},
      {op("vector.multi_reduction", {kF, kScalarF}, vec(DType::f32, {8}), reduction("#vector.kind<add>", {1})),
       "an accumulator"},
      {op("vector.multi_reduction", {kF, kRow}, vec(DType::f32, {8}), reduction("#vector.kind<nonsense>", {1})),
       "a known reduction kind"},
      {op("vector.multi_reduction", {kF, kRow}, vec(DType::f32, {8}), reduction("#vector.kind<minsi>", {1})),
       "fits the element type"},
      {op("vector.extract", {kF}, scalar(DType::f32), ints("static_position", {8, 0})), "inside the vector"},
      {op("vector.extract", {kF}, scalar(DType::f32), ints("static_position", {0})), "remaining dimensions"},
      {op("vector.extract", {kF}, scalar(DType::f32), ints("static_position", {0, kDynamic})), "each dynamic position"},
      {op("vector.extract_strided_slice", {kF}, vec(DType::f32, {8, 64}),
          [](ModuleBuilder& m) {
            return std::vector<AttrEntry>{{"offsets", m.ints(DType::i64, {0, 65})},
                                          {"sizes", m.ints(DType::i64, {8, 64})},
                                          {"strides", m.ints(DType::i64, {1, 1})}};
          }),
       "a slice inside the vector"},
      {op("vector.load", {kRef, kIdx}, vec(DType::f32, s)), "an index for each dimension"},
      {op("vector.load", {kF, kIdx, kIdx}, vec(DType::f32, s)), "a memref"},
      {op("vector.load", {kRef, kIdx, kIdx}, vec(DType::i32, s)), "the memref's element type"},
      {op("vector.load", {kRef, kIdx, kIdx}, vec(DType::f32, {1, 8, 128})), "the memref's element type"},
      {op("vector.load", {kRef, kIdx, kF}, vec(DType::f32, s)), "integer indices"},
      {op("memref.load", {kRef, kIdx, kIdx}, scalar(DType::i32)), "the element type"},
      {op("memref.store", {kF, kRef, kIdx, kIdx}), "the element type"},
      {op("memref.alloca", {}, ref(DType::f32, {kDynamic}), segments({0, 0})), "a static memref"},
      {op("tpu.vector_store", {kF, kRef, kIdx, kIdx}, {}, segments({1, 1, 2})), "operandSegmentSizes of 4 numbers"},
      {op("tpu.vector_store", {kF, kRef, kIdx, kIdx}, {}, segments({1, 1, 3, 0})), "add up to its operands"},
      {op("tpu.vector_store", {kF, kRef, kIdx, kIdx}, {}, segments({1, 1, 3, -1})), "add up to its operands"},
      {op("tpu.vector_store", {kF, kRef, kIdx, kIdx, kI}, {}, segments({1, 1, 2, 1})), "an i1 mask"},
      {op("tpu.vector_store", {kF, kRef, kIdx, kIdx}, {}, segments({0, 2, 2, 0})), "one value and one memref"},
      {op("tpu.strided_load", {kRef, kIdx, kIdx}, vec(DType::f32, {4, 128}), ints("strides", {2})),
       "a stride for each dimension"},
      {op("tpu.strided_load", {kRef, kIdx, kIdx}, vec(DType::f32, {4, 128}), ints("strides", {2, -1})),
       "strides of at least 0"},
      {op("tpu.iota", {}, vec(DType::i32, s), ints("dimensions", {})), "distinct dimensions"},
      {op("tpu.iota", {}, vec(DType::f32, s), ints("dimensions", {0})), "an integer vector"},
      {op("tpu.concatenate", {kF, kRow}, vec(DType::f32, {16, 128}), integer("dimension", 0)),
       "one rank and element type"},
      {op("tpu.concatenate", {kF, kG}, vec(DType::f32, {8, 128}), integer("dimension", 0)), "as long as its parts"},
      {op("tpu.concatenate", {kF, kG}, vec(DType::f32, {16, 128}), integer("dimension", 2)),
       "a dimension of the operand"},
      {op("tpu.repeat", {kF}, vec(DType::f32, {16, 128}),
          [](ModuleBuilder& m) {
            return std::vector<AttrEntry>{{"dimension", m.integer(0)}, {"times", m.integer(3)}};
          }),
       "repeated shape"},
      {op("tpu.bitcast", {kBf}, vec(DType::i32, s)), "as many bits"},
      {op("tpu.transpose", {kF}, vec(DType::f32, {128, 8}), ints("permutation", {0, 0})), "a permutation"},
      {op("tpu.transpose", {kF}, vec(DType::f32, s), ints("permutation", {1, 0})), "the permuted shape"},
      {op("tpu.dynamic_rotate", {kF, kF}, vec(DType::f32, s), integer("dimension", 1)), "an integer amount"},
      {op("tpu.dynamic_rotate", {kF, kI32}, vec(DType::f32, s), integer("dimension", 2)), "a dimension of the operand"},
      {op("tpu.dynamic_gather", {kF, kF}, vec(DType::f32, s), ints("dimensions", {0})), "integer indices"},
      {op("tpu.dynamic_gather", {kF, kBits}, vec(DType::f32, {4, 128}), ints("dimensions", {1})),
       "outside the gathered dimensions"},
      {op("tpu.matmul", {kF, kG, kF}, vec(DType::f32, s)), "contracted extents that agree"},
      {op("tpu.matmul", {kF, kH, kF}, vec(DType::f32, s)), "a result of the kept dimensions"},
      {op("tpu.matmul", {kF, kB, kF}, vec(DType::f32, s)), "operands that are no masks"},
      {op("tpu.matmul", {kF, kH, kF}, vec(DType::f32, s),
          text("dimension_numbers", "#tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], []>")),
       "dimension numbers"},
      {op("tpu.matmul", {kF, kH, kF}, vec(DType::f32, s),
          text("dimension_numbers", "#tpu.dot_dimension_numbers<[1], [5], [0], [1], [0, 0, 1, 1], [], []>")),
       "dimension numbers"},
      {op("tpu.matmul", {kF, kH, kF}, vec(DType::f32, s), text("precision", "#tpu.contract_precision<guess>")),
       "a known precision"},
      {op("tpu.pack_elementwise", {kF, kG, kF}, vec(DType::i32, s),
          [](ModuleBuilder& m) {
            return std::vector<AttrEntry>{{"target_type", m.type_attr(m.scalar(DType::bf16))}};
          }),
       "fit into the result's bits"},
      {op("tpu.unpack_elementwise", {kI}, vec(DType::f32, s),
          [](ModuleBuilder& m) {
            return std::vector<AttrEntry>{{"source_type", m.type_attr(m.scalar(DType::bf16))}, {"index", m.integer(2)}};
          }),
       "an index inside the word"},
      {op("tpu.assume_multiple", {kI32}, scalar(DType::i32), integer("multiple", 0)), "a positive multiple"},
      {op("tpu.memref_slice", {kRef, kI32}, ref(DType::f32, {4, 128}), segments({1, 1, 0})),
       "an index for each dimension"},
      {op("tpu.memref_slice", {kRef, kI32, kI32}, ref(DType::f32, {kDynamic, 128}), segments({1, 2, 0})),
       "a size for each dynamic dimension"},
      {op("tpu.memref_slice", {kRef, kI32, kI32}, ref(DType::i32, {4, 128}), segments({1, 2, 0})),
       "the same rank and element type"},
      {op("tpu.memref_squeeze", {kRef3}, ref(DType::f32, {128})), "without some dimensions of size 1"},
      {op("tpu.memref_squeeze", {kRef}, ref(DType::f32, {1, 8, 128})), "without some dimensions of size 1"},
      {op("tpu.memref_reshape", {kRef}, ref(DType::f32, {8, 64})), "as many elements"},
      {op("tpu.memref_bitcast", {kRef}, ref(DType::bf16, {8, 256})), "scaled by the ratio of widths"},
      {op("tpu.memref_bitcast", {kSem}, ref(DType::f32, {})), "two static memrefs"},
      {op("tpu.sem_wait", {kReg, kI32}), "a single semaphore"},
      {op("tpu.sem_wait", {kSmem, kI32}), "a single semaphore"},
      {op("tpu.sem_wait", {kSem, kF}), "an integer amount"},
      {op("tpu.sem_read", {kSem}, vec(DType::i32, {1})), "an integer result"},
      {op("tpu.sem_signal", {kSem, kI32, kF}, {}, segments({1, 1, 1, 0, 0})), "integer device and core numbers"},
      {op("tpu.enqueue_dma", {kHbm, kRef, kSem}, {}, segments({1, 1, 1, 0, 0, 0, 0})), "memrefs of one element type"},
      {op("tpu.enqueue_dma", {kHbm, kRef, kSem}, {}, segments({1, 0, 2, 0, 0, 0, 0})), "one source and one target"},
      {op("tpu.enqueue_dma", {kHbm, kRef3, kSem}, {}, segments({1, 0, 1, 1, 0, 0, 0})), "one element type and rank"},
      {op("tpu.enqueue_dma", {kHbm, kRef, kSem, kI32}, {}, segments({1, 0, 1, 1, 1, 0, 0})),
       "a source semaphore if and only if"},
      {op("tpu.enqueue_dma", {kHbm, kRef, kReg}, {}, segments({1, 0, 1, 1, 0, 0, 0})), "a single semaphore"},
      {op("tpu.wait_dma2", {kSem, kHbm, kRef, kF}, {}, segments({1, 1, 1, 1, 0})), "integer device and core numbers"},
      {op("func.call", {kF}, vec(DType::f32, s),
          [](ModuleBuilder& m) {
            return std::vector<AttrEntry>{{"callee", m.symbol("nobody")}};
          }),
       "a function of the module"},
      {op("func.call", {kF}, vec(DType::f32, s),
          [](ModuleBuilder& m) {
            return std::vector<AttrEntry>{{"callee", m.symbol("f")}};
          }),
       "the callee's type"},
      {op("scf.yield", {}), "nothing after a terminator"},  // the function's own return follows it
      {op("scf.if", {kI1}), "1 to 2 regions, found 0"},
      {[](ModuleBuilder&, BlockBuilder& b) { b.when(kI32, [](BlockBuilder&) {}); }, "an i1 condition"},
      {[](ModuleBuilder& m, BlockBuilder& b) {
         b.branch(
             kI1, {m.i32()}, [](BlockBuilder& t) { return std::vector{t.i32(1)}; }, nullptr);
       },
       "an else branch"},
      {[](ModuleBuilder& m, BlockBuilder& b) {
         b.branch(
             kI1, {m.i32()}, [](BlockBuilder&) { return std::vector<ValueId>{kF}; }, nullptr);
       },
       "the types that scf.if asks for"},
      {[](ModuleBuilder&, BlockBuilder& b) {
         b.loop(kI32, kIdx, kI32, {}, [](BlockBuilder&) { return std::vector<ValueId>{}; });
       },
       "bounds and step of one integer type"},
      {[](ModuleBuilder&, BlockBuilder& b) {
         b.loop(kI32, kI32, kI32, {kF}, [](BlockBuilder&) { return std::vector<ValueId>{kRow}; });
       },
       "the types that scf.for asks for"},
      {[](ModuleBuilder& m, BlockBuilder& b) {
         b.op("scf.while", {kI32}, {m.f32()}, {},
              {[](BlockBuilder& w) {
                 return std::vector<ValueId>{kI1, w.arg(0)};
               },
               [](BlockBuilder&) { return std::vector<ValueId>{kI32}; }});
       },
       "the loop's result types"},
      {[](ModuleBuilder& m, BlockBuilder& b) {  // a value of a branch that was not taken
         b.when(kI1, [&](BlockBuilder& t) { t.i32(1); });
         b.op("arith.addi", {18, 18}, {m.i32()});
       },
       "in sight"},
  };
  for (const Case& c : cases) {
    const std::string message = message_for(c.body);
    EXPECT_THAT(message, HasSubstr(c.message));
    EXPECT_THAT(message, HasSubstr("bad: "));
  }
  EXPECT_THAT(message_for(cases[0].body), HasSubstr("(bad.py:42)"));
}

TEST(Verifier, RefusesValuesUsedBeforeTheyAreThere) {
  // The writer numbers values by position, so a later value can be named.
  const std::string message = message_for([](ModuleBuilder& m, BlockBuilder& b) {
    b.op("arith.addi", {kI32, 19}, {m.i32()});
    b.i32(1);
  });
  EXPECT_THAT(message, HasSubstr("defined before their use"));
  EXPECT_THAT(message_for([](ModuleBuilder& m, BlockBuilder& b) {
                b.op("tpu.region", {}, {m.i32()}, {}, {[](BlockBuilder&) { return std::vector<ValueId>{18}; }});
              }),
              HasSubstr("defined before their use"));
}

TEST(Verifier, RefusesFunctionsThatCallThemselves) {
  ModuleBuilder m;
  const auto calls = [&](const char* name, const char* callee) {
    m.function(name, {}, {}, {}, [&](BlockBuilder& b) {
      b.op("func.call", {}, {}, {{"callee", m.symbol(callee)}});
      return std::vector<ValueId>{};
    });
  };
  calls("a", "b");
  calls("b", "c");
  calls("c", "a");
  EXPECT_THAT(message_of([&] { load_module(write_bytecode(m.module()), "test"); }),
              testing::ContainsRegex("at byte [0-9]+: function .*: expected no recursion"));
}

TEST(Verifier, LeavesUnknownTypesIncomplete) {
  for (const char* type : {"!llvm.ptr", "vector<8xf80>"}) {
    const Module module = function_of(
        [&](ModuleBuilder& m) {
          TextCursor cursor(type, "type");
          return std::vector<const Type*>{parse_type(m.module(), cursor)};
        },
        [](ModuleBuilder&, BlockBuilder&) {});
    EXPECT_THROW(verify(module, "test"), Incomplete) << type;
  }
}

}  // namespace
}  // namespace tilecheck::mosaic
