#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "body_maker.h"
#include "finding_kinds.h"
#include "sim/fit/compile_rules.h"

namespace tilecheck::fit {
namespace {

using ::testing::HasSubstr;

struct BodyCase {
  const char* what;
  std::function<void(BodyMaker&)> make;
  const char* accepts;  // targets, of v3 v4 v5e v6e v7x
  const char* kind;     // on the others
};

// Loads 32 rows at `row` from 96 rows.
std::function<void(BodyMaker&)> rows_at(DType dtype, const std::function<Offset(BodyMaker&)>& row) {
  return [=](BodyMaker& m) {
    const RefId x = m.ref(dtype, {96, 128});
    const Offset at = row(m);
    m.load(x, {at, Offset{}}, {32, 128});
  };
}
std::function<void(BodyMaker&)> elementwise(DType dtype, Fn fn, OpKind kind = OpKind::elementwise) {
  return [=](BodyMaker& m) {
    const RefId x = m.ref(dtype, {64, 128}), y = m.ref(dtype, {64, 128}, Space::vmem, RefRoot::window, 1);
    const ValueId a = m.load(x), b = m.load(y);
    m.binary(fn, a, b, kind);
  };
}
std::function<void(BodyMaker&)> product(DType lhs, DType rhs, DType result) {
  return [=](BodyMaker& m) {
    const ValueId a = m.load(m.ref(lhs, {128, 128}));
    const ValueId b = m.load(m.ref(rhs, {128, 128}, Space::vmem, RefRoot::window, 1));
    m.matmul(a, b, result);
  };
}
std::function<void(BodyMaker&)> reshaped(DType dtype, const Shape& from, const Shape& to) {
  return [=](BodyMaker& m) { m.shaped(OpKind::reshape, m.load(m.ref(dtype, from)), to); };
}
// Two elements of an array in SMEM.
std::function<void(BodyMaker&)> scalars(DType dtype, Fn fn, OpKind kind = OpKind::elementwise) {
  return [=](BodyMaker& m) {
    const RefId x = m.ref(dtype, {8}, Space::smem, RefRoot::prefetch);
    const ValueId a = m.load(x, {Offset{}}, {}), b = m.load(x, {Offset{kNone, 1}}, {});
    m.binary(fn, a, b, kind);
  };
}
std::function<void(BodyMaker&)> counted(DType dtype) {
  return [=](BodyMaker& m) { m.op(OpKind::iota).out = {m.value(dtype, {8, 128})}; };
}
std::function<void(BodyMaker&)> rotated(const Shape& shape, int axis, bool by_constant) {
  return [=](BodyMaker& m) {
    const ValueId x = m.load(m.ref(DType::f32, shape)), amount = by_constant ? m.scalar(3) : m.from_smem();
    m.shaped(OpKind::rotate, x, shape, {axis});
    m.block().back().in.push_back(amount);
  };
}
// Copies 32 rows at `start` out of an array of `rows` x 512 in HBM.
std::function<void(BodyMaker&)> copied(DType dtype, const std::function<std::vector<Offset>(BodyMaker&)>& start,
                                       const Shape& part = {32, 128}) {
  return [=](BodyMaker& m) {
    const RefId hbm = m.ref(dtype, {128, 512}, Space::any);
    const RefId vmem = m.ref(dtype, part, Space::vmem, RefRoot::scratch);
    const RefId sem = m.ref(DType::dma_semaphore, {}, Space::semaphore, RefRoot::scratch, 1);
    const RefId from = m.slice(hbm, start(m), part);
    Op& o = m.op(OpKind::dma_start);
    o.ref = from;
    o.ref2 = vmem;
    o.sem = sem;
  };
}

// Copies the first elements of dimension `axis` of an array of 128 x 512 in HBM, as many as the body computes.
std::function<void(BodyMaker&)> copied_part(DType dtype, int axis, const std::function<Offset(BodyMaker&)>& size) {
  return [=](BodyMaker& m) {
    Op copy;
    copy.kind = OpKind::dma_start;
    const std::vector<Offset> origin(2);
    std::vector<Offset> sizes = {Offset{kNone, 128}, Offset{kNone, 512}};
    sizes[static_cast<size_t>(axis)] = size(m);
    Shape part = {128, 512};
    part[axis] = 1;
    copy.ref = m.slice(m.ref(dtype, {128, 512}, Space::any), origin, part);
    m.body.refs.back().sizes = sizes;
    copy.ref2 = m.ref(dtype, part, Space::vmem, RefRoot::scratch);
    copy.sem = m.ref(DType::dma_semaphore, {}, Space::semaphore, RefRoot::scratch, 1);
    m.block().push_back(copy);
  };
}

constexpr const char* kAll = "v3 v4 v5e v6e v7x";

TEST(CompileBodyRulesTest, AcceptsAndRefusesAsTheCompilerDoes) {
  using enum DType;
  const auto constant = [](int64_t n) { return [n](BodyMaker&) { return Offset{kNone, n}; }; };
  const auto unknown = [](BodyMaker& m) { return Offset{m.from_smem()}; };
  const auto promised = [](int64_t n) { return [n](BodyMaker& m) { return Offset{m.multiple_of(m.from_smem(), n)}; }; };
  const auto times = [](int64_t n) {
    return [n](BodyMaker& m) { return Offset{m.binary(Fn::mul, m.from_smem(), m.scalar(n))}; };
  };
  const auto either = [](int64_t a, int64_t b) {
    return [=](BodyMaker& m) {
      const ValueId numbers[] = {m.scalar(a), m.scalar(b)};
      const ValueId condition = m.binary(Fn::eq, m.from_smem(), numbers[0], OpKind::compare);
      const ValueId v = m.value(i32, {});
      Op& o = m.op(OpKind::select);
      o.in = {condition, numbers[0], numbers[1]};
      o.out = {v};
      return Offset{v};
    };
  };
  // fn(n * a, b), where only the run knows n.
  const auto combined = [times](Fn fn, int64_t a, int64_t b) {
    return [=](BodyMaker& m) {
      const ValueId n = times(a)(m).value;
      return Offset{m.binary(fn, n, m.scalar(b))};
    };
  };
  const auto product_of = [times](int64_t a, int64_t b) {
    return [=](BodyMaker& m) {
      const ValueId n = times(a)(m).value;
      return Offset{m.binary(Fn::mul, n, times(b)(m).value)};
    };
  };
  const auto column = [](const std::function<Offset(BodyMaker&)>& at) {
    return [at](BodyMaker& m) {
      const RefId x = m.ref(f32, {32, 512});
      const Offset c = at(m);
      m.load(x, {Offset{}, c}, {32, 128});
    };
  };
  const auto at = [](const std::function<Offset(BodyMaker&)>& row, int64_t c = 0) {
    return [=](BodyMaker& m) { return std::vector<Offset>{row(m), Offset{kNone, c}}; };
  };
  const BodyCase kCases[] = {
      {"dynamic rows of f32", rows_at(f32, unknown), kAll, ""},
      {"dynamic rows of bf16", rows_at(bf16, unknown), "", "unaligned-slice"},
      {"rows of bf16, promised 8", rows_at(bf16, promised(8)), kAll, ""},
      {"rows of bf16, times 16", rows_at(bf16, times(16)), kAll, ""},
      {"rows of int8, promised 8", rows_at(i8, promised(8)), "v3", "unaligned-slice"},
      {"rows of int8, promised 32", rows_at(i8, promised(32)), kAll, ""},
      {"rows of bf16 from 1", rows_at(bf16, constant(1)), "v4 v5e v6e v7x", "operation-unsupported"},
      {"rows of int8 from 8", rows_at(i8, constant(8)), "v3 v5e v6e v7x", "operation-unsupported"},
      {"dynamic columns", column(unknown), "", "unaligned-slice"},
      {"columns promised 64", column(promised(64)), "", "unaligned-slice"},
      {"columns times 128", column(times(128)), kAll, ""},
      {"columns from 64", column(constant(64)), kAll, ""},
      {"copy of rows from 4, f32", copied(f32, at(constant(4))), kAll, ""},
      {"copy of rows from 4, bf16", copied(bf16, at(constant(4))), "", "unaligned-slice"},
      {"copy of rows from 8, bf16", copied(bf16, at(constant(8))), kAll, ""},
      {"copy of 2 rows from 2, bf16", copied(bf16, at(constant(2)), {2, 512}), kAll, ""},
      {"copy of 6 rows from 2, bf16", copied(bf16, at(constant(2)), {6, 512}), kAll, ""},
      {"copy of 8 rows from 2, bf16", copied(bf16, at(constant(2)), {8, 512}), "", "unaligned-slice"},
      {"copy of 4 rows, times 4, bf16", copied(bf16, at(times(4)), {4, 512}), kAll, ""},
      {"copy of 6 rows, times 2, bf16", copied(bf16, at(times(2)), {6, 512}), "", "unaligned-slice"},
      {"copy of 16 rows, times 16, int8", copied(i8, at(times(16)), {16, 512}), kAll, ""},
      {"copy of 8 rows, times 4, int8", copied(i8, at(times(4)), {8, 512}), "", "unaligned-slice"},
      {"copy of columns from 64", copied(f32, at(constant(0), 64)), "", "unaligned-slice"},
      {"copy of columns from 128", copied(f32, at(constant(0), 128)), kAll, ""},
      {"copy of 64 columns", copied(f32, at(constant(0)), {32, 64}), "", "unaligned-slice"},
      {"copy of 5 rows, bf16", copied(bf16, at(constant(0)), {5, 512}), "", "unaligned-slice"},
      {"copy of some columns", copied_part(f32, 1, unknown), "", "unaligned-slice"},
      {"copy of columns, times 128", copied_part(f32, 1, times(128)), kAll, ""},
      {"copy of columns, times 64", copied_part(f32, 1, times(64)), "", "unaligned-slice"},
      {"copy of columns, promised 128", copied_part(bf16, 1, promised(128)), kAll, ""},
      {"copy of 128 or 256 columns", copied_part(f32, 1, either(128, 256)), kAll, ""},
      {"copy of 100 or 128 columns", copied_part(f32, 1, either(100, 128)), "", "unaligned-slice"},
      {"copy of the lesser of two", copied_part(i8, 1, combined(Fn::min, 128, 256)), kAll, ""},
      {"copy of the greater of two", copied_part(i8, 1, combined(Fn::max, 128, 256)), "", "unaligned-slice"},
      {"copy of a remainder", copied_part(f32, 1, combined(Fn::rem, 128, 256)), kAll, ""},
      {"copy of a quotient", copied_part(f32, 1, combined(Fn::div, 256, 2)), kAll, ""},
      {"copy of columns, shifted", copied_part(f32, 1, combined(Fn::shift_left, 1, 7)), "", "unaligned-slice"},
      {"copy of columns, times 8 times 16", copied_part(f32, 1, product_of(8, 16)), "", "unaligned-slice"},
      {"copy of rows, times 8 times 16", copied_part(bf16, 0, product_of(8, 16)), kAll, ""},
      {"copy of some rows, f32", copied_part(f32, 0, unknown), "", "unaligned-slice"},
      {"copy of rows, times 4, f32", copied_part(f32, 0, times(4)), "", "unaligned-slice"},
      {"copy of rows, times 8, f32", copied_part(f32, 0, times(8)), kAll, ""},
      {"copy of rows, times 4, bf16", copied_part(bf16, 0, times(4)), "", "unaligned-slice"},
      {"copy of rows, times 8, bf16", copied_part(bf16, 0, times(8)), kAll, ""},
      {"copy of rows, times 8, int8", copied_part(i8, 0, times(8)), kAll, ""},
      {"copy of 5 or 8 rows, f32", copied_part(f32, 0, either(5, 8)), "", "unaligned-slice"},
      {"f16",
       [](BodyMaker& m) {
         m.load(m.ref(f16, {8, 128}));
       },
       "", "dtype-unsupported"},
      {"int8 sum", elementwise(i8, Fn::add), "", "dtype-unsupported"},
      {"int16 sum", elementwise(i16, Fn::add), kAll, ""},
      {"int8 and", elementwise(i8, Fn::bit_and), kAll, ""},
      {"int16 maximum", elementwise(i16, Fn::max), "", "dtype-unsupported"},
      {"bf16 maximum", elementwise(bf16, Fn::max), kAll, ""},
      {"u32 maximum", elementwise(u32, Fn::max), "", "dtype-unsupported"},
      {"int8 equality", elementwise(i8, Fn::eq, OpKind::compare), "v5e v6e v7x", "dtype-unsupported"},
      {"int8 order", elementwise(i8, Fn::lt, OpKind::compare), "", "dtype-unsupported"},
      {"fp8 sum", elementwise(f8e4m3fn, Fn::add), "", "dtype-unsupported"},
      {"f32 matmul", product(f32, f32, f32), kAll, ""},
      {"bf16 matmul", product(bf16, bf16, f32), "v4 v5e v6e v7x", "dtype-unsupported"},
      {"int8 matmul", product(i8, i8, i32), "v5e v6e v7x", "dtype-unsupported"},
      {"int8 matmul to f32", product(i8, i8, f32), "v7x", "dtype-unsupported"},
      {"fp8 matmul", product(f8e4m3fn, f8e5m2, f32), "v5e v6e v7x", "dtype-unsupported"},
      {"bf16 by int8", product(bf16, i8, f32), "v4 v5e v6e v7x", "dtype-unsupported"},
      {"int16 matmul", product(i16, i16, i32), "", "dtype-unsupported"},
      {"matmul into bf16", product(bf16, bf16, bf16), "", "operation-unsupported"},
      {"rows regroup", reshaped(f32, {16, 128}, {2, 8, 128}), kAll, ""},
      {"multiples of 128", reshaped(bf16, {8, 256}, {16, 128}), kAll, ""},
      {"merge", reshaped(f32, {8, 4, 32}, {8, 128}), kAll, ""},
      {"split", reshaped(f32, {8, 128}, {8, 4, 32}), "v5e v6e v7x", "operation-unsupported"},
      {"odd", reshaped(f32, {8, 15}, {5, 24}), "", "operation-unsupported"},
      {"rows across", reshaped(f32, {8, 64}, {4, 128}), "", "operation-unsupported"},
      {"last two change places", reshaped(f32, {4, 9, 63}, {2, 2, 63, 9}), "v5e v6e v7x", "operation-unsupported"},
      {"last two change places, int8", reshaped(i8, {16, 64}, {64, 16}), "v5e v6e v7x", "operation-unsupported"},
      {"iota of int16", counted(i16), "v4 v5e v6e v7x", "dtype-unsupported"},
      {"iota of int4", counted(i4), "", "dtype-unsupported"},
      {"int8 scalars", scalars(i8, Fn::add), "", "dtype-unsupported"},
      {"int16 scalars compared", scalars(i16, Fn::lt, OpKind::compare), "", "dtype-unsupported"},
      {"bf16 scalars", scalars(bf16, Fn::mul), "", "dtype-unsupported"},
      {"u32 scalars", scalars(u32, Fn::add), kAll, ""},
      {"f32 scalars", scalars(f32, Fn::mul), kAll, ""},
      {"rotation of 64 lanes", rotated({8, 64}, 1, true), kAll, ""},
      {"rotation of 64 lanes, unknown amount", rotated({8, 64}, 1, false), "", "operation-unsupported"},
      {"rotation of 12 rows, unknown amount", rotated({12, 128}, 0, false), "", "operation-unsupported"},
      {"rotation of 8 rows, unknown amount", rotated({8, 200}, 0, false), kAll, ""},
      {"rotation in front, unknown amount", rotated({3, 8, 64}, 0, false), kAll, ""},
      {"line to column, f32", reshaped(f32, {128}, {128, 1}), kAll, ""},
      {"line to column, bf16", reshaped(bf16, {256}, {256, 1}), "v6e v7x", "operation-unsupported"},
      {"column to line", reshaped(f32, {256, 1}, {256}), "v5e v6e v7x", "operation-unsupported"},
      {"vector from SMEM",
       [](BodyMaker& m) {
         m.load(m.ref(f32, {8, 128}, Space::smem));
       },
       "", "memory-space"},
      {"load from HBM",
       [](BodyMaker& m) {
         m.load(m.ref(f32, {8, 128}, Space::any));
       },
       "", "memory-space"},
      {"bf16 scalar into SMEM",
       [](BodyMaker& m) {
         const ValueId v = m.value(bf16, {});
         Op& o = m.op(OpKind::store);
         o.ref = m.ref(bf16, {8}, Space::smem, RefRoot::scratch);
         o.in = {v};
         o.starts = {Offset{}};
         o.extent = {1};
       },
       kAll, ""},
      {"bf16 constant into SMEM",
       [](BodyMaker& m) {
         const ValueId v = m.value(bf16, {});
         m.op(OpKind::constant).out = {v};
         Op& o = m.op(OpKind::store);
         o.ref = m.ref(bf16, {8}, Space::smem, RefRoot::scratch);
         o.in = {v};
         o.starts = {Offset{}};
         o.extent = {1};
       },
       "", "dtype-unsupported"},
      {"strided rows of 64",
       [](BodyMaker& m) {
         m.load(m.ref(f32, {32, 64}), {Offset{}, Offset{}}, {8, 64});
         m.body.top.ops.back().strides = {4, 1};
       },
       kAll, ""},
      {"strided rows of 256",
       [](BodyMaker& m) {
         m.load(m.ref(f32, {32, 256}), {Offset{}, Offset{}}, {8, 256});
         m.body.top.ops.back().strides = {4, 1};
       },
       "", "operation-unsupported"},
      {"strided columns",
       [](BodyMaker& m) {
         m.load(m.ref(f32, {8, 128}), {Offset{}, Offset{}}, {8, 64});
         m.body.top.ops.back().strides = {1, 2};
       },
       "", "operation-unsupported"},
      {"strided rows",
       [](BodyMaker& m) {
         m.load(m.ref(f32, {16, 128}), {Offset{}, Offset{}}, {8, 128});
         m.body.top.ops.back().strides = {2, 1};
       },
       kAll, ""},
      {"strided rows of bf16",
       [](BodyMaker& m) {
         m.load(m.ref(bf16, {16, 128}), {Offset{}, Offset{}}, {8, 128});
         m.body.top.ops.back().strides = {2, 1};
       },
       "", "operation-unsupported"},
      {"rotate rows of bf16",
       [](BodyMaker& m) {
         const ValueId v = m.load(m.ref(bf16, {16, 128}));
         m.shaped(OpKind::rotate, v, {16, 128}, {0});
       },
       "", "operation-unsupported"},
      {"rotate lanes of bf16",
       [](BodyMaker& m) {
         const ValueId v = m.load(m.ref(bf16, {16, 128}));
         m.shaped(OpKind::rotate, v, {16, 128}, {1});
       },
       kAll, ""},
      {"three seeds",
       [](BodyMaker& m) {
         const std::vector<ValueId> seeds = {m.scalar(1), m.scalar(2), m.scalar(3)};
         Op& o = m.op(OpKind::opaque);
         o.name = "tpu.prng_set_seed_32";
         o.in = seeds;
       },
       "", "operation-unsupported"},
      {"refused where it never runs",
       [](BodyMaker& m) {
         m.branch(m.scalar(0));
         m.load(m.ref(f16, {8, 128}));
         m.end();
       },
       kAll, ""},
  };
  for (const BodyCase& c : kCases)
    for (const char* target : {"v3", "v4", "v5e", "v6e", "v7x"}) {
      BodyMaker maker;
      c.make(maker);
      KernelSpec spec;
      const std::vector<Finding> findings = check_body(spec, maker.body, target_named(target));
      const bool accepted = std::string(c.accepts).find(target) != std::string::npos;
      EXPECT_EQ(kinds_of(findings), accepted ? "" : c.kind) << c.what << " on " << target;
      for (const Finding& f : findings) EXPECT_FALSE(f.helps.empty()) << c.what;
    }
}

TEST(CompileBodyRulesTest, SemaphoresAreUsedAsTheirType) {
  const auto body_with = [](OpKind kind, DType dtype, const Shape& shape) {
    BodyMaker m;
    const RefId sem = m.ref(dtype, shape, Space::semaphore, RefRoot::scratch);
    Op& o = m.op(kind);
    o.sem = sem;
    return std::move(m.body);
  };
  const struct {
    OpKind kind;
    DType dtype;
    Shape shape;
    const char* kinds;
  } kCases[] = {
      {OpKind::sem_signal, DType::semaphore, {}, ""},
      {OpKind::sem_signal, DType::dma_semaphore, {}, "semaphore-misuse"},
      {OpKind::sem_signal, DType::semaphore, {2}, "semaphore-misuse"},
      {OpKind::dma_wait, DType::dma_semaphore, {}, ""},
      {OpKind::dma_wait, DType::semaphore, {}, "semaphore-misuse"},
  };
  for (const auto& c : kCases) {
    KernelSpec spec;
    EXPECT_EQ(kinds_of(check_body(spec, body_with(c.kind, c.dtype, c.shape), target_named("v5e"))), c.kinds);
  }
  KernelSpec spec;
  spec.collective_id = 3;
  EXPECT_EQ(kinds_of(check_body(spec, Body{}, target_named("v5e"))), "semaphore-misuse");
}

TEST(CompileBodyRulesTest, FindingsNameTheRefAndTheFix) {
  BodyMaker m;
  const RefId x = m.ref(DType::bf16, {64, 128});
  m.load(x, {Offset{m.from_smem()}, Offset{}}, {16, 128});
  KernelSpec spec;
  Window w;
  w.name = "kv";
  spec.in.push_back(w);
  const std::vector<Finding> findings = check_body(spec, m.body, target_named("v5e"));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_THAT(findings[0].message, HasSubstr("load from kv"));
  EXPECT_THAT(findings[0].message, HasSubstr("E2003"));
  EXPECT_THAT(findings[0].helps[0], HasSubstr("pl.multiple_of(i, 8)"));
}

}  // namespace
}  // namespace tilecheck::fit
