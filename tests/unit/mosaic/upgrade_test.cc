#include "sim/mosaic/upgrade.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels.h"

namespace tilecheck::mosaic {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The operations of the only function after reading, upgrading and verifying, the terminator left out.
struct Loaded {
  Module module;
  const Op& last() const {
    const auto ops = module.functions[0].body.block().ops;
    return ops[ops.size() - 2];
  }
};

Loaded load(int version, const std::function<std::vector<const Type*>(ModuleBuilder&)>& inputs,
            const std::function<void(ModuleBuilder&, BlockBuilder&)>& body) {
  return {load_module(write_bytecode(function_of(inputs, body, version)), "old")};
}

std::vector<const Type*> dma_inputs(ModuleBuilder& m) {
  return {m.memref(DType::f32, {8, 128}, Space::any),
          m.memref(DType::f32, {8, 128}),
          m.semaphore(),
          m.semaphore(),
          m.i32(),
          m.semaphore(DType::semaphore)};
}

std::vector<int64_t> segments(const Op& op) {
  const auto s = op.ints(AttrName::operand_segment_sizes);
  return {s.begin(), s.end()};
}

TEST(Upgrade, GivesCopiesTheirSegments) {
  struct Case {
    int version;
    std::vector<ValueId> operands;
    std::vector<int64_t> written;  // empty: none
    std::vector<int64_t> expected;
  };
  for (const Case& c :
       {Case{1, {0, 1, 2}, {}, {1, 0, 1, 1, 0, 0, 0}}, Case{1, {0, 3, 1, 2, 4}, {}, {1, 1, 1, 1, 1, 0, 0}},
        Case{11, {0, 1, 2}, {1, 0, 1, 1, 0, 0}, {1, 0, 1, 1, 0, 0, 0}},
        Case{14, {0, 1, 2}, {1, 0, 1, 1, 0, 0, 0}, {1, 0, 1, 1, 0, 0, 0}}}) {
    const Loaded l = load(c.version, dma_inputs, [&](ModuleBuilder& m, BlockBuilder& b) {
      std::vector<AttrEntry> attrs;
      if (!c.written.empty()) attrs.push_back({"operandSegmentSizes", m.ints(DType::i32, c.written)});
      b.op("tpu.enqueue_dma", c.operands, {}, attrs);
    });
    EXPECT_EQ(segments(l.last()), c.expected);
    EXPECT_EQ(l.last().int_or(AttrName::priority, -1), 0);
    EXPECT_FALSE(l.last().bool_or(AttrName::strict_ordering, true));
    EXPECT_EQ(l.last().segment(segment::kDmaTarget)[0], 1u);
  }
}

TEST(Upgrade, GivesReinterpretedMemrefsThreeSegments) {
  struct Case {
    int version;
    std::vector<int64_t> written;  // empty: none
  };
  for (const Case& c : {Case{11, {}}, Case{15, {1, 0, 0}}, Case{17, {1, 0, 0, 0}}}) {
    const Loaded l = load(c.version, dma_inputs, [&](ModuleBuilder& m, BlockBuilder& b) {
      std::vector<AttrEntry> attrs;
      if (!c.written.empty()) attrs.push_back({"operandSegmentSizes", m.ints(DType::i32, c.written)});
      b.op("tpu.reinterpret_cast", {1}, {m.memref(DType::f32, {8, 128})}, attrs);
    });
    EXPECT_THAT(segments(l.last()), ElementsAre(1, 0, 0)) << "version " << c.version;
  }
}

TEST(Upgrade, GivesWaitsAndSignalsTheirSegments) {
  const Loaded wait = load(6, dma_inputs, [](ModuleBuilder&, BlockBuilder& b) { b.op("tpu.wait_dma2", {2, 0, 1}); });
  EXPECT_THAT(segments(wait.last()), ElementsAre(1, 1, 1, 0, 0));
  EXPECT_FALSE(wait.last().bool_or(AttrName::strict_ordering, true));
  // The wait of version 1 names no source.
  const Loaded old = load(1, dma_inputs, [](ModuleBuilder&, BlockBuilder& b) { b.op("tpu.wait_dma", {2, 1}); });
  EXPECT_EQ(old.last().code, OpCode::tpu_wait_dma2);
  EXPECT_EQ(old.last().segment(segment::kWaitTarget)[0], 1u);
  for (const auto& [operands, expected] : std::vector<std::pair<std::vector<ValueId>, std::vector<int64_t>>>{
           {{5, 4}, {1, 1, 0, 0, 0}}, {{5, 4, 4}, {1, 1, 1, 0, 0}}}) {
    const Loaded signal =
        load(1, dma_inputs, [&](ModuleBuilder&, BlockBuilder& b) { b.op("tpu.sem_signal", operands); });
    EXPECT_EQ(segments(signal.last()), expected);
  }
  const Loaded padded = load(13, dma_inputs, [](ModuleBuilder& m, BlockBuilder& b) {
    b.op("tpu.sem_signal", {5, 4, 4}, {}, {{"operandSegmentSizes", m.ints(DType::i32, {1, 1, 1, 0})}});
  });
  EXPECT_THAT(segments(padded.last()), ElementsAre(1, 1, 1, 0, 0));
}

std::vector<const Type*> vector_inputs(ModuleBuilder& m) {
  return {m.vector(DType::f32, {8, 128}),
          m.vector(DType::f32, {8}),
          m.vector(DType::i32, {8, 128}),
          m.memref(DType::f32, {8, 128}),
          m.index(),
          m.vector(DType::f32, {128, 128})};
}

TEST(Upgrade, TurnsListsOfAttributesIntoArrays) {
  const auto list = [](ModuleBuilder& m, std::vector<int64_t> values) {
    std::vector<const Attr*> attrs;
    for (int64_t v : values) attrs.push_back(m.integer(DType::i64, v));
    return m.array(attrs);
  };
  const Loaded reduction = load(2, vector_inputs, [&](ModuleBuilder& m, BlockBuilder& b) {
    b.op("vector.multi_reduction", {0, 1}, {m.vector(DType::f32, {8})},
         {{"kind", m.text("#vector.kind<add>")}, {"reduction_dims", list(m, {1})}});
  });
  EXPECT_THAT(reduction.last().ints(AttrName::reduction_dims), ElementsAre(1));
  const Loaded slice = load(11, vector_inputs, [&](ModuleBuilder& m, BlockBuilder& b) {
    b.op("vector.extract_strided_slice", {0}, {m.vector(DType::f32, {8, 64})},
         {{"offsets", list(m, {0, 64})}, {"sizes", list(m, {8, 64})}, {"strides", list(m, {1, 1})}});
  });
  EXPECT_THAT(slice.last().ints(AttrName::offsets), ElementsAre(0, 64));
  const Loaded extract = load(1, vector_inputs, [&](ModuleBuilder& m, BlockBuilder& b) {
    b.op("vector.extract", {0}, {m.vector(DType::f32, {128})}, {{"position", list(m, {3})}});
  });
  EXPECT_THAT(extract.last().ints(AttrName::static_position), ElementsAre(3));
}

TEST(Upgrade, TurnsOneDimensionIntoSeveral) {
  const Loaded iota = load(5, vector_inputs, [](ModuleBuilder& m, BlockBuilder& b) {
    b.op("tpu.iota", {}, {m.vector(DType::i32, {8, 128})}, {{"dimension", m.integer(1)}});
  });
  EXPECT_THAT(iota.last().ints(AttrName::dimensions), ElementsAre(1));
  EXPECT_FALSE(iota.last().has(AttrName::dimension));
  const Loaded gather = load(4, vector_inputs, [](ModuleBuilder& m, BlockBuilder& b) {
    b.op("tpu.dynamic_gather", {0, 2}, {m.vector(DType::f32, {8, 128})}, {{"dimension", m.integer(0)}});
  });
  EXPECT_THAT(gather.last().ints(AttrName::dimensions), ElementsAre(0));
}

TEST(Upgrade, FoldsStoresAndDefaults) {
  const Loaded store = load(1, vector_inputs, [](ModuleBuilder&, BlockBuilder& b) {
    b.op("vector.store", {0, 3, 4, 4});
  });
  EXPECT_EQ(store.last().code, OpCode::tpu_vector_store);
  EXPECT_THAT(segments(store.last()), ElementsAre(1, 1, 2, 0));
  EXPECT_EQ(store.last().segment(segment::kStoreBase)[0], 3u);
  const Loaded matmul = load(12, vector_inputs, [](ModuleBuilder& m, BlockBuilder& b) {
    b.op("tpu.matmul", {0, 5, 0}, {m.vector(DType::f32, {8, 128})});
  });
  EXPECT_FALSE(matmul.last().bool_or(AttrName::transpose_lhs_hint, true));
  const std::optional<DotDims> dims = dot_dims(matmul.last(), 2, 2);
  ASSERT_TRUE(dims);
  EXPECT_EQ(dims->lhs_contract, Dims{1});
  EXPECT_EQ(dims->rhs_contract, Dims{0});
}

TEST(Upgrade, ReadsBoolsOfEveryVersion) {
  // An odd byte is true in a splat; longer constants hold eight to a byte.
  const Loaded l = load(9, vector_inputs, [](ModuleBuilder& m, BlockBuilder& b) {
    b.constant(m.dense(m.vector(DType::b1, {16, 128}), {1}));
  });
  const Attr* value = l.last().find(AttrName::value);
  EXPECT_TRUE(value->splat);
  EXPECT_EQ(value->data[0], std::byte{1});
}

TEST(Upgrade, RefusesNewerVersionsUnlessForced) {
  const std::vector<uint8_t> bytes = write_bytecode(relu_module(kNewestIrVersion + 1));
  EXPECT_THAT(message_of([&] { load_module(bytes, "new"); }),
              HasSubstr("Mosaic IR version 18; versions 1 to 17 are known"));
  EXPECT_EQ(load_module(bytes, "new", {.force = true}).ir_version, 18);
}

TEST(Upgrade, TakesPayloadsBeforeTheStableFormUnlessLaidOut) {
  EXPECT_EQ(load_module(write_bytecode(relu_module(0)), "old").ir_version, 0);
  const auto laid_out = [](ModuleBuilder& m) {
    Type type = *m.memref(DType::f32, {16});
    type.layout = m.text("#tpu.tiled<(128),[1]>");
    return std::vector<const Type*>{m.module().make(type)};
  };
  const Module module = function_of(
      laid_out, [](ModuleBuilder&, BlockBuilder&) {}, 0);
  EXPECT_THAT(message_of([&] { load_module(write_bytecode(module), "old"); }),
              HasSubstr("layouts already applied (#tpu.tiled<(128),[1]>)"));
}

}  // namespace
}  // namespace tilecheck::mosaic
