// Contractions. Every result element is one fused multiply-add chain in k order that starts at the accumulator (f32 for
// floats, f64 under Numerics::f64; integers wrap), so blocking cannot change bits.
#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <vector>

#include "sim/ops/elements.h"
#include "sim/ops/gemm.h"
#include "sim/ops/shadow.h"
#include "sim/ops/strips.h"
#include "sim/ops/tile_parts.h"
#include "sim/ops/whole.h"

namespace tilecheck {
namespace {

// One operand as [batch, kept, contracted] with one stride each, in elements.
struct View {
  Tile tile;
  int64_t batch, kept, contracted;
  int64_t batch_stride, kept_stride, contracted_stride;
};

// Extent and stride of a group of dimensions taken in the order named; false when no single stride walks them.
bool collapse(const Shape& shape, const Dims& strides, const Dims& group, int64_t& extent, int64_t& stride) {
  extent = 1;
  stride = 1;
  bool first = true;
  for (int i = group.rank() - 1; i >= 0; --i) {
    const int d = static_cast<int>(group[i]);
    if (shape[d] == 1) continue;
    if (first) {
      stride = strides[d];
      first = false;
    } else if (strides[d] != stride * extent) {
      return false;
    }
    extent *= shape[d];
  }
  return true;
}

View view_of(const Tile& operand, const Dims& batch, const Dims& keep, const Dims& contract) {
  View view;
  view.tile = operand.materialized();
  const Dims strides = row_major_strides(operand.shape());
  if (collapse(operand.shape(), strides, batch, view.batch, view.batch_stride) &&
      collapse(operand.shape(), strides, keep, view.kept, view.kept_stride) &&
      collapse(operand.shape(), strides, contract, view.contracted, view.contracted_stride))
    return view;
  Dims order;
  for (const Dims* group : {&batch, &keep, &contract})
    for (int64_t d : *group) order.push_back(d);
  view.tile = permuted(operand, order).materialized();
  const auto extent_of = [&](const Dims& group) {
    int64_t n = 1;
    for (int64_t d : group) n *= operand.shape()[static_cast<int>(d)];
    return n;
  };
  view.batch = extent_of(batch);
  view.kept = extent_of(keep);
  view.contracted = extent_of(contract);
  view.contracted_stride = 1;
  view.kept_stride = view.contracted;
  view.batch_stride = view.kept * view.contracted;
  return view;
}

// How call.out_order permutes the natural order (batch, lhs kept, rhs kept); empty when it does not.
Dims result_permutation(const DotDims& dot) {
  Dims permutation;
  const int batch = dot.lhs_batch.rank(), kept = dot.lhs_keep.rank();
  const auto position = [](const Dims& dims, int64_t d) {
    for (int i = 0; i < dims.rank(); ++i)
      if (dims[i] == d) return i;
    return -1;
  };
  for (int i = 0; i + 1 < dot.out_order.rank(); i += 2) {
    const bool is_rhs = dot.out_order[i] != 0;
    const int64_t d = dot.out_order[i + 1];
    int at = position(is_rhs ? dot.rhs_batch : dot.lhs_batch, d);
    if (at < 0) at = is_rhs ? batch + kept + position(dot.rhs_keep, d) : batch + position(dot.lhs_keep, d);
    permutation.push_back(at);
  }
  for (int i = 0; i < permutation.rank(); ++i)
    if (permutation[i] != i) return permutation;
  return {};
}

Dims inverse(const Dims& permutation) {
  Dims result = Dims::filled(permutation.rank(), 0);
  for (int i = 0; i < permutation.rank(); ++i) result[static_cast<int>(permutation[i])] = i;
  return result;
}

// The element type that products and sums are kept in.
DType chain_type(DType result_repr) {
  if (result_repr == DType::f64) return DType::f64;
  if (is_floating(result_repr)) return DType::f32;
  return bits(result_repr) > 32 ? DType::i64 : DType::i32;
}

// Which lhs rows (and rhs columns) have an undefined element.
std::vector<uint8_t> undefined_lines(const View& view) {
  std::vector<uint8_t> lines(static_cast<size_t>(view.batch * view.kept), 0);
  if (const uint8_t* shadow = view.tile.undefined())
    for (int64_t b = 0; b < view.batch; ++b)
      for (int64_t i = 0; i < view.kept; ++i)
        for (int64_t k = 0; k < view.contracted; ++k)
          lines[static_cast<size_t>(b * view.kept + i)] |=
              shadow[b * view.batch_stride + i * view.kept_stride + k * view.contracted_stride];
  return lines;
}

BlockPtr matmul_shadow(OpContext& context, const View& lhs, const View& rhs, const Tile* accumulator, DType dtype) {
  const bool joins = accumulator && !accumulator->all_defined();
  if (lhs.tile.all_defined() && rhs.tile.all_defined() && !joins) return {};
  const std::vector<uint8_t> rows = undefined_lines(lhs), columns = undefined_lines(rhs);
  const int64_t size = lhs.batch * lhs.kept * rhs.kept;
  BlockPtr block = context.pool->allocate(size);
  uint8_t* out = reinterpret_cast<uint8_t*>(block.data());
  const uint8_t mask = undefined_mask(dtype);
  for (int64_t b = 0, i = 0; b < lhs.batch; ++b)
    for (int64_t m = 0; m < lhs.kept; ++m)
      for (int64_t n = 0; n < rhs.kept; ++n, ++i) {
        const uint8_t old = joins ? accumulator->undefined()[accumulator->size() == size ? i : 0] : uint8_t{0};
        out[i] = old | rows[static_cast<size_t>(b * lhs.kept + m)] | columns[static_cast<size_t>(b * rhs.kept + n)]
                     ? mask
                     : uint8_t{0};
      }
  return settled(std::move(block), size);
}

// A block of `size` chain elements that holds the accumulator (0 when there is none).
BlockPtr start_block(OpContext& context, Tile* accumulator, DType chain, int64_t size) {
  const int bytes = storage_bytes(chain);
  if (accumulator && accumulator->layout() == Layout::dense && accumulator->size() == size &&
      accumulator->repr() == chain && accumulator->sole_owner())
    return std::move(TileParts::block(*accumulator));
  BlockPtr block = context.pool->allocate(size * bytes);
  if (!accumulator) {
    std::memset(block.data(), 0, static_cast<size_t>(size * bytes));
    return block;
  }
  const Tile start = accumulator->materialized();
  const StripFn fn = strip_fn(is_floating(chain)                 ? OpId::extf
                              : bits(start.repr()) > bits(chain) ? OpId::trunci
                                                                 : OpId::extsi,
                              start.repr(), chain);
  const OpCall call{.op = OpId::extf};
  const void* pointer = TileParts::bytes(start);
  fn({&pointer, start.size() == size && start.layout() == Layout::dense ? 0u : 1u, block.data(), size, &call});
  return block;
}

Passes passes_of(Precision precision, Numerics numerics, DType lhs, DType rhs) {
  const bool any_f32 = lhs == DType::f32 || rhs == DType::f32;
  if (numerics == Numerics::f64 || !any_f32) return Passes::plain;
  switch (precision) {
    case Precision::bf16:
      return Passes::bf16;
    case Precision::bf16x3:
      return Passes::bf16x3;
    case Precision::highest:
      return Passes::plain;
    case Precision::default_:
      return numerics == Numerics::mxu ? Passes::bf16 : Passes::plain;
  }
  return Passes::plain;
}

}  // namespace

Tile run_matmul(OpContext& context, const OpCall& call, std::span<Tile> operands, const TypeAndShape& result) {
  const DotDims& dot = call.dot;
  const Dims permutation = result_permutation(dot);
  Tile* accumulator = operands.size() > 2 && operands[2].has_value() ? &operands[2] : nullptr;
  if (accumulator && !permutation.empty() && accumulator->rank() > 0)
    *accumulator = permuted(*accumulator, inverse(permutation)).materialized();

  const View lhs = view_of(operands[0], dot.lhs_batch, dot.lhs_keep, dot.lhs_contract);
  const View rhs = view_of(operands[1], dot.rhs_batch, dot.rhs_keep, dot.rhs_contract);
  BlockPtr shadow = matmul_shadow(context, lhs, rhs, accumulator, result.dtype);

  const DType repr = context.repr_of(result.dtype);
  const DType chain = chain_type(repr);
  const int64_t size = lhs.batch * lhs.kept * rhs.kept;
  BlockPtr block = start_block(context, accumulator, chain, size);
  const Passes passes = passes_of(call.precision, context.numerics, operands[0].dtype(), operands[1].dtype());
  for (int64_t b = 0; b < lhs.batch; ++b)
    gemm({.m = lhs.kept,
          .n = rhs.kept,
          .k = lhs.contracted,
          .lhs = {TileParts::bytes(lhs.tile) + b * lhs.batch_stride * repr_bytes(lhs.tile), lhs.tile.repr(),
                  lhs.kept_stride, lhs.contracted_stride},
          .rhs = {TileParts::bytes(rhs.tile) + b * rhs.batch_stride * repr_bytes(rhs.tile), rhs.tile.repr(),
                  rhs.contracted_stride, rhs.kept_stride},
          .out = block.data() + b * lhs.kept * rhs.kept * storage_bytes(chain),
          .chain = chain,
          .passes = passes,
          .is_signed = call.is_signed});

  Shape natural;
  for (int64_t d : dot.lhs_batch) natural.push_back(operands[0].shape()[static_cast<int>(d)]);
  for (int64_t d : dot.lhs_keep) natural.push_back(operands[0].shape()[static_cast<int>(d)]);
  for (int64_t d : dot.rhs_keep) natural.push_back(operands[1].shape()[static_cast<int>(d)]);
  Tile tile;
  if (chain == repr) {
    tile = TileParts::from_block(context, result.dtype, natural, std::move(block));
  } else {
    const StripFn fn = strip_fn(is_floating(repr) ? OpId::truncf : OpId::trunci, chain, repr);
    BlockPtr narrow = context.pool->allocate(size * storage_bytes(repr));
    const void* pointer = block.data();
    fn({&pointer, 0, narrow.data(), size, &call});
    tile = TileParts::from_block(context, result.dtype, natural, std::move(narrow));
  }
  TileParts::set_shadow(tile, std::move(shadow));
  if (!permutation.empty()) tile = permuted(tile, permutation);
  return tile.reshaped(result.shape);
}

}  // namespace tilecheck
