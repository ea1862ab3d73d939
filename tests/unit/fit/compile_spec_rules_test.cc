#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "body_maker.h"
#include "finding_kinds.h"
#include "sim/fit/compile_rules.h"

namespace tilecheck::fit {
namespace {

using ::testing::HasSubstr;

KernelSpec spec_of(Shape array, BlockShape block, DType dtype = DType::f32) {
  KernelSpec spec;
  spec.grid = {4};
  Window w;
  w.name = "x";
  w.dtype = dtype;
  w.array = array;
  w.block = std::move(block);
  const int rank = array.rank();
  w.index = IndexMap([rank](std::span<const Index> grid, const PrefetchRefs&) {
    Indices at;
    at.rank = rank;
    at.values[0] = grid[0];
    return at;
  });
  spec.in.push_back(w);
  return spec;
}

struct SpecCase {
  const char* what;
  std::function<KernelSpec()> make;
  const char* target;
  const char* kinds;
};

TEST(CompileSpecRulesTest, EachRefusalHasAnAcceptedNeighbour) {
  const auto with = [](KernelSpec spec, const std::function<void(KernelSpec&)>& change) {
    change(spec);
    return spec;
  };
  const auto plain = [] { return spec_of({64, 256}, {8, 256}); };
  const SpecCase kCases[] = {
      {"whole rows", plain, "v5e", ""},
      {"columns no multiple of 128",
       [] {
         return spec_of({64, 256}, {8, 64});
       },
       "v5e", "block-shape"},
      {"rows no multiple of 8",
       [] {
         return spec_of({64, 256}, {4, 256});
       },
       "v5e", "block-shape"},
      {"4 rows of 4",
       [] {
         return spec_of({4, 256}, {4, 256});
       },
       "v5e", ""},
      {"squeezed second-last",
       [] {
         return spec_of({64, 16, 256}, {64, BlockDim::squeezed(), 256});
       },
       "v5e", "block-shape"},
      {"squeezed first",
       [] {
         return spec_of({64, 16, 256}, {BlockDim::squeezed(), 16, 256});
       },
       "v5e", ""},
      {"rank 1, 100 of 1000", [] { return spec_of({1000}, {100}); }, "v5e", "block-shape"},
      {"rank 1, 128", [] { return spec_of({1024}, {128}); }, "v5e", ""},
      {"rank 1, 128 bf16", [] { return spec_of({1024}, {128}, DType::bf16); }, "v5e", "block-shape"},
      {"rank 1, 3072", [] { return spec_of({6144}, {3072}); }, "v5e", ""},
      {"rank of the block",
       [] {
         return spec_of({64, 256}, {1, 8, 256});
       },
       "v5e", "block-shape"},
      {"an empty dimension",
       [] {
         return spec_of({0, 128}, {8, 128});
       },
       "v5e", "block-shape"},
      {"8-bit rows on tiles of 32",
       [] {
         return spec_of({96, 128}, {8, 128}, DType::i8);
       },
       "v5e", "block-shape"},
      {"8-bit rows on tiles of 32, v3",
       [] {
         return spec_of({96, 128}, {8, 128}, DType::i8);
       },
       "v3", ""},
      {"8-bit rows, 32",
       [] {
         return spec_of({96, 128}, {32, 128}, DType::i8);
       },
       "v5e", ""},
      {"8-bit rows, 40 of them",
       [] {
         return spec_of({40, 128}, {8, 128}, DType::i8);
       },
       "v5e", ""},
      {"4-bit rows on tiles of 64",
       [] {
         return spec_of({192, 128}, {32, 128}, DType::i4);
       },
       "v6e", "block-shape"},
      {"4-bit rows, 96",
       [] {
         return spec_of({96, 128}, {32, 128}, DType::i4);
       },
       "v6e", ""},
      {"4-bit on v3",
       [] {
         return spec_of({96, 128}, {32, 128}, DType::i4);
       },
       "v3", "dtype-unsupported"},
      {"three buffers", [&] { return with(plain(), [](KernelSpec& s) { s.in[0].buffers = 3; }); }, "v5e",
       "unsupported-buffering"},
      {"two buffers", [&] { return with(plain(), [](KernelSpec& s) { s.in[0].buffers = 2; }); }, "v5e", ""},
      {"blocks in HBM", [&] { return with(plain(), [](KernelSpec& s) { s.in[0].space = Space::any; }); }, "v5e",
       "memory-space"},
      {"the whole in HBM",
       [&] {
         return with(plain(), [](KernelSpec& s) {
           s.in[0].space = Space::any;
           s.in[0].block.clear();
           s.in[0].index = {};
         });
       },
       "v5e", ""},
      {"padding in front",
       [] {
         return spec_of({64, 256}, {BlockDim::element(8, 8, 8), BlockDim::element(256)});
       },
       "v5e", "unsupported-window"},
      {"element index of 1",
       [] {
         return spec_of({64, 256}, {BlockDim::element(8), BlockDim::element(256)});
       },
       "v5e", "unaligned-slice"},
      {"element index of 8",
       [&] {
         return with(spec_of({64, 256}, {BlockDim::element(8), BlockDim::element(256)}), [](KernelSpec& s) {
           s.in[0].index = IndexMap([](Index i) { return Indices{i * 8, 0}; });
         });
       },
       "v5e", ""},
      {"scratch anywhere",
       [&] {
         return with(plain(), [](KernelSpec& s) { s.scratch.push_back({"s", DType::f32, {8, 128}, Space::any}); });
       },
       "v5e", "memory-space"},
      {"semantics of another rank",
       [&] { return with(plain(), [](KernelSpec& s) {
               s.semantics = {Semantics::parallel, Semantics::arbitrary};
             }); },
       "v5e", "dimension-semantics"},
      {"core_parallel of 2 on v5p",
       [&] {
         return with(plain(), [](KernelSpec& s) {
           s.grid = {2};
           s.semantics = {Semantics::core_parallel};
         });
       },
       "v5p", ""},
      {"core_parallel of 2 on v5e",
       [&] {
         return with(plain(), [](KernelSpec& s) {
           s.grid = {2};
           s.semantics = {Semantics::core_parallel};
         });
       },
       "v5e", "dimension-semantics"},
      {"internal scratch of 512", [&] { return with(plain(), [](KernelSpec& s) { s.internal_scratch_bytes = 512; }); },
       "v6e", "internal-scratch"},
      {"internal scratch of 36863",
       [&] { return with(plain(), [](KernelSpec& s) { s.internal_scratch_bytes = 36863; }); }, "v6e", ""},
      {"alias of another shape",
       [&] {
         return with(plain(), [](KernelSpec& s) {
           s.out = s.in;
           s.out[0].array = {32, 256};
           s.aliases = {{0, 0}};
         });
       },
       "v5e", "alias-mismatch"},
  };
  for (const SpecCase& c : kCases)
    EXPECT_EQ(kinds_of(check_spec(c.make(), target_named(c.target))), c.kinds) << c.what << " on " << c.target;
}

TEST(CompileSpecRulesTest, WhatJaxRefusesIsNotAskedOfItsOwnOutput) {
  const KernelSpec spec = spec_of({64, 256}, {8, 64});
  EXPECT_EQ(kinds_of(check_spec(spec, target_named("v5e"), {.lowered_by_jax = true})), "");
}

}  // namespace
}  // namespace tilecheck::fit
