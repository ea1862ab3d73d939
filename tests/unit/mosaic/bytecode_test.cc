#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "kernels.h"
#include "sim/io/file.h"
#include "sim/mosaic/bytecode_cursor.h"
#include "sim/mosaic/bytecode_reader.h"
#include "sim/mosaic/inspect.h"
#include "sim/types/error.h"

namespace tilecheck::mosaic {
namespace {

using testing::HasSubstr;

std::string raw(const std::vector<uint8_t>& bytes) {
  KernelCall call;
  call.source = "test";
  call.config.body = bytes;
  return raw_text(call);
}

TEST(ByteCursor, ReadsNumbersOfEveryLength) {
  struct Case {
    std::vector<uint8_t> bytes;
    uint64_t value;
  };
  for (const Case& c : {Case{{0x01}, 0}, Case{{0xff}, 127}, Case{{0x02, 0x02}, 128}, Case{{0xfe, 0xff}, 16383},
                        Case{{0x04, 0x00, 0x02}, 16384}, Case{{0x00, 1, 2, 3, 4, 5, 6, 7, 0x88}, 0x8807060504030201},
                        Case{{0x80, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 0x00ffffffffffffff}}) {
    ByteCursor at(c.bytes, 0, "bytes");
    EXPECT_EQ(at.varint("a number"), c.value);
    EXPECT_TRUE(at.done());
    for (size_t n = 0; n < c.bytes.size(); ++n) {
      ByteCursor cut(std::span<const uint8_t>(c.bytes).first(n), 0, "bytes");
      EXPECT_THROW(cut.varint("a number"), InputError);
    }
  }
  const std::vector<uint8_t> zigzag{0x03, 0x05, 0x07};
  ByteCursor at(zigzag, 0, "bytes");
  EXPECT_EQ(at.signed_varint("n"), -1);
  EXPECT_EQ(at.signed_varint("n"), 1);
  EXPECT_EQ(at.signed_varint("n"), -2);
}

// One of everything that a payload may hold.
Module everything() {
  ModuleBuilder m;
  const Type* block = m.memref(DType::bf16, {8, 128});
  m.at("everything.py", 3, 9, "body");
  m.kernel(
      "everything",
      {.grid = {4, kDynamic},
       .prefetch = {m.memref(DType::i32, {5}, Space::smem)},
       .windows = {{block, "map"}, {m.memref(DType::f32, {16, 128}, Space::any), ""}},
       .scratch = {m.semaphore(DType::semaphore, {2}), m.memref(DType::f8e4m3fn, {32, 128})},
       .semantics = {"parallel", "arbitrary"},
       .more = {{"flag", m.text("unit")}}},
      [&](BlockBuilder& b) {
        for (const Attr* value :
             {m.integer(DType::i32, -7), m.integer(DType::i8, -128), m.integer(DType::i64, INT64_MIN),
              m.integer(DType::u16, 65535), m.boolean(true), m.index_attr(-1), m.integer(DType::i4, -8),
              m.floating(DType::f32, -0.1), m.floating(DType::bf16, 1e30), m.floating(DType::f64, 1e-300),
              m.floating(DType::f8e5m2, 1.5), m.floating(DType::f32, INFINITY),
              m.dense(m.vector(DType::i32, {3}), {1, -2, 3}), m.dense(m.vector(DType::f32, {8, 128}), {0.5}),
              m.dense(m.vector(DType::b1, {3}), {1, 0, 1}), m.dense(m.vector(DType::b1, {16, 128}), {1}),
              m.dense(m.vector(DType::b1, {1}), {0}), m.dense(m.vector(DType::b1, {9}), {1, 0, 0, 0, 0, 0, 0, 0, 1}),
              m.dense(m.vector(DType::bf16, {2}), {1, 2})})
          b.constant(value);
        m.at("everything.py", 4);
        const ValueId lo = b.i32(0), hi = b.i32(4), one = b.i32(1);
        const ValueId sum = b.loop(lo, hi, one, {lo}, [&](BlockBuilder& inner) {
          const ValueId more = inner.binary("arith.addi", inner.arg(0), inner.arg(1));
          const ValueId picked = inner.branch(
              inner.compare("arith.cmpi", 2, more, hi), {m.i32()}, [&](BlockBuilder&) { return std::vector{more}; },
              [&](BlockBuilder& e) { return std::vector{e.i32(9)}; });
          return std::vector{picked};
        });
        b.op("scf.while", {sum}, {m.i32()}, {},
             {[&](BlockBuilder& w) {
                return std::vector{w.compare("arith.cmpi", 2, w.arg(0), hi), w.arg(0)};
              },
              [&](BlockBuilder& w) { return std::vector{w.binary("arith.addi", w.arg(0), one)}; }});
        b.scope([&](BlockBuilder& s) {
          s.alloca(m.memref(DType::f32, {8, 128}));
          s.sem_alloc(m.semaphore());
        });
        b.op("tpu.trace_start", {}, {}, {{"message", m.string("say \"hi\"\n")}, {"level", m.integer(10)}});
        b.op("tpu.unheard_of", {sum}, {m.i32(), m.f32()},
             {{"who", m.type_attr(m.vector(DType::i4, {8}))}, {"map", m.text("affine_map<(d0) -> (d0 * 2)>")}});
      });
  m.index_map("map", 2,
              [](BlockBuilder& b) {
                return std::vector<ValueId>{b.arg(0), b.i32(0)};
              },
              {m.memref(DType::i32, {5}, Space::smem)});
  return m.finish();
}

TEST(Bytecode, RoundTripsEverything) {
  const std::vector<uint8_t> first = write_bytecode(everything());
  const Module module = read_bytecode(first, "test");
  EXPECT_EQ(module.ir_version, kNewestIrVersion);
  EXPECT_EQ(module.producer, "Tilecheck");
  const std::vector<uint8_t> second = write_bytecode(module);
  EXPECT_EQ(as_string(first), as_string(second));
  const std::string text = raw(first);
  for (const char* part : {"iteration_bounds = array<i64: 4, -9223372036854775808>",
                           "value = -7 : i32",
                           "value = -128 : i8",
                           "value = -9223372036854775808 : i64",
                           "value = 65535 : ui16",
                           "value = true",
                           "value = -1 : index",
                           "value = -8 : i4",
                           "value = -0.1 : f32",
                           "value = 1e-300 : f64",
                           "value = 1.5 : f8E5M2",
                           "value = 0x7F800000 : f32",
                           "dense<[1, -2, 3]> : vector<3xi32>",
                           "dense<0.5> : vector<8x128xf32>",
                           "dense<[true, false, true]>",
                           "dense<true> : vector<16x128xi1>",
                           "dense<[true, false, false, false, false, false, false, false, true]>",
                           "dense<[1.0, 2.0]> : vector<2xbf16>",
                           "\"scf.while\"",
                           "\"tpu.unheard_of\"",
                           "map = affine_map<(d0) -> (d0 * 2)>",
                           "who = vector<8xi4>",
                           "\\22hi\\22\\0A",
                           "flag",
                           "loc(everything.py:3:9 (body))",
                           "memref<2x!tpu.semaphore, #tpu.memory_space<semaphore_mem>>"})
    EXPECT_THAT(text, HasSubstr(part));
}

TEST(Bytecode, KeepsOperationsBeforeTheStableForm) {
  const std::vector<uint8_t> bytes = write_bytecode(relu_module(0));
  EXPECT_THAT(as_string(bytes), Not(HasSubstr("stable_mosaic")));
  EXPECT_EQ(read_bytecode(bytes, "test").functions.size(), 2u);
}

// Before the stable form an operation's dialect is what stands before its dot, whatever bytes that holds.
TEST(Bytecode, KeepsDialectsOfAnyName) {
  ModuleBuilder m(0);
  m.kernel("odd", {}, [&](BlockBuilder& b) {
    b.op("ari|h.remsi", {b.i32(7), b.i32(3)}, {m.i32()});
    b.op("ari|t.x|y", {}, {}, {{"which", m.text("#a|b.c<1>")}});
  });
  const std::vector<uint8_t> first = write_bytecode(m.finish());
  const Module module = read_bytecode(first, "test");
  EXPECT_EQ(as_string(write_bytecode(module)), as_string(first));
  for (const char* part : {"\"ari|h.remsi\"", "\"ari|t.x|y\"", "which = #a|b.c<1>"})
    EXPECT_THAT(raw(first), HasSubstr(part));
}

TEST(Bytecode, ReadsEveryVersionOfTheContainer) {
  const std::string folder = std::string(TILECHECK_SOURCE_DIR) + "/tests/fixtures/bytecode/";
  std::vector<uint8_t> first;
  for (int version = 0; version <= 6; ++version) {
    const std::string bytes = read_file(folder + "softmax_v" + std::to_string(version) + ".mlirbc");
    const Module module = load_module({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, "test");
    EXPECT_EQ(module.bytecode_version, version);
    // Rewritten in one form, they are the same.
    const std::vector<uint8_t> again = write_bytecode(module, {.module_attrs = false});
    if (version == 0) first = again;
    EXPECT_EQ(as_string(again), as_string(first)) << "version " << version;
  }
}

TEST(Bytecode, SaysWhereACutPayloadEnds) {
  const std::vector<uint8_t> bytes = write_bytecode(relu_module());
  for (size_t n = 0; n < bytes.size(); ++n) {
    const std::string message = message_of([&] { load_module(std::span<const uint8_t>(bytes).first(n), "cut"); });
    EXPECT_THAT(message, HasSubstr("cut: ")) << n;
    EXPECT_TRUE(message.find("at byte") != std::string::npos) << message;
  }
}

TEST(Bytecode, SurvivesEveryFlippedBit) {
  const std::vector<uint8_t> bytes = write_bytecode(relu_module());
  int refused = 0;
  for (size_t i = 0; i < bytes.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      std::vector<uint8_t> changed = bytes;
      changed[i] = static_cast<uint8_t>(changed[i] ^ 1 << bit);
      try {
        load_module(changed, "flipped");
      } catch (const InputError& error) {
        ++refused;
        EXPECT_EQ(error.where(), "flipped");
      } catch (const Incomplete&) {
      }
    }
  EXPECT_GT(refused, 1000);
}

TEST(Bytecode, RefusesWhatIsNoPayload) {
  struct Case {
    std::string bytes;
    const char* message;
  };
  for (const Case& c :
       {Case{"", "expected MLIR bytecode"}, Case{"hello", "expected MLIR bytecode"},
        Case{"ML\xefR", "bytecode version"}, Case{"ML\xefR\x0f", "a bytecode version of at most 6, found 7"},
        Case{"ML\xefR\x01x", "the producer's name"},
        Case{std::string("ML\xefR\x01x\0\x13\x01", 9), "a section number below 9"},
        Case{std::string("ML\xefR\x01x\0", 7), "at byte 7, the end: the string section is missing"}})
    EXPECT_THAT(message_of([&] {
                  read_bytecode({reinterpret_cast<const uint8_t*>(c.bytes.data()), c.bytes.size()}, "test");
                }),
                HasSubstr(c.message));
}

TEST(Bytecode, RefusesAttributesThatSpellOutWithoutEnd) {
  // Each list holds the one before twice: forty of them would be 2^40 numbers.
  const auto doubled = [](int times) {
    return write_bytecode(function_of([](ModuleBuilder&) { return std::vector<const Type*>{}; },
                                      [&](ModuleBuilder& m, BlockBuilder& b) {
                                        const Attr* list = m.integer(1);
                                        for (int i = 0; i < times; ++i) list = m.array({list, list});
                                        b.op("tpu.unheard_of", {}, {}, {{"list", list}});
                                      }));
  };
  EXPECT_EQ(message_of([&] { load_module(doubled(10), "test"); }), "");
  EXPECT_THAT(message_of([&] { load_module(doubled(40), "test"); }), HasSubstr("spells out to more than 16384 parts"));
  EXPECT_THAT(message_of([&] { load_module(doubled(80), "test"); }), HasSubstr("nested deeper than 64"));
}

TEST(Locations, FindTheUsersFrame) {
  ModuleBuilder m;
  m.module().locs = {
      {LocNode::Kind::file, "user.py", 7, 3, kNoLoc, kNoLoc},                            // 0
      {LocNode::Kind::name, "kernel", 0, 0, 0, kNoLoc},                                  // 1
      {LocNode::Kind::file, "/x/site-packages/jax/_src/lax.py", 99, 1, kNoLoc, kNoLoc},  // 2
      {LocNode::Kind::name, "add", 0, 0, 2, kNoLoc},                                     // 3
      {LocNode::Kind::callsite, "", 0, 0, 3, 1},                                         // 4
      {LocNode::Kind::name, "add:", 0, 0, 4, kNoLoc},                                    // 5
      {LocNode::Kind::fused, "", 0, 0, 5, kNoLoc},                                       // 6
      {LocNode::Kind::name, "loop", 0, 0, 8, kNoLoc},                                    // 7
      {LocNode::Kind::callsite, "", 0, 0, 7, 7},                                         // 8: holds itself
  };
  const Module& module = m.module();
  const std::vector<Frame> all = frames(module, 6);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].line, 99);
  EXPECT_EQ(to_string(user_frame(module, 6)), "user.py:7:4 (kernel)");
  EXPECT_EQ(primitive_name(module, 6), "add");
  EXPECT_TRUE(frames(module, 8).empty());
  EXPECT_EQ(to_string(user_frame(module, 8)), "unknown source");
  EXPECT_TRUE(frames(module, kNoLoc).empty());
  EXPECT_EQ(primitive_name(module, 7), "loop");
  EXPECT_EQ(user_loc(module, 6), Loc(intern("user.py"), 7, 4, intern("kernel")));
}

}  // namespace
}  // namespace tilecheck::mosaic
